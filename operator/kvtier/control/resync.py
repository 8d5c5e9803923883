"""Lists everything when leadership starts and every few minutes after that, to find what watches missed."""

import asyncio
import logging
import time

from kvtier.api.kinds import POOL, VOLUME, Object, Resource
from kvtier.api.names import LABEL_MANAGED_BY, PoolKey
from kvtier.control.queue import WorkQueue
from kvtier.control.store import Store
from kvtier.kube.client import CHILDREN, CLUSTER_FACTS, ApiError, KubeClient

logger = logging.getLogger(__name__)

_SOON_SECONDS = 15.0
SELECTOR = f"{LABEL_MANAGED_BY}=kvtier"


class Resync:
    """Makes the store equal to the API server, then queues every pool."""

    def __init__(self, client: KubeClient, store: Store, queue: WorkQueue[PoolKey]) -> None:
        self._client = client
        self._store = store
        self._queue = queue

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
            except ApiError as error:
                logger.warning("Resync failed, retrying in %.0f s: %s", seconds, error)
            except Exception:
                logger.exception("Resync failed unexpectedly, retrying in %.0f s", seconds)

    async def until_done(self, retry_seconds: float = 2.0) -> None:
        """Resync for the first time. It must succeed before anything is reconciled."""
        while True:
            try:
                return await self.once()
            except ApiError as error:
                logger.error("Could not list a resource that kvtier needs: %s", error)
                await asyncio.sleep(max(retry_seconds, error.retry_after or 0.0))

    async def once(self) -> None:
        """Send one LIST per kind. Then queue every pool, changed or not."""
        started = time.monotonic()
        self._store.set_version(await self._client.server_version())
        for resource in (*CLUSTER_FACTS, *CHILDREN, VOLUME):
            self._store.replace(resource.kind, await self._list(resource))
        pools = await self._list(POOL)
        self._store.replace(POOL.kind, pools)
        for key in self._store.all_keys():
            self._queue.add(key)
        logger.info("Listed %d pools in %.2f s", len(pools or ()), time.monotonic() - started)

    async def _list(self, resource: Resource) -> list[Object] | None:
        self._store.list_begins(resource.kind)
        selector = SELECTOR if resource in CHILDREN else ""
        found = await self._client.list(resource, selector=selector)
        if found is None and resource.kind != "ComputeClass":
            raise ApiError(404, "NotServed", f"the API server does not serve {resource.plural}")
        return found
