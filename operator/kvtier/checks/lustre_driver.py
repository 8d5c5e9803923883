"""LustreDriverEnabled: the Lustre CSI add-on is on, and candidate nodes have registered its driver."""

from collections.abc import Sequence

from kvtier.api.conditions import LUSTRE_DRIVER_ENABLED, Condition, false, true, unknown
from kvtier.api.names import LUSTRE_DRIVER
from kvtier.api.reasons import Reason
from kvtier.context import Context
from kvtier.facts.model import Node, node_names


def check(context: Context) -> Condition:
    """CSIDriver for the cluster; CSINode for the candidates, of which one is enough.

    A node that has just joined registers the driver last, so a part of them may lag behind.
    """
    cluster, gke, nodes = context.facts.cluster, context.facts.gke, context.nodes
    if context.lustre.spec is None:
        return true(LUSTRE_DRIVER_ENABLED, Reason.NOT_NEEDED, "the pool has no Lustre tier")
    if not cluster.lustre_driver:
        return _absent(addon_enabled=bool(gke and gke.lustre_addon))
    missing = [node for node in nodes if node.name not in cluster.lustre_nodes]
    if nodes and len(missing) == len(nodes):
        return _unregistered(missing, context.pool.spec.node_pool.provisioner)
    late = f"; not yet {node_names(missing)}" if missing else ""
    registered = len(nodes) - len(missing)
    return true(
        LUSTRE_DRIVER_ENABLED,
        Reason.ENABLED,
        f"{registered} of {len(nodes)} candidate nodes have registered the driver{late}",
    )


def _absent(*, addon_enabled: bool) -> Condition:
    if addon_enabled:
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


def _unregistered(missing: Sequence[Node], provisioner: str) -> Condition:
    """Nodes of a ComputeClass have just been made for the pool: they are on their way, not wrong."""
    if provisioner == "ComputeClass":
        return unknown(
            LUSTRE_DRIVER_ENABLED,
            Reason.REGISTERING,
            f"{node_names(missing)} have not registered {LUSTRE_DRIVER} yet",
        )
    return false(
        LUSTRE_DRIVER_ENABLED,
        Reason.NOT_REGISTERED,
        f"{node_names(missing)} have not registered {LUSTRE_DRIVER}: nodes made before the add-on was enabled need an "
        "upgrade or re-creation; new nodes register within minutes",
    )
