"""GKEVersionSupported: control plane and candidate nodes are new enough for what the pool uses."""

from kvtier.api.conditions import GKE_VERSION_SUPPORTED, Condition, false, true, unknown
from kvtier.api.quantities import GIB
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool, LustreTier
from kvtier.checks.candidates import candidates, control_plane, names
from kvtier.facts import versions
from kvtier.facts.model import Facts, Node
from kvtier.facts.versions import GKEVersion

_SMALL = 18_000 * GIB


def check(pool: KVCachePool, facts: Facts) -> Condition:
    """Versions against the gates of `data/gke_versions.yaml`; only Lustre has any."""
    if pool.spec.tiers.lustre is None:
        return true(
            GKE_VERSION_SUPPORTED, Reason.NO_GATE, "the pool uses nothing that needs a certain GKE version"
        )
    running = control_plane(facts)
    if running is None:
        return unknown(
            GKE_VERSION_SUPPORTED,
            Reason.VERSION_NOT_RECOGNISED,
            f"the API server reports version {facts.cluster.version!r}, which is not a GKE version such as "
            "1.35.0-gke.2331000, so the gates of the Lustre CSI driver cannot be checked",
        )
    return (
        _control_plane(pool, running)
        or _nodes(candidates(pool, facts))
        or true(GKE_VERSION_SUPPORTED, Reason.SUPPORTED, f"control plane {running}")
    )


def _control_plane(pool: KVCachePool, running: GKEVersion) -> Condition | None:
    """The first reason why the control plane's version is not enough, or None."""
    lustre = pool.spec.tiers.lustre
    assert lustre is not None
    made = _made_by_driver(lustre, running) if lustre.provisioner == "CSI" else []
    for gate, what in [(versions.gate("lustreDriver"), "the managed Lustre CSI driver"), *made]:
        if running < gate:
            return false(
                GKE_VERSION_SUPPORTED,
                Reason.CONTROL_PLANE_TOO_OLD,
                f"control plane is {running}; {what} needs {gate}: upgrade with "
                "gcloud container clusters upgrade CLUSTER --master",
            )
    return None


def _made_by_driver(lustre: LustreTier, running: GKEVersion) -> list[tuple[GKEVersion, str]]:
    """What an instance needs that the driver makes; others are only mounted by it."""
    broken, fixed = versions.defect("lustreTierParameter")
    needs = []
    if broken <= running < fixed:
        needs.append((fixed, "creating Lustre volumes (broken in this release by a known bug)"))
    if lustre.size < _SMALL:
        needs.append((versions.gate("lustre9000Gi"), "a Lustre instance below 18000Gi"))
    return needs


def _nodes(nodes: list[Node]) -> Condition | None:
    """The first reason why candidate nodes are too old or cannot be judged, or None."""
    unread = [node for node in nodes if versions.parse(node.kubelet_version) is None]
    old = [node for node in nodes if node not in unread and _too_old(node)]
    if old:
        gate = _node_gate(old[0])
        return false(
            GKE_VERSION_SUPPORTED,
            Reason.NODES_TOO_OLD,
            f"{names(old)} run {old[0].kubelet_version} ({old[0].architecture}); the Lustre CSI driver needs {gate} "
            "there: upgrade the node pool with gcloud container clusters upgrade CLUSTER --node-pool POOL",
        )
    if unread:
        return unknown(
            GKE_VERSION_SUPPORTED,
            Reason.NODE_VERSION_NOT_RECOGNISED,
            f"{names(unread)} report version {unread[0].kubelet_version!r}, which is not a GKE version",
        )
    return None


def _node_gate(node: Node) -> GKEVersion:
    return versions.gate("lustreDriverArm" if node.architecture == "arm64" else "lustreDriver")


def _too_old(node: Node) -> bool:
    version = versions.parse(node.kubelet_version)
    return version is not None and version < _node_gate(node)
