"""Google's messages about Managed Lustre as facts."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from kvtier.api.quantities import GIB
from kvtier.facts.model import Counters, Instance, Operation, Window
from kvtier.gcp import lustre
from kvtier.gcp.errors import camel, tidy

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
