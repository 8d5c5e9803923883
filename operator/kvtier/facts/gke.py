"""What the GKE API says of the cluster, kept for a few minutes."""

import time
from collections.abc import Callable

from kvtier.api.v1alpha1 import Cluster
from kvtier.facts.asking import PATIENCE_SECONDS, Answer, SingleFlight
from kvtier.facts.model import GKECluster
from kvtier.gcp import clients, errors
from kvtier.pace import DEFAULT, Pace

_FINAL = (400, 403, 404)
"""Answers of the API about this cluster; everything else may have to do with the moment."""


class GKEReader:
    """Facts of clusters, shared by all pools that name the same one.

    Only the first answer about a cluster is waited for as long as it takes (at most 15 s). A later one that takes
    longer than `patience` seconds is left to the next reader.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        patience: float = PATIENCE_SECONDS,
        pace: Pace = DEFAULT,
    ) -> None:
        self._clock = clock
        self._pace = pace
        self.patience = patience
        self._answers: dict[Cluster, Answer[GKECluster]] = {}
        self._requests = SingleFlight(self._request)

    async def read(self, cluster: Cluster | None) -> GKECluster | None:
        """Facts of the cluster, None when the pool names none."""
        if cluster is None:
            return None
        if cluster not in self._answers:
            await self._requests.join(cluster, None)
        elif self._is_due(self._answers[cluster]):
            await self._requests.join(cluster, self.patience)
        answer = self._answers[cluster]
        return answer.value or GKECluster(error=answer.error)

    def _is_due(self, answer: Answer[GKECluster]) -> bool:
        return self._clock() >= answer.asked + (self._pace.waiting if answer.failure else self._pace.fresh)

    async def _request(self, cluster: Cluster) -> None:
        try:
            facts = await _get(cluster)
        except errors.GoogleError as error:
            answer = self._answers.setdefault(cluster, Answer(None))
            answer.fail(_hint(cluster, error), self._clock(), final=error.code in _FINAL)
        else:
            self._answers.setdefault(cluster, Answer(None)).succeed(facts, self._clock())


async def _get(cluster: Cluster) -> GKECluster:
    found = await clients.get_cluster(cluster.project, cluster.location, cluster.name)
    driver = found.addons_config.lustre_csi_driver_config
    return GKECluster(
        network=found.network_config.network or None,
        version=found.current_master_version or None,
        lustre_addon=driver.enabled,
        legacy_port=driver.enable_legacy_lustre_port,
    )


def _hint(cluster: Cluster, error: errors.GoogleError) -> str:
    """What went wrong, and what to do about it. The same for the same failure: it ends up in a status."""
    where = f"projects/{cluster.project}/locations/{cluster.location}/clusters/{cluster.name}"
    match error:
        case errors.NoCredentialsError():
            return (
                f"the GKE API cannot be asked about {where} ({error}): give kvtier's service account credentials "
                "through Workload Identity, with roles/container.clusterViewer"
            )
        case errors.NoAnswerError():
            return (
                f"the GKE API does not answer about {where} ({error}): let kvtier reach it (egress, DNS, proxy, "
                f"{clients.GKE_ENDPOINT}); it is asked again"
            )
        case errors.BadAnswerError():
            return (
                f"what answers about {where} is not the GKE API ({error}): check proxies and "
                f"{clients.GKE_ENDPOINT}; it is asked again"
            )
    return _refusal(where, error)


def _refusal(where: str, error: errors.GoogleError) -> str:
    match error.code:
        case 400 | 404:
            return f"the GKE API knows no {where}: correct spec.cluster (a regional cluster's location is its region)"
        case 403:
            return (
                f"the GKE API refuses to show {where} ({error}): grant roles/container.clusterViewer to kvtier's "
                "service account (Workload Identity), or correct spec.cluster"
            )
        case 429:
            return f"the GKE API has no quota left for {where} ({error}): raise it; it is asked again"
    return f"the GKE API answered {error.code} about {where} ({error}): nothing to do, it is asked again"
