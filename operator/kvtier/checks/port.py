"""PortMatched: nodes speak to Lustre at the port at which the instance listens."""

from collections.abc import Iterable

from kvtier.api.conditions import PORT_MATCHED, Condition, false, true, unknown
from kvtier.api.reasons import Reason
from kvtier.context import Context
from kvtier.facts import versions
from kvtier.facts.model import Instance
from kvtier.facts.versions import GKEVersion

_PORTS = {False: 988, True: 6988}
_LEGACY = "--enable-legacy-lustre-port"


def check(context: Context) -> Condition:
    """A node has one port: 6988 if the cluster's driver is configured so, else 988, which needs a version.

    An instance listens at 6988 if it was made with gke-support-enabled.
    """
    lustre, gke = context.lustre, context.facts.gke
    if lustre.spec is None:
        return true(PORT_MATCHED, Reason.NOT_NEEDED, "the pool has no Lustre tier")
    nodes = gke.legacy_port if gke else None
    instance = _of_instance(lustre.spec.provisioner, lustre.instance, nodes)
    if instance is None:
        return unknown(
            PORT_MATCHED,
            Reason.INSTANCE_NOT_SEEN,
            f"whether {lustre.spec.instance} listens at 988 or 6988 is told by the Lustre API only",
        )
    old = _too_old([node.version for node in context.nodes] or [context.control_plane])
    if nodes is not None:
        return _compared(nodes, instance, old)
    made = lustre.spec.provisioner != "Existing"
    if made and old is None:
        # Only an old node or a port set on purpose can stand in the way.
        return true(
            PORT_MATCHED,
            Reason.MADE,
            "the instance is made for the port at which GKE's nodes speak to Lustre",
        )
    why = f"nodes older than {_gate()} ({old}) need {_LEGACY}; " if made else ""
    cause = (gke.error if gke else None) or "set spec.cluster to let kvtier ask the GKE API"
    return unknown(
        PORT_MATCHED,
        Reason.CLUSTER_NOT_SEEN,
        f"the instance listens at {_PORTS[instance]}; {why}whether the nodes speak to that port cannot be seen: "
        f"{cause}",
    )


def _of_instance(provisioner: str, instance: Instance | None, nodes: bool | None) -> bool | None:
    """Whether the instance listens at the legacy port, None where that is not known; `nodes` is whether they use it.

    The driver makes instances for the port of its nodes, kvtier for 988.
    """
    if provisioner == "CSI":
        return bool(nodes)
    if provisioner == "API":
        return False
    return instance.legacy_port if instance else None


def _compared(nodes: bool, instance: bool, old: GKEVersion | None) -> Condition:
    """Both ports, each as whether it is the legacy one; `old` is of a node for which only that one works."""
    if nodes != instance:
        return _legacy_instance() if instance else _legacy_cluster()
    if old and not nodes:
        return false(
            PORT_MATCHED,
            Reason.PORT_NEEDS_VERSION,
            f"nodes at {old} cannot speak to Lustre at 988, where GKE's metadata server is; that needs {_gate()}: "
            f"upgrade, or gcloud container clusters update CLUSTER {_LEGACY} for instances at 6988",
        )
    return true(PORT_MATCHED, Reason.MATCHED, f"nodes and instance speak at {_PORTS[instance]}")


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


def _too_old(versions_seen: Iterable[GKEVersion | None]) -> GKEVersion | None:
    """The oldest of these versions, if it is below the gate."""
    oldest = min((version for version in versions_seen if version), default=None)
    return oldest if oldest and oldest < _gate() else None


def _gate() -> GKEVersion:
    return versions.gate("lustrePort988")
