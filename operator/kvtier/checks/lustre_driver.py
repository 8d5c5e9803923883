"""LustreDriverEnabled: the Lustre CSI add-on is enabled, and candidate nodes have registered its driver."""

from collections.abc import Sequence

from kvtier.api import gcloud
from kvtier.api.conditions import LUSTRE_DRIVER_ENABLED, Condition, false, true, unknown
from kvtier.api.names import LUSTRE_DRIVER
from kvtier.api.reasons import Reason
from kvtier.api.sentences import sentences
from kvtier.api.v1alpha1 import Cluster
from kvtier.context import Context
from kvtier.facts.model import Node, node_names


def check(context: Context) -> Condition:
    """Checks CSIDriver for the cluster and CSINode for the candidates, of which one is enough.

    A new node registers the driver last, so some nodes may follow later.
    """
    cluster, gke, nodes = context.facts.cluster, context.facts.gke, context.nodes
    if context.lustre.spec is None:
        return true(LUSTRE_DRIVER_ENABLED, Reason.NOT_NEEDED, "The pool has no Lustre tier.")
    if not cluster.lustre_driver:
        return _absent(bool(gke and gke.lustre_addon), context.pool.spec.cluster)
    missing = [node for node in nodes if node.name not in cluster.lustre_nodes]
    if nodes and len(missing) == len(nodes):
        return _unregistered(missing, context.pool.spec.node_pool.provisioner)
    late = f"Not yet registered: {node_names(missing)}" if missing else ""
    registered = len(nodes) - len(missing)
    return true(
        LUSTRE_DRIVER_ENABLED,
        Reason.ENABLED,
        sentences(
            f"{registered} of {len(nodes)} candidate nodes have registered the Lustre CSI driver", late
        ),
    )


def _absent(addon_enabled: bool, cluster: Cluster | None) -> Condition:
    if addon_enabled:
        return false(
            LUSTRE_DRIVER_ENABLED,
            Reason.ADDON_STARTING,
            f"The Lustre CSI add-on is enabled. GKE creates CSIDriver {LUSTRE_DRIVER} within minutes.",
        )
    return false(
        LUSTRE_DRIVER_ENABLED,
        Reason.ADDON_DISABLED,
        f"CSIDriver {LUSTRE_DRIVER} does not exist. Enable the Lustre CSI add-on: "
        f"{gcloud.clusters('update', cluster, '--update-addons=LustreCsiDriver=ENABLED')}",
    )


def _unregistered(missing: Sequence[Node], provisioner: str) -> Condition:
    """Unknown for nodes of a ComputeClass: GKE has just created them for the pool, and they register soon."""
    if provisioner == "ComputeClass":
        return unknown(
            LUSTRE_DRIVER_ENABLED,
            Reason.REGISTERING,
            f"The Lustre CSI driver is not registered yet on {node_names(missing)}. "
            "New nodes register it within minutes.",
        )
    return false(
        LUSTRE_DRIVER_ENABLED,
        Reason.NOT_REGISTERED,
        f"The Lustre CSI driver is not registered on {node_names(missing)}. New nodes register it within minutes. "
        "Nodes that are older than the add-on do not register it: upgrade their node pool.",
    )
