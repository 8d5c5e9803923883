"""What the GKE API says of the cluster, remembered for a few minutes."""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from kvtier.api.v1alpha1 import Cluster
from kvtier.facts.model import GKECluster
from kvtier.gcp import container, errors

logger = logging.getLogger(__name__)

_FRESH_SECONDS = 240.0
_RETRY_SECONDS = 60.0
_TRUSTED_SECONDS = 3600.0
_PATIENCE_SECONDS = 2.0

_FINAL = (400, 403, 404)
"""Answers of the API about this cluster; everything else may have to do with the moment."""


@dataclass(frozen=True)
class _Known:
    """`until`: when to ask again; `trusted_until`: how long it stands when the API has an outage."""

    facts: GKECluster
    until: float
    trusted_until: float


class GKEReader:
    """Asks once for all pools that name the same cluster; a failed answer is asked again sooner.

    Only the first question about a cluster is waited for as long as it takes (at most 15 s). Later, a slow
    answer is left to the next reader after `patience` seconds, and an outage of the API does not undo what
    is known, for an hour: else every pool's conditions would flap with it.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        patience: float = _PATIENCE_SECONDS,
        fresh_seconds: float = _FRESH_SECONDS,
    ) -> None:
        self._clock = clock
        self._fresh_seconds = fresh_seconds
        self.patience = patience
        self._known: dict[Cluster, _Known] = {}
        self._asking: dict[Cluster, asyncio.Task[None]] = {}

    async def read(self, cluster: Cluster | None) -> GKECluster | None:
        """Facts of the cluster, None when the pool names none."""
        if cluster is None:
            return None
        known = self._known.get(cluster)
        if known is None:
            await asyncio.shield(self._question(cluster))
        elif known.until <= self._clock():
            await asyncio.wait({self._question(cluster)}, timeout=self.patience)
        return self._known[cluster].facts

    def _question(self, cluster: Cluster) -> asyncio.Task[None]:
        """The request under way, or a new one. It is nobody's own, so that a cancelled reader ends only itself."""
        if cluster not in self._asking:
            task = asyncio.create_task(self._refresh(cluster))
            task.add_done_callback(lambda _: self._asking.pop(cluster))
            self._asking[cluster] = task
        return self._asking[cluster]

    async def _refresh(self, cluster: Cluster) -> None:
        try:
            facts = await _ask(cluster)
        except errors.GoogleError as error:
            self._known[cluster] = self._after_failure(cluster, error)
            return
        now = self._clock()
        self._known[cluster] = _Known(facts, now + self._fresh_seconds, now + _TRUSTED_SECONDS)

    def _after_failure(self, cluster: Cluster, error: errors.GoogleError) -> _Known:
        now, hint = self._clock(), _hint(cluster, error)
        logger.warning("%s", hint)
        known = self._known.get(cluster)
        if known and now < known.trusted_until and error.code not in _FINAL:
            return replace(known, until=now + _RETRY_SECONDS)
        return _Known(GKECluster(error=hint), now + _RETRY_SECONDS, now)


async def _ask(cluster: Cluster) -> GKECluster:
    found = await container.get_cluster(cluster.project, cluster.location, cluster.name)
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
                f"{container.ENDPOINT_VARIABLE}); it is asked again"
            )
        case errors.BadAnswerError():
            return (
                f"what answers about {where} is not the GKE API ({error}): check proxies and "
                f"{container.ENDPOINT_VARIABLE}; it is asked again"
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
