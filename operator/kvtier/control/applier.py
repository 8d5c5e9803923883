"""Carries out a plan: writes to the API server and to the Lustre API."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from kvtier.api.kinds import EVENT, Key, Object, Resource
from kvtier.api.names import ANNOTATION_APPLIED, ANNOTATION_POOL, FIELD_MANAGER, HANDOVER_MANAGER, derive
from kvtier.api.sentences import printable, sentences
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
"""Fields that identify the items of Kubernetes lists."""


class Applier:
    """Carries a plan out on the API server.

    A refused apply does not stop the others; every refusal is returned as a Failure. Objects are deleted only if every
    apply succeeded, because a deletion may depend on an apply and cannot be undone.
    """

    def __init__(self, client: KubeClient, store: Store) -> None:
        self._client = client
        self._store = store

    async def carry_out(
        self, plan: Plan, namespace: str, live: Mapping[Key, Object]
    ) -> list[tuple[Failure, ApiError]]:
        """Apply, then delete. Return each refusal with its error, which says when to retry."""
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
        logger.info("Applied %s %s", manifest["kind"], manifest["metadata"]["name"])
        self._store.put(manifest["kind"], written)
        if live is not None and _version(written) == _version(live):
            self._store.note_unchanged(manifest["kind"], written)

    def _is_applied(self, live: Object, manifest: Manifest) -> bool:
        """Whether this manifest was already applied to this object and changed nothing.

        Additions of users are applied as written. The API server may store them in another form: 1000m as 1.
        """
        same = _digest(live) is not None and _digest(live) == _digest(manifest)
        return same and self._store.is_unchanged(manifest["kind"], live)

    async def _refuse_to_take_over(self, resource: Resource, manifest: Manifest) -> None:
        """Refuse if an object with this name exists that kvtier did not create: a forced apply would take it over."""
        metadata = manifest["metadata"]
        found = await self._client.get_metadata(resource, metadata.get("namespace"), metadata["name"])
        if found is not None and not _is_ours(found, manifest):
            raise ApiError(412, "NotOwned", _not_owned(resource, manifest))

    async def _delete(self, ref: Ref, namespace: str) -> None:
        resource = BY_KIND[ref.kind]
        await self._client.delete(resource, namespace if resource.namespaced else None, ref.name, ref.uid)
        logger.info("Deleted %s %s", ref.kind, ref.name)


def satisfied(live: Any, wanted: Any) -> bool:
    """Whether `live` has every wanted field with its value. Additions of others to maps and keyed lists do not count.

    Sizes must be in the form of the API server (`quantities.canonical`). A field that is no longer wanted changes the
    digest annotation, which is a wanted field too.
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
    # Any item of the same keys may match: others may mount the same volume again, under the same name.
    keys = [key for key in _LIST_KEYS if all(isinstance(item.get(key), str) for item in wanted)]
    known: defaultdict[tuple[str, ...], list[Any]] = defaultdict(list)
    for one in live:
        if isinstance(one, Mapping):
            known[_named(one, keys)].append(one)
    return all(any(satisfied(one, item) for one in known[_named(item, keys)]) for item in wanted)


def _named(item: Mapping[str, Any], keys: Sequence[str]) -> tuple[str, ...]:
    """What identifies an item of a list. Without it, the comparison of long lists would take minutes."""
    return tuple(str(item.get(key)) for key in keys)


def _is_keyed(items: list[Any]) -> bool:
    """Whether a field identifies the items of a list of objects. If not, the list counts as one value."""
    if not items or not all(isinstance(item, Mapping) for item in items):
        return False
    return any(all(key in item for item in items) for key in _LIST_KEYS)


def _version(obj: Object) -> str:
    return str(obj["metadata"].get("resourceVersion", ""))


def _digest(obj: Object) -> str | None:
    """The digest of the manifest that kvtier applied."""
    digest: str | None = obj["metadata"].get("annotations", {}).get(ANNOTATION_APPLIED)
    return digest


def _is_amendment(manifest: Manifest) -> bool:
    """Whether the manifest only changes a field of an object that kvtier did not create."""
    return "labels" not in manifest["metadata"]


def _is_ours(found: Object, wanted: Manifest) -> bool:
    """Whether a live object belongs to this pool: by its labels or, if they were edited, because kvtier applied it."""
    mine, theirs = wanted["metadata"], found["metadata"]
    labels, annotations = theirs.get("labels", {}), theirs.get("annotations", {})
    managers = theirs.get("managedFields", [])
    applied = any(m.get("manager") == FIELD_MANAGER and m.get("operation") == "Apply" for m in managers)
    for_us = annotations.get(ANNOTATION_POOL) in (None, mine["annotations"][ANNOTATION_POOL])
    return all(labels.get(key) == value for key, value in mine["labels"].items()) or (applied and for_us)


def _not_owned(resource: Resource, manifest: Manifest) -> str:
    metadata = manifest["metadata"]
    namespace = f"-n {metadata['namespace']} " if resource.namespaced else ""
    labels = " ".join(f"{key}={value}" for key, value in metadata["labels"].items())
    return sentences(
        "An object of this name exists that kvtier did not create",
        f"Delete it, or let kvtier manage it: kubectl {namespace}label --overwrite {resource.plural} "
        f"{metadata['name']} {labels}",
    )


def _failure(kind: str, name: str, error: ApiError) -> Failure:
    reason = error.reason if error.reason.isalnum() and error.reason[:1].isalpha() else "ApplyFailed"
    return Failure(kind, name, reason, error.message)


class LustreCaller:
    """Starts operations, each request in its own task, and reports the outcome to the reader.

    A plan that is carried out again repeats no request that is in progress or was answered, even with a refusal. A new
    attempt has a new request ID.
    """

    def __init__(self, reader: LustreReader, patience: float = PATIENCE_SECONDS) -> None:
        self._reader = reader
        self.patience = patience
        self._in_progress: dict[str, asyncio.Task[None]] = {}

    async def carry_out(self, calls: Sequence[Call]) -> bool:
        """Return whether any request was sent now. Wait for the answers, but at most `patience` seconds."""
        made = [self._begin(call) for call in calls if self._wanted(call)]
        if made:
            await asyncio.wait(made, timeout=self.patience)
        return bool(made)

    def _wanted(self, call: Call) -> bool:
        if call.request in self._in_progress:
            return False
        known = self._reader.operation(call.instance, call.request)
        return known is None or (not known.name and (not known.done or known.code in UNANSWERED))

    def _begin(self, call: Call) -> asyncio.Task[None]:
        self._reader.note(call.instance, call.request, Operation())
        task = asyncio.create_task(self._make(call))
        task.add_done_callback(lambda _: self._in_progress.pop(call.request))
        self._in_progress[call.request] = task
        return task

    async def _make(self, call: Call) -> None:
        try:
            started = await clients.start_operation(call.verb, call.instance, call.request, call.body)
        except GoogleError as error:
            logger.warning("Request %s %s failed: %s: %s", call.verb, call.instance, error.status, error)
            answer = Operation(done=True, code=error.status, message=str(error))
        else:
            logger.info("Request %s %s started operation %s", call.verb, call.instance, started.name)
            answer = Operation(started.name)
        self._reader.note(call.instance, call.request, answer)


_MESSAGE_MAX = 1024


async def record_event(client: KubeClient, pool: KVCachePool, event: PoolEvent, now: str) -> None:
    """Write one Event about a pool, see `write_event`."""
    about = {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": KIND,
        "name": pool.name,
        "namespace": pool.namespace,
        "uid": pool.uid,
    }
    await write_event(client, about, event, now)


async def write_event(client: KubeClient, about: Mapping[str, str], event: PoolEvent, now: str) -> None:
    """Write one Event. Its name is derived from its content, so that a repeat after a lost answer is the same Event.

    `about`: the reference to its object. A failure is logged and not retried: an Event must never delay the pool.
    """
    message = printable(event.message)[:_MESSAGE_MAX]
    name = derive(about["name"], about["uid"], event.reason, message, now, limit=63)
    manifest = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": about["namespace"]},
        "involvedObject": dict(about),
        "type": event.type,
        "reason": event.reason,
        "message": message,
        "source": {"component": "kvtier"},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
    try:
        await client.apply(EVENT, manifest)
    except ApiError as error:
        logger.warning(
            "Could not write Event %s of %s/%s: %s", event.reason, about["namespace"], about["name"], error
        )
