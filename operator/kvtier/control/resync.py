"""Lists everything when leadership starts and every few minutes after that, to find what watches missed."""

import asyncio
import logging
import time
from collections import Counter

from kvtier.api.kinds import POOL, VOLUME, Object, Resource
from kvtier.api.names import LABEL_MANAGED_BY, PoolKey
from kvtier.api.sentences import sentences
from kvtier.control.queue import WorkQueue
from kvtier.control.store import Store
from kvtier.kube.client import CHILDREN, CLUSTER_FACTS, ApiError, KubeClient

logger = logging.getLogger(__name__)

_SOON_SECONDS = 15.0
_FORBIDDEN = 403
_NOT_ABOUT_A_KIND = (0, 429)
"""Status codes of an API server that cannot be reached, or has too much to do."""
SELECTOR = f"{LABEL_MANAGED_BY}=kvtier"


class Resync:
    """Makes the store equal to the API server, then queues every pool."""

    def __init__(self, client: KubeClient, store: Store, queue: WorkQueue[PoolKey]) -> None:
        self._client = client
        self._store = store
        self._queue = queue
        self._refused: Counter[str] = Counter()

    async def forever(self, seconds: float) -> None:
        """Resync regularly. A failed attempt is only logged, because the store keeps its content.

        The first resync comes soon: only it finds what was deleted between the first LIST and the start of the watches.
        """
        delay = min(seconds, _SOON_SECONDS)
        while True:
            await asyncio.sleep(delay)
            delay = seconds
            try:
                await self.once()
                delay = min(seconds, _SOON_SECONDS) if self._store.unlisted else seconds
            except ApiError as error:
                logger.warning("Resync failed, retrying in %.0f s: %s", seconds, error)
            except Exception:
                logger.exception("Resync failed unexpectedly, retrying in %.0f s", seconds)

    async def until_done(self, retry_seconds: float = 2.0) -> None:
        """Resync for the first time. Pools must be known before anything is reconciled."""
        while True:
            try:
                return await self.once()
            except ApiError as error:
                logger.error("Could not list a resource that kvtier needs: %s", error)
                await asyncio.sleep(max(retry_seconds, error.retry_after or 0.0))

    async def once(self) -> None:
        """Send one LIST per kind. Then queue every pool, changed or not. ApiError: nothing was queued."""
        started = time.monotonic()
        self._store.set_version(await self._client.server_version())
        for resource in (*CLUSTER_FACTS, *CHILDREN, VOLUME):
            await self._sync(resource)
        pools = await self._list(POOL)
        self._store.replace(POOL.kind, pools)
        for key in self._store.all_keys():
            self._queue.add(key)
        logger.info("Listed %d pools in %.2f s", len(pools or ()), time.monotonic() - started)

    async def _sync(self, resource: Resource) -> None:
        """Store all objects of a kind.

        A kind that is refused several times is recorded in the store: only the pools that need it stop. ApiError before
        that, and while the API server does not answer.
        """
        try:
            found = await self._list(resource)
        except ApiError as error:
            self._refused[resource.kind] += 1
            if error.status in _NOT_ABOUT_A_KIND or self._refused[resource.kind] < _attempts(error):
                raise
            self._store.unlisted[resource.kind] = _explain(resource, error)
            logger.error("Could not list %s: %s", resource.full_name, error)
        else:
            del self._refused[resource.kind]
            self._store.replace(resource.kind, found)

    async def _list(self, resource: Resource) -> list[Object] | None:
        self._store.list_begins(resource.kind)
        selector = SELECTOR if resource in CHILDREN else ""
        found = await self._client.list(resource, selector=selector)
        if found is None and resource.kind != "ComputeClass":
            raise ApiError(404, "NotServed", f"the API server does not serve {resource.plural}")
        return found


def _attempts(error: ApiError) -> int:
    """How many refusals are no accident. A missing permission rarely is one."""
    return 2 if error.status == _FORBIDDEN else 5


def _explain(resource: Resource, error: ApiError) -> str:
    if error.status != _FORBIDDEN:
        return sentences(
            f"kvtier could not list {resource.full_name}, and changes nothing in this pool until it can",
            f"The API server said: {error.message}",
        )
    return sentences(
        f"kvtier may not list {resource.full_name}, and changes nothing in this pool until it may",
        "Apply the ClusterRole of this version: kubectl apply -f manifests/install.yaml",
    )
