"""GKEVersionSupported: control plane and candidate nodes are new enough for the pool."""

from collections.abc import Iterator, Sequence

from kvtier.api import gcloud
from kvtier.api.conditions import GKE_VERSION_SUPPORTED, Condition, false, true, unknown
from kvtier.api.quantities import GIB
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import Cluster, LustreTier
from kvtier.context import Context
from kvtier.facts import versions
from kvtier.facts.model import Node, node_names
from kvtier.facts.versions import GKEVersion

_SMALL = 18_000 * GIB


def check(context: Context) -> Condition:
    """Compares versions with the gates of `data/gke_versions.yaml`. Only the Lustre tier has gates."""
    lustre, running = context.lustre.spec, context.control_plane
    if lustre is None:
        return true(GKE_VERSION_SUPPORTED, Reason.NO_GATE, "The pool needs no minimum GKE version.")
    if running is None:
        return unknown(
            GKE_VERSION_SUPPORTED,
            Reason.VERSION_NOT_RECOGNISED,
            f"The API server reports version {context.facts.cluster.version!r}, which is not a GKE version such as "
            "1.35.0-gke.2331000. Whether it is new enough for the Lustre CSI driver is unknown.",
        )
    spec = context.pool.spec
    return spec.decisive(
        _control_plane(lustre, running, spec.cluster),
        _nodes(context.nodes, spec.cluster),
        true(GKE_VERSION_SUPPORTED, Reason.SUPPORTED, f"The control plane runs {running}."),
    )


def _control_plane(lustre: LustreTier, running: GKEVersion, cluster: Cluster | None) -> Condition | None:
    """The first reason why the control plane is too old, or None."""
    for gate, what in _gates(lustre, running):
        if running < gate:
            return false(
                GKE_VERSION_SUPPORTED,
                Reason.CONTROL_PLANE_TOO_OLD,
                f"The control plane runs {running}, but {what} needs {gate}. Upgrade it: "
                f"{gcloud.clusters('upgrade', cluster, '--master')}",
            )
    return None


def _gates(lustre: LustreTier, running: GKEVersion) -> Iterator[tuple[GKEVersion, str]]:
    """The versions that the tier needs, and why. Only for a PVC does the driver create the instance."""
    yield versions.gate("lustreDriver"), "the managed Lustre CSI driver"
    if lustre.provisioner != "CSI":
        return
    broken, fixed = versions.defect("lustreTierParameter")
    if broken <= running < fixed:
        yield fixed, "the creation of Lustre PersistentVolumes, which fails in this release,"
    if lustre.size < _SMALL:
        yield versions.gate("lustre9000Gi"), "a Lustre instance below 18000Gi"


def _nodes(nodes: Sequence[Node], cluster: Cluster | None) -> Condition | None:
    """The first reason why candidate nodes are too old, or why their version is unknown, or None."""
    old = [node for node in nodes if node.version and node.version < _node_gate(node)]
    if old:
        flags = f"--node-pool={old[0].labels.get(gcloud.NODE_POOL, 'NODE_POOL')}"
        return false(
            GKE_VERSION_SUPPORTED,
            Reason.NODES_TOO_OLD,
            f"The kubelet on {node_names(old)} is {old[0].kubelet_version} ({old[0].architecture}), but the Lustre CSI "
            f"driver needs {_node_gate(old[0])}. Upgrade the node pool: {gcloud.clusters('upgrade', cluster, flags)}",
        )
    unread = [node for node in nodes if node.version is None]
    if unread:
        return unknown(
            GKE_VERSION_SUPPORTED,
            Reason.NODE_VERSION_NOT_RECOGNISED,
            f"The kubelet on {node_names(unread)} reports {unread[0].kubelet_version!r}, which is not a GKE version. "
            "Whether it is new enough for the Lustre CSI driver is unknown.",
        )
    return None


def _node_gate(node: Node) -> GKEVersion:
    return versions.gate("lustreDriverArm" if node.architecture == "arm64" else "lustreDriver")
