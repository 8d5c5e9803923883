"""Facts of the cluster from the GKE API, cached for a few minutes."""

import time
from collections.abc import Callable
from typing import Any

from kvtier.api.sentences import sentences
from kvtier.api.v1alpha1 import Cluster
from kvtier.facts.asking import PATIENCE_SECONDS, Answer, Recent, SingleFlight
from kvtier.facts.model import GKECluster
from kvtier.gcp import clients, errors
from kvtier.pace import DEFAULT, Pace

_FINAL = (400, 403, 404)
"""Status codes that are about this cluster. All others may be temporary."""


class GKEReader:
    """Facts of clusters, shared by all pools that name the same one.

    The first read of a cluster waits until the API responds (at most 15 s). Later reads wait at most `patience`
    seconds; the next read then uses the response.
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
        self._answers: Recent[Cluster, Answer[GKECluster]] = Recent(lambda _: Answer(None), clock)
        self._requests = SingleFlight(self._request)

    async def read(self, cluster: Cluster | None) -> GKECluster | None:
        """Facts of the cluster, None if the pool names no cluster."""
        if cluster is None:
            return None
        answer = self._answers.get(cluster)
        if answer.pending:
            await self._requests.join(cluster, None)
        elif self._is_due(answer):
            await self._requests.join(cluster, self.patience)
        return answer.value or GKECluster(error=answer.error)

    def _is_due(self, answer: Answer[GKECluster]) -> bool:
        return self._clock() >= answer.asked + (self._pace.waiting if answer.failure else self._pace.fresh)

    async def _request(self, cluster: Cluster) -> None:
        try:
            facts = await _get(cluster)
        except errors.GoogleError as error:
            failure, final = _hint(cluster, error), error.code in _FINAL
            self._answers.get(cluster).fail(failure, self._clock(), final=final)
        else:
            self._answers.get(cluster).succeed(facts, self._clock())


async def _get(cluster: Cluster) -> GKECluster:
    return facts_of(await clients.get_cluster(cluster.project, cluster.location, cluster.name))


def facts_of(found: Any) -> GKECluster:
    """The facts of a `container_v1.Cluster`."""
    driver = found.addons_config.lustre_csi_driver_config
    return GKECluster(
        network=found.network_config.network or None,
        version=found.current_master_version or None,
        lustre_addon=driver.enabled,
        legacy_port=driver.enable_legacy_lustre_port,
    )


def _hint(cluster: Cluster, error: errors.GoogleError) -> str:
    """What failed, and what to do. The text is stable for the same failure, because it is part of a status."""
    where = f"projects/{cluster.project}/locations/{cluster.location}/clusters/{cluster.name}"
    match error:
        case errors.NoCredentialsError():
            return sentences(
                f"No valid credentials to read {where} from the GKE API: {error}",
                "Give kvtier's service account roles/container.clusterViewer through Workload Identity",
            )
        case errors.NoAnswerError():
            return sentences(
                f"The GKE API did not respond to a request for {where}: {error}",
                f"Check egress, DNS, proxies and {clients.GKE_ENDPOINT}. kvtier retries",
            )
        case errors.BadAnswerError():
            return sentences(
                f"The endpoint returned a response about {where} that is not from the GKE API: {error}",
                f"Check proxies and {clients.GKE_ENDPOINT}. kvtier retries",
            )
    return _refusal(where, error)


def _refusal(where: str, error: errors.GoogleError) -> str:
    match error.code:
        case 400 | 404:
            return (
                f"The GKE API did not find {where}. Correct spec.cluster. Its location is the region or zone of the "
                "cluster."
            )
        case 403:
            return sentences(
                f"The GKE API denied access to {where}: {error}",
                "Grant roles/container.clusterViewer to kvtier's service account (Workload Identity), or correct "
                "spec.cluster",
            )
        case 429:
            return sentences(
                f"The GKE API quota was exceeded while reading {where}: {error}",
                "kvtier retries. If this persists, request more quota",
            )
    return sentences(
        f"The GKE API returned {error.code} for {where}: {error}",
        "No action needed; kvtier retries",
    )
