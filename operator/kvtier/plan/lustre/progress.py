"""How an operation of the Lustre API stands, after what was seen of it."""

from typing import Any

from kvtier.api.v1alpha1 import OperationStatus, TransferStatus
from kvtier.facts.model import Counters, Operation

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
