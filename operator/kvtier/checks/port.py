"""PortMatched: nodes speak to Lustre at the port at which the instance listens."""

from kvtier.api.conditions import PORT_MATCHED, Condition, false, true, unknown
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.checks.candidates import candidates, control_plane
from kvtier.facts import versions
from kvtier.facts.model import Facts
from kvtier.facts.versions import GKEVersion

_PORTS = {False: 988, True: 6988}
_LEGACY = "--enable-legacy-lustre-port"


def check(pool: KVCachePool, facts: Facts) -> Condition:
    """A node has one port: 6988 if the cluster's driver is told so, else 988, which needs a version.

    An instance listens at 6988 if it was made with gke-support-enabled, as the driver makes them in such a
    cluster, and kvtier never.
    """
    lustre = pool.spec.tiers.lustre
    if lustre is None:
        return true(PORT_MATCHED, Reason.NOT_NEEDED, "the pool has no Lustre tier")
    nodes = facts.gke.legacy_port if facts.gke else None
    if lustre.provisioner == "CSI":
        return _made(pool, facts, nodes, legacy=bool(nodes))
    if lustre.provisioner == "API":
        return _made(pool, facts, nodes, legacy=False)
    instance = facts.lustre.instance if facts.lustre else None
    if instance is None:
        return unknown(
            PORT_MATCHED,
            Reason.INSTANCE_NOT_SEEN,
            f"whether {lustre.instance} listens at 988 or 6988 is told by the Lustre API only",
        )
    if nodes is None:
        return _unseen(facts, instance.legacy_port)
    return _compared(pool, facts, nodes, instance.legacy_port)


def _made(pool: KVCachePool, facts: Facts, nodes: bool | None, *, legacy: bool) -> Condition:
    """An instance that is made for the pool: only an old node or a port set on purpose can stand in the way."""
    if nodes is not None:
        return _compared(pool, facts, nodes, legacy)
    if old := _too_old(pool, facts):
        return _unseen(facts, legacy, f"nodes older than {_gate()} ({old}) need {_LEGACY}; ")
    return true(
        PORT_MATCHED, Reason.MADE, "the instance is made for the port at which GKE's nodes speak to Lustre"
    )


def _unseen(facts: Facts, legacy: bool, why: str = "") -> Condition:
    cause = (facts.gke.error if facts.gke else None) or "set spec.cluster to let kvtier ask the GKE API"
    return unknown(
        PORT_MATCHED,
        Reason.CLUSTER_NOT_SEEN,
        f"the instance listens at {_PORTS[legacy]}; {why}whether the nodes speak to that port cannot be seen: {cause}",
    )


def _compared(pool: KVCachePool, facts: Facts, nodes: bool, legacy: bool) -> Condition:
    if nodes != legacy:
        return _legacy_instance() if legacy else _legacy_cluster()
    old = None if nodes else _too_old(pool, facts)
    if old:
        return false(
            PORT_MATCHED,
            Reason.PORT_NEEDS_VERSION,
            f"nodes at {old} cannot speak to Lustre at 988, where GKE's metadata server is; that needs {_gate()}: "
            f"upgrade, or gcloud container clusters update CLUSTER {_LEGACY} for instances at 6988",
        )
    return true(PORT_MATCHED, Reason.MATCHED, f"nodes and instance speak at {_PORTS[legacy]}")


def _legacy_instance() -> Condition:
    return false(
        PORT_MATCHED,
        Reason.LEGACY_INSTANCE,
        "the instance listens at 6988 (made with gke-support-enabled), the nodes speak at 988: "
        f"gcloud container clusters update CLUSTER {_LEGACY} and upgrade the node pools, or use an instance that was "
        "made without gke-support-enabled",
    )


def _legacy_cluster() -> Condition:
    return false(
        PORT_MATCHED,
        Reason.LEGACY_CLUSTER,
        f"the nodes speak to Lustre at 6988 ({_LEGACY}), the instance listens at 988: "
        "take enableLegacyLustrePort out of the cluster's Lustre CSI add-on and upgrade the node pools, or use an "
        "instance that was made with gke-support-enabled",
    )


def _too_old(pool: KVCachePool, facts: Facts) -> GKEVersion | None:
    """The oldest version of candidate nodes, or else of the control plane, if it is below the gate."""
    told = [versions.parse(node.kubelet_version) for node in candidates(pool, facts)] or [
        control_plane(facts)
    ]
    oldest = min((version for version in told if version), default=None)
    return oldest if oldest and oldest < _gate() else None


def _gate() -> GKEVersion:
    return versions.gate("lustrePort988")
