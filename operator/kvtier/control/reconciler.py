"""Reconciles one pool: observe, plan, carry out, report."""

import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from kvtier.api import times
from kvtier.api.conditions import Condition
from kvtier.api.kinds import POOL, Object
from kvtier.api.names import FINALIZER, PoolKey
from kvtier.api.v1alpha1 import KVCachePool, PoolStatus
from kvtier.control import stored
from kvtier.control.applier import Applier, LustreCaller, record_event
from kvtier.control.store import Store
from kvtier.facts.collector import Collector
from kvtier.facts.gke import GKEReader
from kvtier.facts.lustre_api import LustreReader
from kvtier.facts.model import Observed
from kvtier.kube.client import ApiError, KubeClient
from kvtier.pace import DEFAULT, Pace
from kvtier.plan.events import PoolEvent, status_events
from kvtier.plan.model import Plan
from kvtier.plan.needs import needs
from kvtier.plan.plan import plan
from kvtier.plan.pruning import orphans
from kvtier.plan.status import with_failures
from kvtier.plan.teardown import PATIENCE, gave_up_unplanned

logger = logging.getLogger(__name__)

_PATIENCE = PATIENCE.total_seconds()


class Reconciler:
    """Brings a pool to the state in its spec, one step per call."""

    def __init__(
        self,
        client: KubeClient,
        store: Store,
        gke: GKEReader,
        lustre: LustreReader,
        pace: Pace = DEFAULT,
    ) -> None:
        self._client = client
        self._store = store
        self._collector = Collector(client, store, gke, lustre, pace)
        self._applier = Applier(client, store)
        self._caller = LustreCaller(lustre)
        self._pace = pace
        self._stopped: dict[PoolKey, str] = {}
        """Since when nothing could be planned for a pool. The status has it too, if it could be written."""
        self.clock: Callable[[], str] = utc_now
        self.fitting: Callable[[dict[str, Any]], dict[str, Any]] = dict
        """A status without the fields that the CRD in the cluster lacks."""

    async def reconcile(self, key: PoolKey) -> float | None:
        """Reconcile once. Return the seconds until the next time, None to wait for an event.

        ApiError: retry. Any other error is reported in the status, and raised.
        """
        raw = self._store.pool(key)
        if raw is None:
            self._stopped.pop(key, None)
            await self._sweep(key)
            return None
        try:
            return await self._reconcile_any(key, raw)
        except ApiError:
            raise
        except Exception as error:
            await self._report_error(key, raw, error)
            raise

    async def _reconcile_any(self, key: PoolKey, raw: Object) -> float | None:
        try:
            pool = stored.read(raw)
        except ValidationError as error:
            if "deletionTimestamp" in raw["metadata"]:
                return await self._reconcile(stored.leaving(raw), raw)
            await self._stop(key, raw, stored.invalid(error))
            return None
        return await self._reconcile(pool, raw)

    async def _reconcile(self, pool: KVCachePool, raw: Object) -> float | None:
        now = self.clock()
        key = PoolKey(pool.namespace, pool.name)
        unlisted = [self._store.unlisted[kind] for kind in self._store.unlisted.keys() & needs(pool)]
        if unlisted:
            await self._stop(key, raw, stored.unseen(min(unlisted)))
            return None  # every LIST queues all pools
        observed = await self._collector.collect(pool, now)
        wanted = plan(pool, observed, now, self._pace)
        self._stopped.pop(key, None)
        if wanted.finalizer:
            await self._hold(pool, raw)
        refused = await self._applier.carry_out(wanted, pool.namespace, self._store.objects(key))
        called = await self._caller.carry_out(wanted.calls)
        after = await self._replan(pool, observed, wanted, called, now)
        if after.status is not None:
            # A conflict means only that another writer was faster. The next attempt resolves it.
            failures = [failure for failure, error in refused if error.status != 409]
            status = with_failures(after.status, failures, pool.status, now)
            await self._report(pool, status, now, wanted.events)
        if refused:
            raise max((error for _, error in refused), key=lambda error: error.retry_after or 0.0)
        if not wanted.finalizer:
            await self._release(pool, raw, wanted.events, now)
        more = any(one not in wanted.applies for one in after.applies)
        return 0.0 if more else after.requeue_after

    async def _replan(
        self, pool: KVCachePool, observed: Observed, wanted: Plan, called: bool, now: str
    ) -> Plan:
        """Plan again after the writes: the store already has their answers, so their events will trigger nothing."""
        children = self._store.children(PoolKey(pool.namespace, pool.name))
        if children == observed.children and not called:
            return wanted
        return plan(pool, await self._collector.again(pool, observed), now, self._pace)

    async def _hold(self, pool: KVCachePool, raw: Object) -> None:
        if not stored.held(raw) and not pool.deleting:
            self._store.put(
                POOL.kind, await self._client.apply(POOL, _identity(pool, finalizers=[FINALIZER]))
            )

    async def _release(self, pool: KVCachePool, raw: Object, events: Sequence[PoolEvent], now: str) -> None:
        """Remove the finalizer of kvtier, once: finalizers of others may keep the pool longer."""
        if not stored.held(raw):
            return
        for event in events:
            await record_event(self._client, pool, event, now)
        await self._client.apply(POOL, _identity(pool, finalizers=[]))

    async def _report(
        self, pool: KVCachePool, status: PoolStatus, now: str, planned: Sequence[PoolEvent] = ()
    ) -> None:
        """Write the status if it changed, then the Events of the plan and of the changed conditions.

        Statuses are compared by meaning, because the API server drops a list that becomes empty.
        """
        events = list(planned)
        if pool.status != status and (document := self._document(status)) != self._document(pool.status):
            written = await self._client.patch_status(POOL, _identity(pool) | {"status": document})
            self._store.put(POOL.kind, written)
            events += status_events(pool.status, status)
        for event in events:
            await record_event(self._client, pool, event, now)

    def _document(self, status: PoolStatus) -> dict[str, Any]:
        return self.fitting(status.model_dump(by_alias=True, exclude_none=True))

    async def _stop(self, key: PoolKey, raw: Object, ready: Condition) -> None:
        """Report why nothing is planned. Children stay as they are. A deletion ends after a while nevertheless."""
        pool, now = stored.unread(raw), self.clock()
        since = min(self._stopped.setdefault(key, now), stored.stopped_since(pool) or now)
        if pool.deleting and times.elapsed(max(since, pool.metadata["deletionTimestamp"]), now) > _PATIENCE:
            left = [" ".join(child) for child in self._store.objects(key)]
            await self._release(pool, raw, [gave_up_unplanned(ready, left)], now)
        else:
            await self._report(pool, stored.stopped(pool, ready, now), now)

    async def _report_error(self, key: PoolKey, raw: Object, error: Exception) -> None:
        """Report an unexpected error. The error itself is raised, even if this cannot be written."""
        try:
            await self._stop(key, raw, stored.failed(error))
        except ApiError as refusal:
            logger.warning("Pool %s/%s: could not report an error: %s", *key, refusal)

    async def _sweep(self, key: PoolKey) -> None:
        """Delete the cluster-scoped objects of a pool that no longer exists. Kubernetes deletes those with an owner."""
        refs = orphans(self._store.children(key), key)
        if not refs or await self._client.get_metadata(POOL, key.namespace, key.name) is not None:
            return
        refused = await self._applier.carry_out(Plan(deletes=refs), key.namespace, {})
        if refused:
            raise refused[0][1]


def utc_now() -> str:
    """The current time in the format of Kubernetes."""
    return times.text(datetime.now(UTC))


def _identity(pool: KVCachePool, **metadata: Any) -> dict[str, Any]:
    """The base of a write to the pool itself. With the uid, the write cannot create or change another pool."""
    names = {"name": pool.name, "namespace": pool.namespace, "uid": pool.uid}
    return {"apiVersion": POOL.api_version, "kind": POOL.kind, "metadata": names | metadata}
