"""Facts of instances and their operations from the Lustre API, cached for a few minutes."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from math import inf
from types import MappingProxyType
from typing import Any

from kvtier.api.quantities import GIB
from kvtier.api.sentences import sentences
from kvtier.facts.asking import PATIENCE_SECONDS, Answer, Recent, SingleFlight
from kvtier.facts.model import Counters, Instance, LustreFacts, Operation, Window
from kvtier.gcp import clients, errors
from kvtier.gcp.clients import LUSTRE_ENDPOINT
from kvtier.gcp.errors import GoogleError, camel, tidy
from kvtier.pace import DEFAULT, Pace

_NONE: Mapping[str, str] = MappingProxyType({})

_FINAL = ("InvalidArgument", "PermissionDenied")
"""Status codes that are about this resource. All others may be temporary."""


class LustreReader:
    """Facts of instances, by full name: projects/P/locations/ZONE/instances/ID.

    A read waits at most `patience` seconds; the next read then uses the response. With None it waits until the API
    responds: at most 15 s, or 30 s if there are operations.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        patience: float | None = PATIENCE_SECONDS,
        pace: Pace = DEFAULT,
    ) -> None:
        self._clock = clock
        self._pace = pace
        self.patience = patience
        self._caches: Recent[str, InstanceCache] = Recent(lambda name: InstanceCache(name, pace), clock)
        self._requests = SingleFlight(self._request)

    async def read(self, instance: str | None, operations: Mapping[str, str] = _NONE) -> LustreFacts | None:
        """Facts of the instance, None for None. `operations`: names of the operations to read, by request id."""
        if instance is None:
            return None
        cache = self._cache(instance)
        cache.follow(operations, self._clock())
        if cache.due(self._clock()):
            await self._requests.join(instance, self.patience)
        return cache.facts()

    def note(self, instance: str, request: str, operation: Operation) -> None:
        """Record the result of a request to start an operation. An empty Operation means that it is in progress.

        After a result, the instance is read again.
        """
        self._cache(instance).note(request, operation, self._clock())

    def operation(self, instance: str, request: str) -> Operation | None:
        """The operation of a request id, None if unknown."""
        return self._cache(instance).operation(request, self._clock())

    def _cache(self, instance: str) -> "InstanceCache":
        return self._caches.get(instance)

    async def _request(self, instance: str) -> None:
        """Read operations, then the instance. Repeat if an operation was recorded meanwhile."""
        cache, changes = self._cache(instance), -1
        while changes != cache.changes:
            changes = cache.changes
            polled = await _poll(cache.unfinished())
            try:
                found = await _get_instance(instance)
            except GoogleError as error:
                cache.fail(_hint(instance, error), polled, self._clock(), final=error.status in _FINAL)
            else:
                cache.succeed(found, polled, self._clock())


_KEPT_SECONDS = 3600.0
_MOST_OPERATIONS = 32
"""Most finished operations that are kept. The API also forgets request ids after an hour."""


@dataclass
class _Followed:
    """An operation, and when a caller last asked for it (`wanted`)."""

    operation: Operation
    wanted: float


class InstanceCache:
    """The last answers of the Lustre API about one instance and its operations (by request id).

    `facts` are consistent, because the instance is read last: an operation is reported as done only after the instance
    was read again. Otherwise a finished resize would look as if it had no effect, and kvtier would repeat it.

    Times are in seconds of any clock. `changes` counts the events that make a request in progress outdated.
    """

    def __init__(self, name: str, pace: Pace = DEFAULT) -> None:
        self._pace = pace
        self._answer: Answer[Instance] = Answer(f"The Lustre API has not returned {name} yet.")
        self._operations: dict[str, _Followed] = {}
        self.changes = 0

    def facts(self) -> LustreFacts:
        operations = {request: one.operation for request, one in self._operations.items()}
        return LustreFacts(self._answer.value, self._answer.error, operations, self._answer.pending)

    def due(self, now: float) -> bool:
        """Whether a new request is due: every 15 s while an operation runs or a request fails, else rarely."""
        return now >= self._answer.asked + (self._pace.fresh if self._is_settled() else self._pace.moving)

    def follow(self, operations: Mapping[str, str], now: float) -> None:
        """Follow these operations: names by request id, an empty name if unknown."""
        for request, name in operations.items():
            known = self.operation(request, now)
            if name and (known is None or known.name != name):
                self._operations[request] = _Followed(Operation(name), now)
                self._outdate()

    def note(self, request: str, operation: Operation, now: float) -> None:
        """Record the response to a request; an empty Operation while there is none."""
        running = replace(operation, done=False) if operation.name else operation
        self._operations[request] = _Followed(running, now)
        if operation != Operation():
            self._outdate()

    def operation(self, request: str, now: float) -> Operation | None:
        """The operation of a request id. Keeps it for another hour."""
        followed = self._operations.get(request)
        if followed is None:
            return None
        followed.wanted = now
        return followed.operation

    def unfinished(self) -> dict[str, str]:
        """Names of the unfinished operations, by request id."""
        operations = {request: one.operation for request, one in self._operations.items()}
        return {request: one.name for request, one in operations.items() if one.name and not one.done}

    def succeed(self, instance: Instance | None, polled: Mapping[str, Operation], now: float) -> None:
        """Record the instance (None: does not exist), and its operations, which were read just before."""
        self._answer.succeed(instance, now)
        self._update(polled)
        self._drop(now)

    def fail(self, failure: str, polled: Mapping[str, Operation], now: float, *, final: bool) -> None:
        """Record a failure. While an earlier answer about the instance is valid, no operation becomes done."""
        self._answer.fail(failure, now, final=final)
        if self._answer.value:
            self._update({request: one for request, one in polled.items() if not one.done})
        else:
            self._update(polled)
            self._drop(now)

    def _is_settled(self) -> bool:
        moving = any(not one.operation.done for one in self._operations.values())
        active = self._answer.value is not None and self._answer.value.state == "ACTIVE"
        return active and self._answer.failure is None and not moving

    def _outdate(self) -> None:
        """Make a request due now."""
        self.changes += 1
        self._answer.asked = -inf

    def _update(self, polled: Mapping[str, Operation]) -> None:
        for request, operation in polled.items():
            followed = self._operations.get(request)
            if followed and followed.operation.name == operation.name:
                followed.operation = operation

    def _drop(self, now: float) -> None:
        """Drop operations that no caller asked for in an hour, and all but the latest finished ones."""
        wanted = {
            request: one for request, one in self._operations.items() if now < one.wanted + _KEPT_SECONDS
        }
        over = sorted((one.wanted, request) for request, one in wanted.items() if one.operation.done)
        for _, request in over[:-_MOST_OPERATIONS]:
            del wanted[request]
        self._operations = wanted


async def _get_instance(name: str) -> Instance | None:
    """None if the instance does not exist. GoogleError if that is unknown."""
    try:
        return instance_from(await clients.get_instance(name), name)
    except GoogleError as error:
        if error.status == "NotFound":
            return None
        raise


async def _poll(names: Mapping[str, str]) -> dict[str, Operation]:
    """Operations by request id, without those that could not be read."""
    found = await asyncio.gather(*(_get_operation(name) for name in names.values()))
    return {request: one for request, one in zip(names, found, strict=True) if one}


async def _get_operation(name: str) -> Operation | None:
    try:
        return operation_from(await clients.get_operation(name), name)
    except GoogleError as error:
        if error.status == "NotFound":
            return Operation(name, done=True, code="NotFound", message=str(error))
        if error.status == "PermissionDenied":
            return Operation(name, message=_hint(name, error))
        return None


_MOST_PROBLEMS = 3


def instance_from(message: Any, name: str) -> Instance:
    """The facts of a `lustre_v1.Instance` with this full name."""
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


def operation_from(message: Any, name: str) -> Operation:
    """The facts of a `longrunning.Operation` with this full name."""
    failed = message.done and message.HasField("error") and message.error.code
    transfer = clients.transfer(message)
    return Operation(
        name=name,
        done=message.done,
        code=_code(message.error.code) if failed else "",
        message=tidy(message.error.message) if failed else "",
        counters=None if transfer is None else _counters(transfer.counters),
        problems=() if transfer is None else _problems(transfer),
    )


def _state(message: Any, number: int) -> str:
    """The name of a state, or its number if the client does not know it yet."""
    known = {int(state): str(state.name) for state in type(message).State}
    return known.get(number, str(number))


def _time(raw: Any, field: str) -> str:
    """RFC 3339 in UTC, empty if not set."""
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
    )


def _problems(transfer: Any) -> tuple[str, ...]:
    """The first errors, as `URI: details`. Without samples, the number of objects and the code."""
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


_ROLES = "roles/lustre.viewer, or roles/lustre.admin where kvtier creates instances or copies data"


def _hint(name: str, error: GoogleError) -> str:
    """What failed for the instance or operation of this full name, and what to do. It may be part of a status."""
    match error:
        case errors.NoCredentialsError():
            return sentences(
                f"No valid credentials to read {name} from the Lustre API: {error}",
                f"Give kvtier's service account {_ROLES}, through Workload Identity",
            )
        case errors.NoAnswerError():
            return sentences(
                f"The Lustre API did not respond to a request for {name}: {error}",
                f"Check egress, DNS, proxies and {LUSTRE_ENDPOINT}. kvtier retries",
            )
        case errors.BadAnswerError():
            return _not_the_api(name, error)
    return _refusal(name, error)


def _refusal(name: str, error: GoogleError) -> str:
    match error.status:
        case "PermissionDenied":
            return sentences(
                f"The Lustre API denied access to {name}: {error}",
                f"In project {name.split('/')[1]}, enable lustre.googleapis.com, and grant kvtier's service account "
                f"(Workload Identity) {_ROLES}",
            )
        case "InvalidArgument":
            return sentences(
                f"The Lustre API refused the name {name}: {error}",
                "Recreate the pool with correct values in spec.tiers.lustre",
            )
        case "ResourceExhausted":
            return sentences(
                f"The Lustre API quota was exceeded while reading {name}: {error}",
                "kvtier retries. If this persists, request more quota",
            )
        case "Unimplemented":
            return _not_the_api(name, error)
    return sentences(
        f"The Lustre API returned {error.code} for {name}: {error}",
        "No action needed; kvtier retries",
    )


def _not_the_api(name: str, error: GoogleError) -> str:
    return sentences(
        f"The endpoint returned a response about {name} that is not from the Lustre API: {error}",
        f"Check proxies and {LUSTRE_ENDPOINT}. kvtier retries",
    )
