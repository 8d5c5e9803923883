"""What the GKE API says of the cluster, remembered for a few minutes."""

import time
from collections.abc import Callable

from kvtier.api.v1alpha1 import Cluster
from kvtier.facts.model import GKECluster
from kvtier.gcp import container

_FRESH_SECONDS = 240.0
_RETRY_SECONDS = 60.0


class GKEReader:
    """Asks once for all pools that name the same cluster; a failed answer is asked again sooner."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: dict[Cluster, tuple[float, GKECluster]] = {}

    async def read(self, cluster: Cluster | None) -> GKECluster | None:
        """Facts of the cluster, None when the pool names none."""
        if cluster is None:
            return None
        known = self._known.get(cluster)
        if known is None or known[0] <= self._clock():
            facts = await _ask(cluster)
            fresh = _RETRY_SECONDS if facts.error else _FRESH_SECONDS
            known = self._known[cluster] = (self._clock() + fresh, facts)
        return known[1]


async def _ask(cluster: Cluster) -> GKECluster:
    try:
        found = await container.get_cluster(cluster.project, cluster.location, cluster.name)
    except container.GKEError as error:
        return GKECluster(error=_hint(cluster, error))
    return GKECluster(
        network=found.network_config.network or None,
        version=found.current_master_version or None,
        lustre_addon=found.addons_config.lustre_csi_driver_config.enabled,
    )


def _hint(cluster: Cluster, error: container.GKEError) -> str:
    """What went wrong, and what to do about it."""
    where = f"projects/{cluster.project}/locations/{cluster.location}/clusters/{cluster.name}"
    if error.code == 404:
        return f"the GKE API knows no {where}: correct spec.cluster"
    if error.code in (401, 403):
        return (
            f"the GKE API refuses to show {where}: grant roles/container.clusterViewer to kvtier's service account "
            "(Workload Identity)"
        )
    if error.code == 0:
        return (
            f"the GKE API cannot be asked about {where} ({str(error)[:200]}): give kvtier's service account "
            "credentials through Workload Identity with roles/container.clusterViewer"
        )
    return f"the GKE API answered {error.code} about {where}: {str(error)[:200]}; it is asked again"
