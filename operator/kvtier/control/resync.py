"""LIST everything, at the start of a leadership and every few minutes: what watches missed is found here."""

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
    """Makes the store equal to the API server, then has every pool looked at."""

    def __init__(self, client: KubeClient, store: Store, queue: WorkQueue[PoolKey]) -> None:
        self._client = client
        self._store = store
        self._queue = queue

    async def forever(self, seconds: float) -> None:
        """Again and again; a failed attempt is only logged, because the store is still there.

        The first comes soon: what was deleted between the LIST at the start and the beginning of the
        watches is found by it alone.
        """
        delay = min(seconds, _SOON_SECONDS)
        while True:
            await asyncio.sleep(delay)
            delay = seconds
            try:
                await self.once()
            except ApiError as error:
                logger.warning("resync failed, trying again in %.0f s: %s", seconds, error)

    async def until_done(self, retry_seconds: float = 2.0) -> None:
        """The first one, which must succeed before anything is reconciled."""
        while True:
            try:
                return await self.once()
            except ApiError as error:
                logger.error("cannot list what kvtier needs: %s", error)
                await asyncio.sleep(max(retry_seconds, error.retry_after or 0.0))

    async def once(self) -> None:
        """One LIST per kind. Every pool is looked at afterwards, changed or not."""
        started = time.monotonic()
        self._store.set_version(await self._client.server_version())
        for resource in (*CLUSTER_FACTS, *CHILDREN, VOLUME):
            self._store.replace(resource.kind, await self._list(resource))
        pools = await self._list(POOL)
        self._store.replace(POOL.kind, pools)
        for key in self._store.all_keys():
            self._queue.add(key)
        logger.info("listed %d pools in %.2f s", len(pools or ()), time.monotonic() - started)

    async def _list(self, resource: Resource) -> list[Object] | None:
        self._store.list_begins(resource.kind)
        selector = SELECTOR if resource in CHILDREN else ""
        found = await self._client.list(resource, selector=selector)
        if found is None and resource.kind != "ComputeClass":
            raise ApiError(404, "NotServed", f"the API server does not serve {resource.plural}")
        return found
