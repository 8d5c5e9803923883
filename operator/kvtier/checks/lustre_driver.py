"""LustreDriverEnabled: the Lustre CSI add-on is on, and candidate nodes have registered its driver."""

from kvtier.api.conditions import LUSTRE_DRIVER_ENABLED, Condition, false, true
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.checks.candidates import candidates, names
from kvtier.facts.model import LUSTRE_DRIVER, Facts


def check(pool: KVCachePool, facts: Facts) -> Condition:
    """CSIDriver for the cluster; CSINode for the candidates, of which one is enough.

    A node that has just joined registers the driver last, so a part of them may lag behind.
    """
    if pool.spec.tiers.lustre is None:
        return true(LUSTRE_DRIVER_ENABLED, "NotNeeded", "the pool has no Lustre tier")
    if not facts.cluster.lustre_driver:
        return false(
            LUSTRE_DRIVER_ENABLED,
            "AddonDisabled",
            f"CSIDriver {LUSTRE_DRIVER} does not exist: enable the add-on with "
            "gcloud container clusters update CLUSTER --update-addons=LustreCsiDriver=ENABLED",
        )
    nodes = candidates(pool, facts)
    missing = [node for node in nodes if node.name not in facts.cluster.lustre_nodes]
    if nodes and len(missing) == len(nodes):
        return false(
            LUSTRE_DRIVER_ENABLED,
            "NotRegistered",
            f"{names(missing)} have not registered {LUSTRE_DRIVER}: nodes made before the add-on was enabled need an "
            "upgrade or re-creation; new nodes register within minutes",
        )
    late = f"; not yet on {names(missing)}" if missing else ""
    return true(
        LUSTRE_DRIVER_ENABLED, "Enabled", f"registered on {len(nodes) - len(missing)} candidate nodes{late}"
    )
