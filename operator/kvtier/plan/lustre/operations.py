"""The next operation to request from the Lustre API: each once, and again after a failure."""

import hashlib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kvtier.api.times import elapsed
from kvtier.api.v1alpha1 import OperationStatus
from kvtier.facts.operations import Kind, Operations, updated
from kvtier.pace import Pace
from kvtier.plan.model import Call, Part

BUSY = ("Aborted", "FailedPrecondition")
"""Codes that mean: another operation on the instance is in progress. An early retry is cheap."""

UNANSWERED = (
    "DeadlineExceeded",
    "Internal",
    "Unauthenticated",
    "Unavailable",
    "Unimplemented",
    "Unknown",
)
"""Codes of a request that the API may still have carried out. It is repeated with the same request id."""

_VERBS: dict[Kind, Any] = {
    "Create": "create",
    "Update": "update",
    "Import": "import",
    "Export": "export",
    "Delete": "delete",
}


@dataclass(frozen=True)
class DesiredOperation:
    """An operation that should be done once. `subject` distinguishes it from others of its kind."""

    kind: Kind
    subject: str
    instance: str
    body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Followed:
    """The last operation of a kind, the request to send now, and seconds until the next reconciliation."""

    status: OperationStatus | None = None
    call: Call | None = None
    again: float | None = None

    @property
    def calls(self) -> tuple[Call, ...]:
        return (self.call,) if self.call else ()

    @property
    def operations(self) -> tuple[OperationStatus, ...]:
        return (self.status,) if self.status else ()


def follow(operations: Operations, kind: Kind, desired: DesiredOperation | None) -> Followed:
    """The last operation of a kind as it is now, and the next request, if one is due.

    Case 1: an operation runs -> follow it.
    Case 2: its request was lost -> repeat it if it is still desired, else drop it: the instance shows its result.
    Case 3: nothing is desired, or the desired operation succeeded -> report the last one.
    Case 4: the desired operation failed -> retry after a back-off, as the next attempt.
    Case 5: the desired operation is new -> request it.
    """
    last = operations.last(kind)
    same = last is not None and desired is not None and last.subject == desired.subject
    if last and operations.lost(last):
        if desired is None:
            return Followed()
        return _request(desired, last, operations.pace) if same else _first(operations, desired, last)
    if last and last.state == "Running":
        return Followed(last, None, operations.pace.moving)
    if desired is None or (last and same and last.state == "Succeeded"):
        return Followed(last)
    return _retry(operations, desired, last) if last and same else _first(operations, desired, last)


def part(*followed: Followed) -> Part:
    """The requests of these operations, and their records for the status."""
    return Part(
        calls=tuple(call for one in followed for call in one.calls),
        operations=tuple(operation for one in followed for operation in one.operations),
    )


def retry_after(failed: OperationStatus, now: str, pace: Pace) -> float:
    """Seconds until a failed operation is retried. They double with each attempt, up to `pace.last_retry`."""
    delay = min(pace.first_retry * float(2 ** min(failed.attempt - 1, 10)), pace.last_retry)
    if failed.code in BUSY:
        delay = pace.first_retry
    since = elapsed(failed.progress_time or failed.start_time, now)
    # A failure further in the future than the delay was recorded before the clock was set back.
    return delay - since if since > -delay else 0.0


def _first(operations: Operations, desired: DesiredOperation, before: OperationStatus | None) -> Followed:
    return _ask(operations, desired, 1, _request_id(operations.pool_uid, desired, 1, before))


def _retry(operations: Operations, desired: DesiredOperation, failed: OperationStatus) -> Followed:
    wait, attempt = retry_after(failed, operations.now, operations.pace), failed.attempt + 1
    if wait > 0:
        return Followed(failed, None, wait)
    if failed.name or failed.code not in UNANSWERED:
        request = _request_id(operations.pool_uid, desired, attempt, failed)
        return _ask(operations, desired, attempt, request)
    answer = operations.answers.get(failed.request_id)
    if answer and answer.done and not answer.name:
        # This response is the failure that the status already has.
        again = _begun(desired, attempt, failed.request_id, operations.now)
        return _request(desired, again, operations.pace)
    return _ask(operations, desired, attempt, failed.request_id)


def _ask(operations: Operations, desired: DesiredOperation, attempt: int, request: str) -> Followed:
    """Request an operation, unless an earlier process already did but could not write the status."""
    asked, answer = _begun(desired, attempt, request, operations.now), operations.answers.get(request)
    if answer is None:
        return _request(desired, asked, operations.pace)
    return Followed(updated(asked, answer, operations.now), None, operations.pace.moving)


def _begun(desired: DesiredOperation, attempt: int, request: str, now: str) -> OperationStatus:
    return OperationStatus(
        kind=desired.kind,
        subject=desired.subject,
        state="Running",
        attempt=attempt,
        request_id=request,
        start_time=now,
        progress_time=now,
    )


def _request(desired: DesiredOperation, begun: OperationStatus, pace: Pace) -> Followed:
    call = Call(_VERBS[desired.kind], desired.instance, begun.request_id, desired.body)
    return Followed(begun, call, pace.moving)


def _request_id(
    pool_uid: str, desired: DesiredOperation, attempt: int, before: OperationStatus | None
) -> str:
    """The request id, equal for the same attempt, so that a restarted process repeats the same request.

    It depends on the operation before, so that the same operation, requested again later, is another request.
    """
    text = f"{pool_uid}/{desired.instance}/{desired.kind}/{desired.subject}/{attempt}"
    if before:
        text += f"/{before.request_id}"
    # The API requires a UUID of version 4.
    return str(uuid.UUID(bytes=hashlib.sha256(text.encode()).digest()[:16], version=4))
