"""One pool, once: observe, plan, carry out, report."""

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
    """Brings one pool to what its spec says, as often as it is asked to."""

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
        """Seconds after which to look again without an event, or None. Raises ApiError to be called again."""
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
            # A conflict says only that somebody was faster, and is gone with the next attempt.
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
        """The plan after the effects: their answers are known here, so their events will bring nothing new."""
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
        """Let the pool go, once: finalizers of others may keep it for longer."""
        if not _held(raw):
            return
        for event in wanted.events:
            await record_event(self._client, pool, event, now)
        await self._client.apply(POOL, _identity(pool, finalizers=[]))

    async def _report(
        self, pool: KVCachePool, status: PoolStatus, now: str, planned: Sequence[PoolEvent] = ()
    ) -> None:
        """The one status write, made only if the status is not already this one. Events follow it, the planned too.

        Compared by meaning: of a list that becomes empty, the API server keeps nothing.
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
        """Say what is wrong with a spec that an older CRD let in; children stay as they are."""
        known: dict[str, Any] = {"metadata": dict(raw["metadata"]), "status": _old_status(raw)}
        pool = KVCachePool.model_construct(_fields_set=None, **known)
        problem = error.errors()[0]
        where = ".".join(str(part) for part in problem["loc"])
        condition = false(
            READY, Reason.INVALID_SPEC, f"{where}: {problem['msg']}; nothing is changed until it is corrected"
        )
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
        """Remove what a pool that is gone has left cluster-wide; ownerReferences see to the rest."""
        refs = orphans(self._store.children(key))
        if not refs or await self._client.get_metadata(POOL, key.namespace, key.name) is not None:
            return
        refused = await self._applier.carry_out(Plan(deletes=refs), key.namespace, {})
        if refused:
            raise refused[0][1]


def utc_now() -> str:
    """The time as Kubernetes writes it."""
    return times.text(datetime.now(UTC))


def _identity(pool: KVCachePool, **metadata: Any) -> dict[str, Any]:
    """What a write to the pool itself starts with. The uid keeps it from making or changing a namesake."""
    names = {"name": pool.name, "namespace": pool.namespace, "uid": pool.uid}
    return {"apiVersion": POOL.api_version, "kind": POOL.kind, "metadata": names | metadata}


def _held(raw: Object) -> bool:
    return FINALIZER in raw["metadata"].get("finalizers", [])


def _leaving(raw: Object) -> KVCachePool:
    """A deleted pool whose spec cannot be read: of it, only the deletionPolicy still matters."""
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
