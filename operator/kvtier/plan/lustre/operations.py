"""How an operation of the Lustre API stands, after what was seen of it."""

import hashlib
import math
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from kvtier.api.v1alpha1 import KVCachePool, OperationStatus, TransferStatus
from kvtier.facts.model import Counters, Facts, Operation
from kvtier.plan.model import Call

_LONGEST = 1000
"""Characters of a message; the status takes 1024."""


def updated(known: OperationStatus, seen: Operation | None, now: str) -> OperationStatus:
    """What is known, with what was seen; the time of progress moves only with progress."""
    if seen is None:
        return known
    fresh: dict[str, Any] = {"name": seen.name or known.name, "state": _state(seen)}
    if seen.counters:
        fresh["transfer"] = _transfer(seen.counters)
    if fresh["state"] == "Failed":
        fresh["code"] = seen.code or "ObjectsFailed"
        fresh["message"] = (
            "; ".join(text for text in (seen.message, *seen.problems) if text)[:_LONGEST] or None
        )
    after = known.model_copy(update=fresh)
    return after if after == known else after.model_copy(update={"progress_time": now})


def _state(seen: Operation) -> str:
    """Done is not enough: a transfer has succeeded only if no object failed."""
    if not seen.done:
        return "Running"
    return "Failed" if seen.code or (seen.counters and seen.counters.failed) else "Succeeded"


def _transfer(counters: Counters) -> TransferStatus:
    return TransferStatus(
        objects_found=counters.found,
        objects_copied=counters.copied,
        objects_skipped=counters.skipped,
        objects_failed=counters.failed,
        bytes_found=counters.bytes_found,
        bytes_copied=counters.bytes_copied,
    )


Kind = Literal["Create", "Update", "Import", "Export", "Delete"]
_VERBS: dict[str, Any] = {kind: kind.lower() for kind in ("Create", "Update", "Import", "Export", "Delete")}

POLL_SECONDS = 15.0
_FIRST_RETRY_SECONDS = 60.0
_LAST_RETRY_SECONDS = 1800.0
BUSY = ("Aborted", "FailedPrecondition")
"""The instance has something else to do: asking again soon costs nothing, and is no failure of ours."""

UNANSWERED = (
    "DeadlineExceeded",
    "Internal",
    "Unauthenticated",
    "Unavailable",
    "Unimplemented",
    "Unknown",
)
"""Codes of a request that may have been carried out all the same: it is repeated under its own request id."""


@dataclass(frozen=True)
class Wish:
    """An operation that should have been done. `subject` tells one wish from the next of its kind."""

    kind: Kind
    subject: str
    instance: str
    body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Followed:
    """The last operation of a kind, what to ask for now, and when to look again (seconds)."""

    status: OperationStatus | None = None
    call: Call | None = None
    again: float | None = None

    @property
    def calls(self) -> tuple[Call, ...]:
        return (self.call,) if self.call else ()

    @property
    def operations(self) -> tuple[OperationStatus, ...]:
        return (self.status,) if self.status else ()

    def succeeded(self, subject: str) -> bool:
        """Whether this very thing was done."""
        return bool(self.status and self.status.subject == subject and self.status.state == "Succeeded")


def last(pool: KVCachePool, kind: Kind) -> OperationStatus | None:
    """The operation of a kind that the status tells of."""
    return next((one for one in pool.status.operations if one.kind == kind), None)


def follow(pool: KVCachePool, facts: Facts, kind: Kind, wish: Wish | None, now: str) -> Followed:
    """Where the last operation of a kind stands, and the next request, if one is due.

    Case 1: one is running -> follow it; ask again with the same request id if its request was lost, or forget
    it if nobody wants it any more: whether it was carried out shows in the instance.
    Case 2: nothing is wished for, or just that was done -> report the last one.
    Case 3: just that has failed -> try again after a back-off, as another attempt.
    Case 4: something new -> ask for it.
    """
    answers = facts.lustre.operations if facts.lustre else {}
    known = before = _standing(pool, kind, answers, now)
    if known and known.state == "Running":
        if known.name or known.request_id in answers:
            return Followed(known, None, POLL_SECONDS)
        if wish and wish.subject == known.subject:
            return Followed(known, _call(wish, known.request_id), POLL_SECONDS)
        known = None
    if wish is None:
        return Followed(known)
    if known is None or known.subject != wish.subject:
        return _ask(wish, 1, _request_id(pool, wish, 1, before), answers, now)
    if known.state == "Succeeded":
        return Followed(known)
    wait = retry_after(known, now)
    return Followed(known, None, wait) if wait > 0 else _retry(pool, wish, known, answers, now)


def retry_after(failed: OperationStatus, now: str) -> float:
    """Seconds until a failed operation is due again; it doubles from 1 to 30 minutes."""
    delay = min(_FIRST_RETRY_SECONDS * float(2 ** min(failed.attempt - 1, 10)), _LAST_RETRY_SECONDS)
    if failed.code in BUSY:
        delay = _FIRST_RETRY_SECONDS
    since = elapsed(failed.progress_time or failed.start_time, now)
    # A failure further ahead than the wait was noted before the clock was put back.
    return delay - since if since > -delay else 0.0


def elapsed(since: str, now: str) -> float:
    """Seconds between two RFC 3339 times; an unreadable one, which kvtier has not written, was long ago."""
    try:
        return (datetime.fromisoformat(now) - datetime.fromisoformat(since)).total_seconds()
    except (ValueError, TypeError):
        return math.inf


def _standing(
    pool: KVCachePool, kind: Kind, answers: Mapping[str, Operation], now: str
) -> OperationStatus | None:
    """The last operation of a kind, with what is known of it by now if it was still running."""
    known = last(pool, kind)
    running = known is not None and known.state == "Running"
    return updated(known, answers.get(known.request_id), now) if known and running else known


def _retry(
    pool: KVCachePool, wish: Wish, failed: OperationStatus, answers: Mapping[str, Operation], now: str
) -> Followed:
    attempt = failed.attempt + 1
    if failed.name or failed.code not in UNANSWERED:
        return _ask(wish, attempt, _request_id(pool, wish, attempt, failed), answers, now)
    seen = answers.get(failed.request_id)
    if seen and seen.done and not seen.name:
        # That is the failure which is known already.
        answers = {}
    return _ask(wish, attempt, failed.request_id, answers, now)


def _ask(wish: Wish, attempt: int, request: str, answers: Mapping[str, Operation], now: str) -> Followed:
    asked = OperationStatus(
        kind=wish.kind,
        subject=wish.subject,
        state="Running",
        attempt=attempt,
        request_id=request,
        start_time=now,
        progress_time=now,
    )
    if request in answers:
        return Followed(updated(asked, answers[request], now), None, POLL_SECONDS)
    return Followed(asked, _call(wish, request), POLL_SECONDS)


def _call(wish: Wish, request: str) -> Call:
    return Call(_VERBS[wish.kind], wish.instance, request, wish.body)


def _request_id(pool: KVCachePool, wish: Wish, attempt: int, before: OperationStatus | None) -> str:
    """The same for the same attempt, so that a process that died after its request repeats just that request.

    It hangs on the operation before: what is wished for once more, after something else, is another request.
    """
    text = f"{pool.uid}/{wish.instance}/{wish.kind}/{wish.subject}/{attempt}"
    if before:
        text += f"/{before.request_id}"
    # The API wants a UUID of version 4.
    return str(uuid.UUID(bytes=hashlib.sha256(text.encode()).digest()[:16], version=4))
