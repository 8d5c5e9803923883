"""Carries out a plan: the one place that writes, to the API server and to the Lustre API."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from kvtier.api.kinds import EVENT, Key, Object, Resource
from kvtier.api.names import (
    ANNOTATION_APPLIED,
    ANNOTATION_POOL,
    FIELD_MANAGER,
    HANDOVER_MANAGER,
    LABEL_MANAGED_BY,
    LABEL_POOL,
    LABEL_POOL_NAMESPACE,
    derive,
)
from kvtier.api.v1alpha1 import GROUP, KIND, VERSION, KVCachePool
from kvtier.control.store import Store
from kvtier.facts.asking import PATIENCE_SECONDS
from kvtier.facts.lustre_api import LustreReader
from kvtier.facts.model import Operation
from kvtier.gcp import clients
from kvtier.gcp.errors import GoogleError
from kvtier.kube.client import BY_KIND, ApiError, KubeClient
from kvtier.plan.events import PoolEvent
from kvtier.plan.lustre.operations import UNANSWERED
from kvtier.plan.model import Call, Failure, Manifest, Plan, Ref

logger = logging.getLogger(__name__)

_LIST_KEYS = ("name", "mountPath", "type", "key")
"""Fields by which Kubernetes tells the items of its lists apart."""


class Applier:
    """Carries a plan out on the API server.

    A refused apply does not keep the others from being made; every refusal is answered as a Failure.
    Deletes wait until every apply has succeeded, because they may depend on one and cannot be taken back.
    """

    def __init__(self, client: KubeClient, store: Store) -> None:
        self._client = client
        self._store = store
        self._unchanged: dict[str, str] = {}
        """By uid, the version of an object in which an apply has changed nothing."""

    async def carry_out(
        self, plan: Plan, namespace: str, live: Mapping[Key, Object]
    ) -> list[tuple[Failure, ApiError]]:
        """Applies, then deletes. Answers what was refused, with the error that says whether to try again."""
        refused = []
        handovers = {one["metadata"]["name"]: one for one in plan.handovers}
        for manifest in plan.applies:
            kind, name = manifest["kind"], manifest["metadata"]["name"]
            try:
                if kind == "Deployment" and name in handovers:
                    await self._client.apply(BY_KIND[kind], handovers[name], HANDOVER_MANAGER)
                await self._apply(manifest, live.get((kind, name)))
            except ApiError as error:
                refused.append((_failure(kind, name, error), error))
        for ref in () if refused else plan.deletes:
            try:
                await self._delete(ref, namespace)
            except ApiError as error:
                refused.append((_failure(ref.kind, ref.name, error), error))
        return refused

    async def _apply(self, manifest: Manifest, live: Object | None) -> None:
        if live is not None and (satisfied(live, manifest) or self._is_applied(live, manifest)):
            return
        resource = BY_KIND[manifest["kind"]]
        if live is None and not _is_amendment(manifest):
            await self._refuse_to_take_over(resource, manifest)
        written = await self._client.apply(resource, manifest)
        logger.info("applied %s %s", manifest["kind"], manifest["metadata"]["name"])
        self._store.put(manifest["kind"], written)
        if live is not None and _version(written) == _version(live):
            self._unchanged[written["metadata"]["uid"]] = _version(written)

    def _is_applied(self, live: Object, manifest: Manifest) -> bool:
        """Whether this very manifest was applied to this very object, and changed nothing.

        What users add is applied as they wrote it, and the API server may keep that in other words: 1000m is 1.
        """
        same = _digest(live) is not None and _digest(live) == _digest(manifest)
        return same and self._unchanged.get(live["metadata"]["uid"]) == _version(live)

    async def _refuse_to_take_over(self, resource: Resource, manifest: Manifest) -> None:
        """A forced apply would silently take over a namesake that somebody else made."""
        metadata = manifest["metadata"]
        found = await self._client.get_metadata(resource, metadata.get("namespace"), metadata["name"])
        if found is not None and not _is_ours(found, manifest):
            raise ApiError(
                412,
                "NotOwned",
                "an object of this name exists that kvtier did not make: rename or delete it, or label it "
                f"{LABEL_MANAGED_BY}=kvtier together with {LABEL_POOL} and {LABEL_POOL_NAMESPACE} to hand it over",
            )

    async def _delete(self, ref: Ref, namespace: str) -> None:
        resource = BY_KIND[ref.kind]
        await self._client.delete(resource, namespace if resource.namespaced else None, ref.name, ref.uid)
        logger.info("deleted %s %s", ref.kind, ref.name)


def satisfied(live: Any, wanted: Any) -> bool:
    """Whether every wanted field stands in `live`. What others added to maps and keyed lists is theirs.

    Sizes must be spelled as the API server spells them (`quantities.canonical`). A field that is no
    longer wanted shows in the digest annotation, which is itself a wanted field.
    """
    if isinstance(wanted, Mapping):
        return isinstance(live, Mapping) and all(
            k in live and satisfied(live[k], v) for k, v in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(live, list) and _list_satisfied(live, wanted)
    return bool(live == wanted)


def _list_satisfied(live: list[Any], wanted: list[Any]) -> bool:
    if not _is_keyed(wanted):
        return len(live) == len(wanted) and all(map(satisfied, live, wanted))
    # Some, not the: others may mount the same volume once more, under the same name.
    return all(any(satisfied(one, item) for one in live) for item in wanted)


def _is_keyed(items: list[Any]) -> bool:
    """Whether a field tells the items of a list of objects apart; else the list counts as one value."""
    if not items or not all(isinstance(item, Mapping) for item in items):
        return False
    return any(all(key in item for item in items) for key in _LIST_KEYS)


def _version(obj: Object) -> str:
    return str(obj["metadata"].get("resourceVersion", ""))


def _digest(obj: Object) -> str | None:
    """That of the manifest that kvtier applied."""
    digest: str | None = obj["metadata"].get("annotations", {}).get(ANNOTATION_APPLIED)
    return digest


def _is_amendment(manifest: Manifest) -> bool:
    """Whether it changes a field of somebody else's object, and does not make it."""
    return "labels" not in manifest["metadata"]


def _is_ours(found: Object, wanted: Manifest) -> bool:
    """Whether a live object is this pool's: by its labels, or, if they were edited, because kvtier applied it."""
    mine, theirs = wanted["metadata"], found["metadata"]
    labels, annotations = theirs.get("labels", {}), theirs.get("annotations", {})
    managers = theirs.get("managedFields", [])
    applied = any(m.get("manager") == FIELD_MANAGER and m.get("operation") == "Apply" for m in managers)
    for_us = annotations.get(ANNOTATION_POOL) in (None, mine["annotations"][ANNOTATION_POOL])
    return all(labels.get(key) == value for key, value in mine["labels"].items()) or (applied and for_us)


def _failure(kind: str, name: str, error: ApiError) -> Failure:
    reason = error.reason if error.reason.isalnum() and error.reason[:1].isalpha() else "ApplyFailed"
    return Failure(kind, name, reason, error.message)


class LustreCaller:
    """Starts operations, each request in a task of its own, and tells the reader what has become of it.

    A plan that is carried out again repeats no request: neither one under way, nor one that was answered,
    be it by a refusal. Another attempt takes another request id.
    """

    def __init__(self, reader: LustreReader, patience: float = PATIENCE_SECONDS) -> None:
        self._reader = reader
        self.patience = patience
        self._under_way: dict[str, asyncio.Task[None]] = {}

    async def carry_out(self, calls: Sequence[Call]) -> bool:
        """Whether any request was made now. Waits for their answers, but no longer than `patience` seconds."""
        made = [self._begin(call) for call in calls if self._wanted(call)]
        if made:
            await asyncio.wait(made, timeout=self.patience)
        return bool(made)

    def _wanted(self, call: Call) -> bool:
        if call.request in self._under_way:
            return False
        known = self._reader.operation(call.instance, call.request)
        return known is None or (not known.name and (not known.done or known.code in UNANSWERED))

    def _begin(self, call: Call) -> asyncio.Task[None]:
        self._reader.note(call.instance, call.request, Operation())
        task = asyncio.create_task(self._make(call))
        task.add_done_callback(lambda _: self._under_way.pop(call.request))
        self._under_way[call.request] = task
        return task

    async def _make(self, call: Call) -> None:
        try:
            started = await clients.start_operation(call.verb, call.instance, call.request, call.body)
        except GoogleError as error:
            logger.warning("%s %s: %s: %s", call.verb, call.instance, error.status, error)
            answer = Operation(done=True, code=error.status, message=str(error))
        else:
            logger.info("%s %s: %s", call.verb, call.instance, started.name)
            answer = Operation(started.name)
        self._reader.note(call.instance, call.request, answer)


_MESSAGE_MAX = 1024


async def record_event(client: KubeClient, pool: KVCachePool, event: PoolEvent, now: str) -> None:
    """Write one Event. Its name is made of its content, so that a repeat after a lost answer is the same Event.

    An Event that cannot be written is logged and given up: it must never hold up the pool.
    """
    name = derive(pool.name, pool.uid, event.reason, event.message, now, limit=63)
    manifest = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": pool.namespace},
        "involvedObject": {
            "apiVersion": f"{GROUP}/{VERSION}",
            "kind": KIND,
            "name": pool.name,
            "namespace": pool.namespace,
            "uid": pool.uid,
        },
        "type": event.type,
        "reason": event.reason,
        "message": event.message[:_MESSAGE_MAX],
        "source": {"component": "kvtier"},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
    try:
        await client.apply(EVENT, manifest)
    except ApiError as error:
        logger.warning("event %s of %s/%s not written: %s", event.reason, pool.namespace, pool.name, error)
