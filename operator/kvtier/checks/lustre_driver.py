"""LustreDriverEnabled: the Lustre CSI add-on is on, and candidate nodes have registered its driver."""

from kvtier.api.conditions import LUSTRE_DRIVER_ENABLED, Condition, false, true, unknown
from kvtier.api.names import LUSTRE_DRIVER
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.checks.candidates import candidates, names
from kvtier.facts.model import Facts, Node


def check(pool: KVCachePool, facts: Facts) -> Condition:
    """CSIDriver for the cluster; CSINode for the candidates, of which one is enough.

    A node that has just joined registers the driver last, so a part of them may lag behind.
    """
    if pool.spec.tiers.lustre is None:
        return true(LUSTRE_DRIVER_ENABLED, Reason.NOT_NEEDED, "the pool has no Lustre tier")
    if not facts.cluster.lustre_driver:
        return _absent(facts)
    nodes = candidates(pool, facts)
    missing = [node for node in nodes if node.name not in facts.cluster.lustre_nodes]
    if nodes and len(missing) == len(nodes):
        return _unregistered(pool, missing)
    late = f"; not yet {names(missing)}" if missing else ""
    registered = len(nodes) - len(missing)
    return true(
        LUSTRE_DRIVER_ENABLED,
        Reason.ENABLED,
        f"{registered} of {len(nodes)} candidate nodes have registered the driver{late}",
    )


def _absent(facts: Facts) -> Condition:
    if facts.gke is not None and facts.gke.lustre_addon:
        return false(
            LUSTRE_DRIVER_ENABLED,
            Reason.ADDON_STARTING,
            f"the add-on is enabled, but CSIDriver {LUSTRE_DRIVER} does not exist yet: GKE installs it within minutes",
        )
    return false(
        LUSTRE_DRIVER_ENABLED,
        Reason.ADDON_DISABLED,
        f"CSIDriver {LUSTRE_DRIVER} does not exist: enable the add-on with "
        "gcloud container clusters update CLUSTER --update-addons=LustreCsiDriver=ENABLED",
    )


def _unregistered(pool: KVCachePool, missing: list[Node]) -> Condition:
    """Nodes of a ComputeClass have just been made for the pool: they are on their way, not wrong."""
    if pool.spec.node_pool.provisioner == "ComputeClass":
        return unknown(
            LUSTRE_DRIVER_ENABLED,
            Reason.REGISTERING,
            f"{names(missing)} have not registered {LUSTRE_DRIVER} yet",
        )
    return false(
        LUSTRE_DRIVER_ENABLED,
        Reason.NOT_REGISTERED,
        f"{names(missing)} have not registered {LUSTRE_DRIVER}: nodes made before the add-on was enabled need an "
        "upgrade or re-creation; new nodes register within minutes",
    )
