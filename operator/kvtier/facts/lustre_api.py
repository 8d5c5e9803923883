"""Why the Lustre API does not tell about something, with the way out. The same failure always reads the same."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from math import inf
from types import MappingProxyType
from typing import Any

from kvtier.api.quantities import GIB
from kvtier.facts.model import ASKING, Counters, Instance, LustreFacts, Operation, Window
from kvtier.gcp import errors, lustre
from kvtier.gcp.errors import GoogleError, camel, tidy
from kvtier.gcp.lustre import ENDPOINT_VARIABLE

_ROLES = "roles/lustre.viewer, or roles/lustre.admin where kvtier makes instances or copies data"


def asking(name: str) -> str:
    """Before the first answer."""
    return f"{ASKING} about {name}"


def hint(name: str, error: GoogleError) -> str:
    """A sentence about the instance or operation of this full name; it may end up in a status."""
    match error:
        case errors.NoCredentialsError():
            return (
                f"the Lustre API cannot be asked about {name} ({error}): give kvtier's service account credentials "
                f"through Workload Identity, with {_ROLES}"
            )
        case errors.NoAnswerError():
            return (
                f"the Lustre API does not answer about {name} ({error}): let kvtier reach it (egress, DNS, proxy, "
                f"{ENDPOINT_VARIABLE}); it is asked again"
            )
        case errors.BadAnswerError():
            return _stranger(name, error)
    return _refusal(name, error)


def _refusal(name: str, error: GoogleError) -> str:
    match error.status:
        case "PermissionDenied":
            return (
                f"the Lustre API refuses to show {name} ({error}): grant {_ROLES} in project {name.split('/')[1]} to "
                "kvtier's service account (Workload Identity), and enable lustre.googleapis.com there"
            )
        case "InvalidArgument":
            return f"the Lustre API does not take {name} ({error}): correct spec.tiers.lustre"
        case "ResourceExhausted":
            return f"the Lustre API has no quota left for questions about {name} ({error}): raise it; it is asked again"
        case "Unimplemented":
            return _stranger(name, error)
    return f"the Lustre API answered {error.code} about {name} ({error}): nothing to do, it is asked again"


def _stranger(name: str, error: GoogleError) -> str:
    return (
        f"what answers about {name} is not the Lustre API ({error}): check proxies and {ENDPOINT_VARIABLE}; "
        "it is asked again"
    )


_MOST_PROBLEMS = 3


def instance(message: Any, name: str) -> Instance:
    """A `lustre_v1.Instance` that was asked for by this full name."""
    raw = type(message).pb(message)
    dynamic = raw.dynamic_tier_options.mode == message.dynamic_tier_options.Mode.DEFAULT_CACHE
    return Instance(
        name=name,
        state=_state(message, raw.state),
        capacity=raw.capacity_gib * GIB,
        throughput=0 if dynamic else raw.per_unit_storage_throughput,
        filesystem=raw.filesystem,
        network=raw.network,
        address=raw.mount_point.partition("@")[0],
        reason=tidy(raw.state_reason),
        created=_time(raw, "create_time"),
        labels=dict(raw.labels),
        legacy_port=raw.gke_support_enabled,
        window=_window(raw),
        kms_key=raw.kms_key,
    )


def operation(message: Any, name: str) -> Operation:
    """A `longrunning.Operation` of this full name."""
    failed = message.done and message.HasField("error") and message.error.code
    transfer = lustre.transfer(message)
    return Operation(
        name=name,
        done=message.done,
        code=_code(message.error.code) if failed else "",
        message=tidy(message.error.message) if failed else "",
        counters=None if transfer is None else _counters(transfer.counters),
        problems=() if transfer is None else _problems(transfer),
    )


def _state(message: Any, number: int) -> str:
    """Its name; the number of one that is newer than the client."""
    known = {int(state): str(state.name) for state in type(message).State}
    return known.get(number, str(number))


def _time(raw: Any, field: str) -> str:
    """RFC 3339 in UTC, empty where there is none."""
    return str(getattr(raw, field).ToJsonString()) if raw.HasField(field) else ""


def _window(raw: Any) -> Window | None:
    schedule = raw.upcoming_maintenance_schedule
    start = _time(schedule, "start_time")
    return Window(start, _time(schedule, "end_time")) if start else None


def _counters(raw: Any) -> Counters:
    return Counters(
        found=raw.found_objects_count,
        copied=raw.objects_copied_count,
        skipped=raw.objects_skipped_count,
        failed=raw.objects_failed_count,
        bytes_found=raw.bytes_found_count,
        bytes_copied=raw.bytes_copied_count,
        bytes_skipped=raw.bytes_skipped_count,
        bytes_failed=raw.bytes_failed_count,
    )


def _problems(transfer: Any) -> tuple[str, ...]:
    """The first errors, as `URI: details`; of those without samples, how many there were."""
    problems = (tidy(one) for summary in transfer.error_summaries for one in _samples(summary))
    return tuple(islice(problems, _MOST_PROBLEMS))


def _samples(summary: Any) -> Iterator[str]:
    for entry in summary.error_log_entries:
        yield f"{entry.uri}: {'; '.join(entry.error_details) or _code(summary.error_code)}"
    if not summary.error_log_entries:
        yield f"{summary.error_count} objects: {_code(summary.error_code)}"


def _code(number: int) -> str:
    from google.rpc.code_pb2 import Code

    return camel(Code.Name(number)) if number in Code.values() else "Unknown"


FRESH_SECONDS = 240.0
_SOON_SECONDS = 15.0
_TRUSTED_SECONDS = 3600.0
_KEPT_SECONDS = 3600.0
_MOST_OPERATIONS = 32
"""Of operations that are over; the API forgets request ids after an hour as well."""


@dataclass
class _Kept:
    """`wanted` is when somebody has last asked for it."""

    operation: Operation
    wanted: float


class Memory:
    """Times are in seconds of any clock. `changes` counts what makes an answer that is under way outdated.

    What is published together was true together, with the instance asked for last: an operation is over only
    once the instance has been seen after it. Else a growth, say, would look undone, and be repeated.
    """

    def __init__(self, instance: str, fresh_seconds: float = FRESH_SECONDS) -> None:
        self._fresh_seconds = fresh_seconds
        self.changes = 0
        self.failure: str | None = None
        self._instance: Instance | None = None
        self._error: str | None = asking(instance)
        self._asked = self._seen = -inf
        self._operations: dict[str, _Kept] = {}

    def facts(self) -> LustreFacts:
        operations = {request: kept.operation for request, kept in self._operations.items()}
        return LustreFacts(self._instance, self._error, operations)

    def due(self, now: float) -> bool:
        """Whether the API should be asked: every 15 s while anything moves or fails, else seldom."""
        soon = min(_SOON_SECONDS, self._fresh_seconds)
        return now >= self._asked + (self._fresh_seconds if self._settled() else soon)

    def outdate(self) -> None:
        """Have the API asked at once."""
        self.changes += 1
        self._asked = -inf

    def expect(self, operations: Mapping[str, str], now: float) -> None:
        """Somebody wants to know these: names by request id, empty for a name that is not known."""
        for request, name in operations.items():
            kept = self._operations.get(request)
            if kept:
                kept.wanted = now
            if name and (kept is None or kept.operation.name != name):
                self._operations[request] = _Kept(Operation(name), now)
                self.outdate()

    def note(self, request: str, operation: Operation, now: float) -> None:
        """A request's own answer; a bare Operation while there is none yet."""
        running = replace(operation, done=False) if operation.name else operation
        self._operations[request] = _Kept(running, now)
        if operation != Operation():
            self.outdate()

    def operation(self, request: str, now: float) -> Operation | None:
        kept = self._operations.get(request)
        if kept:
            kept.wanted = now
        return kept.operation if kept else None

    def unfinished(self) -> dict[str, str]:
        """Names by request id of the operations to ask about."""
        kept = {request: one.operation for request, one in self._operations.items()}
        return {request: one.name for request, one in kept.items() if one.name and not one.done}

    def answered(self, instance: Instance | None, polled: Mapping[str, Operation], now: float) -> None:
        """The instance, None if there is none, and after what its operations have been found."""
        self._instance, self._error, self.failure = instance, None, None
        self._asked = self._seen = now
        self._update(polled)
        self._forget(now)

    def failed(self, hint: str, polled: Mapping[str, Operation], now: float, *, final: bool) -> None:
        """No answer about the instance. `final` says that it has nothing to do with the moment.

        That an instance exists stands for an hour then. That it does not never stands: what is made, and what is
        given up, hinges on that.
        """
        self.failure, self._asked = hint, now
        if self._instance and not final and now < self._seen + _TRUSTED_SECONDS:
            self._update({request: one for request, one in polled.items() if not one.done})
            return
        self._instance, self._error = None, hint
        self._update(polled)
        self._forget(now)

    def _settled(self) -> bool:
        moving = any(not kept.operation.done for kept in self._operations.values())
        active = self._instance is not None and self._instance.state == "ACTIVE"
        return active and self.failure is None and not moving

    def _update(self, polled: Mapping[str, Operation]) -> None:
        for request, operation in polled.items():
            kept = self._operations.get(request)
            if kept and kept.operation.name == operation.name:
                kept.operation = operation

    def _forget(self, now: float) -> None:
        """Let go what nobody has asked for in an hour, and of what is over all but the latest."""
        wanted = {
            request: kept for request, kept in self._operations.items() if now < kept.wanted + _KEPT_SECONDS
        }
        over = sorted((kept.wanted, request) for request, kept in wanted.items() if kept.operation.done)
        for _, request in over[:-_MOST_OPERATIONS]:
            del wanted[request]
        self._operations = wanted


logger = logging.getLogger(__name__)

_PATIENCE_SECONDS = 2.0
_NONE: Mapping[str, str] = MappingProxyType({})

_FINAL = ("InvalidArgument", "PermissionDenied")
"""Answers about this very resource; everything else may have to do with the moment."""


class LustreReader:
    """Facts of instances, by full name: projects/P/locations/ZONE/instances/ID.

    An answer that takes longer than `patience` seconds is left to the next reader, the first one too. How
    long an answer stands, and what an outage does to it, is for `Memory` to say.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        patience: float = _PATIENCE_SECONDS,
        fresh_seconds: float = FRESH_SECONDS,
    ) -> None:
        self._clock = clock
        self._fresh_seconds = fresh_seconds
        self.patience = patience
        self._memories: dict[str, Memory] = {}
        self._asking: dict[str, asyncio.Task[None]] = {}

    async def read(self, instance: str | None, operations: Mapping[str, str] = _NONE) -> LustreFacts | None:
        """Facts of the instance, None without one. `operations` are the names to look at, by request id."""
        if instance is None:
            return None
        memory = self._expecting(instance, operations)
        if memory.due(self._clock()):
            await asyncio.wait({self._question(instance)}, timeout=self.patience)
        return memory.facts()

    async def ask(self, instance: str | None, operations: Mapping[str, str] = _NONE) -> LustreFacts | None:
        """The same, for commands: waits for the answer, at most 15 s (30 s, if there are operations)."""
        if instance is None:
            return None
        memory = self._expecting(instance, operations)
        if memory.due(self._clock()):
            await asyncio.shield(self._question(instance))
        return memory.facts()

    def note(self, instance: str, request: str, operation: Operation) -> None:
        """What has become of a request; the instance is asked for anew. A bare Operation is under way."""
        self._memory(instance).note(request, operation, self._clock())

    def noted(self, instance: str, request: str) -> Operation | None:
        """The operation of a request id, as far as it is known here."""
        return self._memory(instance).operation(request, self._clock())

    def forget(self, instance: str) -> None:
        """The next reader asks anew."""
        self._memory(instance).outdate()

    def _memory(self, instance: str) -> Memory:
        return self._memories.setdefault(instance, Memory(instance, self._fresh_seconds))

    def _expecting(self, instance: str, operations: Mapping[str, str]) -> Memory:
        memory = self._memory(instance)
        memory.expect(operations, self._clock())
        return memory

    def _question(self, instance: str) -> asyncio.Task[None]:
        """The question under way, or a new one. It is nobody's own, so that a cancelled reader ends only itself."""
        if instance not in self._asking:
            task = asyncio.create_task(self._refresh(instance))
            task.add_done_callback(lambda done: self._answered(instance, done))
            self._asking[instance] = task
        return self._asking[instance]

    def _answered(self, instance: str, task: asyncio.Task[None]) -> None:
        del self._asking[instance]
        if not task.cancelled() and (error := task.exception()):
            logger.error("%s: unexpected error", instance, exc_info=error)

    async def _refresh(self, instance: str) -> None:
        """Operations, then the instance; once more if anything has happened meanwhile."""
        memory, changes = self._memory(instance), -1
        while changes != memory.changes:
            changes = memory.changes
            polled = await self._poll(memory.unfinished())
            try:
                found = await _instance(instance)
            except GoogleError as error:
                self._failed(instance, error, polled)
            else:
                memory.answered(found, polled, self._clock())

    def _failed(self, instance: str, error: GoogleError, polled: Mapping[str, Operation]) -> None:
        memory, sentence = self._memory(instance), hint(instance, error)
        if sentence != memory.failure:
            logger.warning("%s", sentence)
        memory.failed(sentence, polled, self._clock(), final=error.status in _FINAL)

    async def _poll(self, names: Mapping[str, str]) -> dict[str, Operation]:
        """Operations by request id, without those of which nothing can be told now."""
        found = await asyncio.gather(*(_operation(name) for name in names.values()))
        return {request: one for request, one in zip(names, found, strict=True) if one}


async def _instance(name: str) -> Instance | None:
    """None if there is none. GoogleError if that cannot be told."""
    try:
        return instance(await lustre.get_instance(name), name)
    except GoogleError as error:
        if error.status == "NotFound":
            return None
        raise


async def _operation(name: str) -> Operation | None:
    try:
        return operation(await lustre.get_operation(name), name)
    except GoogleError as error:
        if error.status == "NotFound":
            return Operation(name, done=True, code="NotFound", message=str(error))
        if error.status == "PermissionDenied":
            return Operation(name, message=hint(name, error))
        return None
