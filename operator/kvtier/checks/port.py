"""PortMatched: nodes use the port on which the Lustre instance listens."""

from collections.abc import Iterable

from kvtier.api import gcloud
from kvtier.api.conditions import PORT_MATCHED, Condition, false, true, unknown
from kvtier.api.reasons import Reason
from kvtier.api.sentences import sentences
from kvtier.api.v1alpha1 import Cluster, PoolSpec
from kvtier.context import Context
from kvtier.facts import versions
from kvtier.facts.model import Instance
from kvtier.facts.versions import GKEVersion

_PORTS = {False: 988, True: 6988}
_LEGACY = "--enable-legacy-lustre-port"


def check(context: Context) -> Condition:
    """Nodes use 6988 if the cluster's driver is configured for it, else 988, which needs a GKE version.

    An instance listens on 6988 if it was created with gke-support-enabled, else on 988.
    """
    lustre, gke = context.lustre, context.facts.gke
    if lustre.spec is None:
        return true(PORT_MATCHED, Reason.NOT_NEEDED, "The pool has no Lustre tier.")
    nodes = gke.legacy_port if gke else None
    instance = _of_instance(lustre.spec.provisioner, lustre.instance, nodes)
    if instance is None:
        return unknown(
            PORT_MATCHED,
            Reason.INSTANCE_NOT_SEEN,
            f"The port of {lustre.spec.instance} (988 or 6988) is unknown until the Lustre API returns it.",
        )
    old = _too_old([node.version for node in context.nodes] or [context.control_plane])
    if nodes is not None:
        return _compared(nodes, instance, old, context.pool.spec)
    made = lustre.spec.provisioner != "Existing"
    if made and old is None:
        # Only an old node, or a port that somebody has configured, could differ.
        return true(PORT_MATCHED, Reason.MADE, "The instance is created with the port that GKE nodes use.")
    seen = f"The instance listens on port {_PORTS[instance]}. The port of the nodes is unknown"
    why = f"Nodes older than {_gate()} ({old}) need {_LEGACY}" if made else ""
    cause = (gke.error if gke else None) or "Set spec.cluster so that kvtier can read it from the GKE API"
    return unknown(PORT_MATCHED, Reason.CLUSTER_NOT_SEEN, sentences(seen, why, cause))


def _of_instance(provisioner: str, instance: Instance | None, nodes: bool | None) -> bool | None:
    """Whether the instance listens on the legacy port, None if unknown. `nodes`: whether the nodes use that port.

    The driver creates instances for the port of its nodes, kvtier creates them for 988.
    """
    if provisioner == "CSI":
        return bool(nodes)
    if provisioner == "API":
        return False
    return instance.legacy_port if instance else None


def _compared(nodes: bool, instance: bool, old: GKEVersion | None, spec: PoolSpec) -> Condition:
    """Compares the ports; True stands for the legacy one. `old`: version of a node that supports only that one."""
    other = _legacy_instance(spec.cluster) if instance else _legacy_cluster()
    return spec.decisive(
        other if nodes != instance else None,
        _needs_version(old, spec.cluster) if old and not nodes else None,
        true(PORT_MATCHED, Reason.MATCHED, f"The nodes and the instance use port {_PORTS[instance]}."),
    )


def _needs_version(old: GKEVersion, cluster: Cluster | None) -> Condition:
    return false(
        PORT_MATCHED,
        Reason.PORT_NEEDS_VERSION,
        f"Nodes with {old} cannot use port 988 for Lustre, because GKE's metadata server uses it. Upgrade them to "
        f"{_gate()}, or use an instance on port 6988, run this command and then upgrade the node pools: "
        f"{gcloud.clusters('update', cluster, _LEGACY)}",
    )


def _legacy_instance(cluster: Cluster | None) -> Condition:
    return false(
        PORT_MATCHED,
        Reason.LEGACY_INSTANCE,
        "The instance listens on port 6988 (gke-support-enabled), but the nodes use 988. Use an instance without "
        "gke-support-enabled, or run this command and then upgrade the node pools: "
        f"{gcloud.clusters('update', cluster, _LEGACY)}",
    )


def _legacy_cluster() -> Condition:
    return false(
        PORT_MATCHED,
        Reason.LEGACY_CLUSTER,
        f"The nodes use port 6988 ({_LEGACY}), but the instance listens on 988. Use an instance with "
        "gke-support-enabled, or remove enableLegacyLustrePort from the Lustre CSI add-on and upgrade the node pools.",
    )


def _too_old(versions_seen: Iterable[GKEVersion | None]) -> GKEVersion | None:
    """The oldest of these versions if it is below the gate, else None."""
    oldest = min((version for version in versions_seen if version), default=None)
    return oldest if oldest and oldest < _gate() else None


def _gate() -> GKEVersion:
    return versions.gate("lustrePort988")
