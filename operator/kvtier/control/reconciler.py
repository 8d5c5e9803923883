"""One pool, once: observe, plan, carry out, report."""

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from kvtier.api.conditions import READY, false, stamp
from kvtier.api.names import FINALIZER
from kvtier.api.v1alpha1 import KVCachePool, PoolSpec, PoolStatus
from kvtier.control import events
from kvtier.control.applier import Applier
from kvtier.control.store import Key, Store
from kvtier.facts import secrets
from kvtier.facts.gke import GKEReader
from kvtier.facts.model import Facts, Observed
from kvtier.kube.client import POOL, KubeClient, Object
from kvtier.plan.failures import with_failures
from kvtier.plan.model import Plan
from kvtier.plan.notices import notices
from kvtier.plan.orphans import orphans
from kvtier.plan.plan import plan

logger = logging.getLogger(__name__)


class Reconciler:
    """Brings one pool to what its spec says, as often as it is asked to."""

    def __init__(
        self, client: KubeClient, store: Store, gke: GKEReader, clock: Callable[[], str] | None = None
    ) -> None:
        self._client = client
        self._store = store
        self._gke = gke
        self._applier = Applier(client, store)
        self._clock = clock or utc_now

    async def reconcile(self, key: Key) -> float | None:
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
        now = self._clock()
        observed = await self._observe(pool)
        wanted = plan(pool, observed, now)
        if wanted.finalizer:
            await self._hold(pool, raw)
        refused = await self._applier.carry_out(wanted, pool.namespace, observed.children)
        after = self._replan(pool, observed, wanted, now)
        if after.status is not None:
            # A conflict says only that somebody was faster, and is gone with the next attempt.
            failures = [failure for failure, error in refused if error.status != 409]
            status = with_failures(after.status, failures, pool.status, now)
            await self._report(pool, raw, status, now)
        if refused:
            raise max((error for _, error in refused), key=lambda error: error.retry_after or 0.0)
        if not wanted.finalizer:
            await self._release(pool, raw, wanted, now)
        return after.requeue_after if after.applies == wanted.applies else 0.0

    def _replan(self, pool: KVCachePool, observed: Observed, wanted: Plan, now: str) -> Plan:
        """The plan after the writes: their answers are in the store, so their events will bring nothing new."""
        children = self._store.children(Key(pool.namespace, pool.name))
        unchanged = children == observed.children
        return wanted if unchanged else plan(pool, replace(observed, children=children), now)

    async def _observe(self, pool: KVCachePool) -> Observed:
        facts = Facts(
            cluster=self._store.cluster(),
            gke=await self._gke.read(pool.spec.cluster),
            secrets=await secrets.read(self._client, pool),
        )
        return Observed(facts, self._store.children(Key(pool.namespace, pool.name)))

    async def _hold(self, pool: KVCachePool, raw: Object) -> None:
        if not _held(raw) and not pool.deleting:
            self._store.put(
                POOL.kind, await self._client.apply(POOL, _identity(pool, finalizers=[FINALIZER]))
            )

    async def _release(self, pool: KVCachePool, raw: Object, wanted: Plan, now: str) -> None:
        """Let the pool go, once: finalizers of others may keep it for longer."""
        if not _held(raw):
            return
        for notice in wanted.notices:
            await events.record(self._client, pool, notice, now)
        await self._client.apply(POOL, _identity(pool, finalizers=[]))

    async def _report(self, pool: KVCachePool, raw: Object, status: PoolStatus, now: str) -> None:
        """The one status write, made only if the status is not already this one; Events follow it."""
        document = status.model_dump(by_alias=True, exclude_none=True)
        if raw.get("status") == document:
            return
        self._store.put(
            POOL.kind, await self._client.patch_status(POOL, _identity(pool) | {"status": document})
        )
        for notice in notices(pool.status, status):
            await events.record(self._client, pool, notice, now)

    async def _report_invalid(self, raw: Object, error: ValidationError) -> None:
        """Say what is wrong with a spec that an older CRD let in; children stay as they are."""
        known: dict[str, Any] = {"metadata": dict(raw["metadata"]), "status": _old_status(raw)}
        pool = KVCachePool.model_construct(_fields_set=None, **known)
        problem = error.errors()[0]
        where = ".".join(str(part) for part in problem["loc"])
        condition = false(
            READY, "InvalidSpec", f"{where}: {problem['msg']}; nothing is changed until it is corrected"
        )
        now = self._clock()
        status = PoolStatus(
            observed_generation=pool.generation,
            phase="Blocked",
            conditions=stamp([condition], pool.status.conditions, pool.generation, now),
            tiers=pool.status.tiers,
            models=pool.status.models,
            models_ready=pool.status.models_ready,
        )
        await self._report(pool, raw, status, now)

    async def _sweep(self, key: Key) -> None:
        """Remove what a pool that is gone has left cluster-wide; ownerReferences see to the rest."""
        refs = orphans(self._store.children(key))
        if not refs or await self._client.get_metadata(POOL, key.namespace, key.name) is not None:
            return
        refused = await self._applier.carry_out(Plan(deletes=refs), key.namespace, {})
        if refused:
            raise refused[0][1]


def utc_now() -> str:
    """The time as Kubernetes writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


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
