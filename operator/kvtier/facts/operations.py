"""The operations on a pool's Lustre instance: from its status, updated with the answers of the Lustre API."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from kvtier.api.v1alpha1 import KVCachePool, OperationStatus, TransferStatus
from kvtier.facts.model import Counters, LustreFacts, Operation
from kvtier.pace import DEFAULT, Pace

Kind = Literal["Create", "Update", "Import", "Export", "Delete"]

_LONGEST = 1000
"""Most characters of a message. The status allows 1024."""


@dataclass(frozen=True)
class Operations:
    """The last operation of each kind, at one moment (`now`, RFC 3339).

    `recorded`: from the status, by kind. `answers`: from the Lustre API, by request id, for operations in the status
    and for requests of this process.
    """

    pool_uid: str = ""
    recorded: Mapping[str, OperationStatus] = field(default_factory=dict)
    answers: Mapping[str, Operation] = field(default_factory=dict)
    now: str = ""
    pace: Pace = DEFAULT

    def last(self, kind: Kind) -> OperationStatus | None:
        """The last operation of a kind with its current state, None if there was none."""
        return self._latest.get(kind)

    def lost(self, operation: OperationStatus) -> bool:
        """Whether the result of its request is unknown, because the process that made it has ended."""
        running = operation.state == "Running"
        return running and not operation.name and operation.request_id not in self.answers

    def unrecorded(self) -> bool:
        """Whether an operation is in progress that is not in the status, because a write of the status failed."""
        named = {one.request_id for one in self.recorded.values()}
        return any(not one.done for request, one in self.answers.items() if request not in named)

    @cached_property
    def _latest(self) -> Mapping[str, OperationStatus]:
        return {
            kind: updated(one, self.answers.get(one.request_id), self.now) if one.state == "Running" else one
            for kind, one in self.recorded.items()
        }


def operations_of(
    pool: KVCachePool, lustre: LustreFacts | None, now: str, pace: Pace = DEFAULT
) -> Operations:
    """The operations of a pool."""
    recorded = {one.kind: one for one in pool.status.operations}
    return Operations(pool.uid, recorded, lustre.operations if lustre else {}, now, pace)


def updated(recorded: OperationStatus, answer: Operation | None, now: str) -> OperationStatus:
    """The recorded operation, updated with the answer. The time of progress changes only with progress."""
    if answer is None:
        return recorded
    fresh: dict[str, Any] = {"name": answer.name or recorded.name, "state": _state(answer)}
    if answer.counters:
        fresh["transfer"] = _transfer(answer.counters)
    if fresh["state"] == "Failed":
        texts = (text for text in (answer.message, *answer.problems) if text)
        fresh["code"] = answer.code or "ObjectsFailed"
        fresh["message"] = "; ".join(texts)[:_LONGEST] or None
    after = recorded.model_copy(update=fresh)
    return after if after == recorded else after.model_copy(update={"progress_time": now})


def _state(answer: Operation) -> str:
    """A transfer that is done has succeeded only if no object failed."""
    if not answer.done:
        return "Running"
    return "Failed" if answer.code or (answer.counters and answer.counters.failed) else "Succeeded"


def _transfer(counters: Counters) -> TransferStatus:
    return TransferStatus(
        objects_found=counters.found,
        objects_copied=counters.copied,
        objects_skipped=counters.skipped,
        objects_failed=counters.failed,
        bytes_found=counters.bytes_found,
        bytes_copied=counters.bytes_copied,
    )
