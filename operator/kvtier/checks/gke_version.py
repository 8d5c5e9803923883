"""GKEVersionSupported: control plane and candidate nodes are new enough for what the pool uses."""

from collections.abc import Iterator, Sequence

from kvtier.api.conditions import GKE_VERSION_SUPPORTED, Condition, false, true, unknown
from kvtier.api.quantities import GIB
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import LustreTier
from kvtier.context import Context
from kvtier.facts import versions
from kvtier.facts.model import Node, node_names
from kvtier.facts.versions import GKEVersion

_SMALL = 18_000 * GIB


def check(context: Context) -> Condition:
    """Versions against the gates of `data/gke_versions.yaml`; only Lustre has any."""
    lustre, running = context.lustre.spec, context.control_plane
    if lustre is None:
        return true(
            GKE_VERSION_SUPPORTED, Reason.NO_GATE, "the pool uses nothing that needs a certain GKE version"
        )
    if running is None:
        return unknown(
            GKE_VERSION_SUPPORTED,
            Reason.VERSION_NOT_RECOGNISED,
            f"the API server reports version {context.facts.cluster.version!r}, which is not a GKE version such as "
            "1.35.0-gke.2331000, so the gates of the Lustre CSI driver cannot be checked",
        )
    return (
        _control_plane(lustre, running)
        or _nodes(context.nodes)
        or true(GKE_VERSION_SUPPORTED, Reason.SUPPORTED, f"control plane {running}")
    )


def _control_plane(lustre: LustreTier, running: GKEVersion) -> Condition | None:
    """The first reason why the control plane's version is not enough, or None."""
    for gate, what in _gates(lustre, running):
        if running < gate:
            return false(
                GKE_VERSION_SUPPORTED,
                Reason.CONTROL_PLANE_TOO_OLD,
                f"control plane is {running}; {what} needs {gate}: upgrade with "
                "gcloud container clusters upgrade CLUSTER --master",
            )
    return None


def _gates(lustre: LustreTier, running: GKEVersion) -> Iterator[tuple[GKEVersion, str]]:
    """Versions from which something works that the tier needs. Only of a claim does the driver make the instance."""
    yield versions.gate("lustreDriver"), "the managed Lustre CSI driver"
    if lustre.provisioner != "CSI":
        return
    broken, fixed = versions.defect("lustreTierParameter")
    if broken <= running < fixed:
        yield fixed, "creating Lustre volumes (broken in this release by a known bug)"
    if lustre.size < _SMALL:
        yield versions.gate("lustre9000Gi"), "a Lustre instance below 18000Gi"


def _nodes(nodes: Sequence[Node]) -> Condition | None:
    """The first reason why candidate nodes are too old or cannot be judged, or None."""
    old = [node for node in nodes if node.version and node.version < _node_gate(node)]
    if old:
        return false(
            GKE_VERSION_SUPPORTED,
            Reason.NODES_TOO_OLD,
            f"{node_names(old)} run {old[0].kubelet_version} ({old[0].architecture}); the Lustre CSI driver needs "
            f"{_node_gate(old[0])} there: upgrade the node pool with gcloud container clusters upgrade CLUSTER "
            "--node-pool POOL",
        )
    unread = [node for node in nodes if node.version is None]
    if unread:
        return unknown(
            GKE_VERSION_SUPPORTED,
            Reason.NODE_VERSION_NOT_RECOGNISED,
            f"{node_names(unread)} report version {unread[0].kubelet_version!r}, which is not a GKE version",
        )
    return None


def _node_gate(node: Node) -> GKEVersion:
    return versions.gate("lustreDriverArm" if node.architecture == "arm64" else "lustreDriver")
