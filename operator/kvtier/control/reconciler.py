"""Reconciles one pool: observe, plan, carry out, report."""

import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from kvtier.api import times
from kvtier.api.conditions import READY, false, stamp
from kvtier.api.kinds import POOL, Object
from kvtier.api.names import FINALIZER, PoolKey
from kvtier.api.reasons import Reason
from kvtier.api.sentences import sentences
from kvtier.api.v1alpha1 import KVCachePool, PoolSpec, PoolStatus
from kvtier.control.applier import Applier, LustreCaller, record_event
from kvtier.control.store import Store
from kvtier.facts.collector import Collector
from kvtier.facts.gke import GKEReader
from kvtier.facts.lustre_api import LustreReader
from kvtier.facts.model import Observed
from kvtier.kube.client import KubeClient
from kvtier.pace import DEFAULT, Pace
from kvtier.plan.events import PoolEvent, status_events
from kvtier.plan.model import Plan
from kvtier.plan.plan import plan
from kvtier.plan.pruning import orphans
from kvtier.plan.status import with_failures

logger = logging.getLogger(__name__)


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
        self.clock: Callable[[], str] = utc_now

    async def reconcile(self, key: PoolKey) -> float | None:
        """Reconcile once. Return the seconds until the next time, None to wait for an event. ApiError: retry."""
        raw = self._store.pool(key)
        if raw is None:
            await self._sweep(key)
            return None
        try:
            pool = KVCachePool.model_validate(raw)
        except ValidationError as error:
            if "deletionTimestamp" in raw["metadata"]:
                return await self._reconcile(_leaving(raw), raw)
            await self._report_invalid(raw, error)
            return None
        return await self._reconcile(pool, raw)

    async def _reconcile(self, pool: KVCachePool, raw: Object) -> float | None:
        now = self.clock()
        key = PoolKey(pool.namespace, pool.name)
        observed = await self._collector.collect(pool, now)
        wanted = plan(pool, observed, now, self._pace)
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
            await self._release(pool, raw, wanted, now)
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
        if not _held(raw) and not pool.deleting:
            self._store.put(
                POOL.kind, await self._client.apply(POOL, _identity(pool, finalizers=[FINALIZER]))
            )

    async def _release(self, pool: KVCachePool, raw: Object, wanted: Plan, now: str) -> None:
        """Remove the finalizer of kvtier, once: finalizers of others may keep the pool longer."""
        if not _held(raw):
            return
        for event in wanted.events:
            await record_event(self._client, pool, event, now)
        await self._client.apply(POOL, _identity(pool, finalizers=[]))

    async def _report(
        self, pool: KVCachePool, status: PoolStatus, now: str, planned: Sequence[PoolEvent] = ()
    ) -> None:
        """Write the status if it changed, then the Events of the plan and of the changed conditions.

        Statuses are compared by meaning, because the API server drops a list that becomes empty.
        """
        events = list(planned)
        if pool.status != status:
            document = status.model_dump(by_alias=True, exclude_none=True)
            written = await self._client.patch_status(POOL, _identity(pool) | {"status": document})
            self._store.put(POOL.kind, written)
            events += status_events(pool.status, status)
        for event in events:
            await record_event(self._client, pool, event, now)

    async def _report_invalid(self, raw: Object, error: ValidationError) -> None:
        """Report what is wrong with a spec that an older CRD accepted. Children stay as they are."""
        known: dict[str, Any] = {"metadata": dict(raw["metadata"]), "status": _old_status(raw)}
        pool = KVCachePool.model_construct(_fields_set=None, **known)
        problem = error.errors()[0]
        where = ".".join(str(part) for part in problem["loc"])
        found = problem["msg"].removeprefix("Value error, ")
        message = sentences(
            f"The field {where} is invalid: {found}", "Until you correct it, kvtier changes nothing"
        )
        condition = false(READY, Reason.INVALID_SPEC, message)
        now = self.clock()
        status = PoolStatus(
            observed_generation=pool.generation,
            phase="Blocked",
            conditions=stamp([condition], pool.status.conditions, pool.generation, now),
            tiers=pool.status.tiers,
            models=pool.status.models,
            models_ready=pool.status.models_ready,
        )
        await self._report(pool, status, now)

    async def _sweep(self, key: PoolKey) -> None:
        """Delete the cluster-scoped objects of a pool that no longer exists. Kubernetes deletes those with an owner."""
        refs = orphans(self._store.children(key))
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


def _held(raw: Object) -> bool:
    return FINALIZER in raw["metadata"].get("finalizers", [])


def _leaving(raw: Object) -> KVCachePool:
    """A deleted pool whose spec cannot be parsed. Only its deletionPolicy still matters."""
    policy = "Delete" if raw.get("spec", {}).get("deletionPolicy") == "Delete" else "Retain"
    read: dict[str, Any] = {"deletion_policy": policy, "models": []}
    spec = PoolSpec.model_construct(_fields_set=None, **read)
    known: dict[str, Any] = {"metadata": dict(raw["metadata"]), "spec": spec, "status": _old_status(raw)}
    return KVCachePool.model_construct(_fields_set=None, **known)


def _old_status(raw: Object) -> PoolStatus:
    try:
        return PoolStatus.model_validate(raw.get("status") or {})
    except ValidationError:
        return PoolStatus()
