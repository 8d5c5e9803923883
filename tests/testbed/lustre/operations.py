"""Operations and transfers of the simulated Managed Lustre API. They end after a time, or when a test ends them."""

import math
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from testbed.google_api import Object
from testbed.lustre.documents import CODES, TYPES, now

HELD = "held"
Seconds = float | str
"""How long an operation takes. ``HELD``: until a test ends it."""

VERBS = ("create", "update", "delete", "import", "export")
_API_VERSION = "v1"
_METADATA = {"import": "ImportDataMetadata", "export": "ExportDataMetadata"}
_LOGGED_ERRORS = 5  # most failures of one code that the API records


@dataclass(frozen=True)
class Transfer:
    """A transfer between ``paths``, {gcsPath, lustrePath}: ``objects`` of ``object_bytes`` each.

    ``skipped`` more objects exist at the destination. Each failure is {code, count, details}, with the name of the code
    and the number of objects that fail with it.
    """

    paths: Object
    imports: bool
    objects: int
    object_bytes: int
    skipped: int
    failures: list[Object]

    def metadata(self, progress: float) -> Object:
        """TransferOperationMetadata at a progress between 0 and 1."""
        source, destination = ("Gcs", "Lustre") if self.imports else ("Lustre", "Gcs")
        failed = [one | {"count": math.floor(one["count"] * progress)} for one in self.failures]
        return {
            f"source{source}Path": self.paths[f"{source.lower()}Path"],
            f"destination{destination}Path": self.paths[f"{destination.lower()}Path"],
            "transferType": "IMPORT" if self.imports else "EXPORT",
            "counters": self._counters(progress, sum(one["count"] for one in failed)),
            "errorSummaries": [self._summary(one) for one in failed if one["count"]],
        }

    def _counters(self, progress: float, failed: int) -> Object:
        movable = self.objects - sum(one["count"] for one in self.failures)
        found = math.ceil(self.objects * min(1.0, 2 * progress))  # listing is faster than copying
        skipped, copied = math.floor(self.skipped * progress), math.floor(movable * progress)
        return {
            "foundObjectsCount": str(found),
            "bytesFoundCount": self._bytes(found),
            "objectsSkippedCount": str(skipped),
            "bytesSkippedCount": self._bytes(skipped),
            "objectsCopiedCount": str(copied),
            "bytesCopiedCount": self._bytes(copied),
            "objectsFailedCount": str(failed),
            "bytesFailedCount": self._bytes(failed),
        }

    def _bytes(self, objects: int) -> str:
        return str(objects * self.object_bytes)

    def _summary(self, failure: Object) -> Object:
        root = self.paths["gcsPath"]["uri"] if self.imports else self.paths["lustrePath"]["path"]
        entries = [
            {"uri": f"{root.rstrip('/')}/object-{number:06}", "errorDetails": failure["details"]}
            for number in range(min(failure["count"], _LOGGED_ERRORS))
        ]
        return {
            "errorCode": failure["code"],
            "errorCount": str(failure["count"]),
            "errorLogEntries": entries,
        }


@dataclass(frozen=True)
class Effect:
    """``apply`` performs an operation and returns its response. ``revert`` undoes the changes of its start."""

    apply: Callable[[], Object]
    revert: Callable[[], None]


@dataclass
class Operation:
    """A running or finished operation on ``target``, the full name of an instance.

    ``planned_error`` is the error with which it will end, {code, message} with a number as code; None for success.
    """

    target: str
    verb: str
    request_id: str
    duration: Seconds
    effect: Effect
    transfer: Transfer | None = None
    planned_error: Object | None = None
    name: str = ""
    create_time: str = field(default_factory=now)
    end_time: str = ""
    done: bool = False
    error: Object | None = None
    response: Object | None = None
    cancelling: bool = False
    _progress: float = 0.0
    _started: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        parent = self.target.partition("/instances/")[0]
        self.name = f"{parent}/operations/operation-{time.time_ns() // 1000}-{secrets.token_hex(6)}"

    @property
    def location(self) -> str:
        return self.target.split("/")[3]

    @property
    def due(self) -> bool:
        """Whether it has to end now."""
        return not self.done and not isinstance(self.duration, str) and self._elapsed() >= self.duration

    @property
    def progress(self) -> float:
        """Between 0 and 1, from the elapsed time or set by a test."""
        if self.done or isinstance(self.duration, str) or not self.duration:
            return self._progress
        return min(1.0, self._elapsed() / self.duration)

    def advance(self, progress: float) -> None:
        """Set the progress of a held operation."""
        self._progress = progress

    def finish(self, error: Object | None = None) -> None:
        """End the operation: with this error, with the planned one, or with its effect."""
        self.error = error or self.planned_error
        self._progress = self.progress if self.error else 1.0
        self.done, self.end_time = True, now()
        if self.error:
            self.effect.revert()
        else:
            self.response = self.effect.apply()

    def cancel(self) -> None:
        """Cancel the operation for a client. It ends at once."""
        if not self.done:
            self.cancelling = True
            self.finish({"code": CODES["CANCELLED"], "message": "The operation was cancelled."})

    def document(self) -> Object:
        """The operation as the API shows it."""
        shown: Object = {"name": self.name, "done": self.done, "metadata": self._metadata()}
        if self.error:
            shown["error"] = self.error
        elif self.done:
            shown["response"] = self.response
        return shown

    def _metadata(self) -> Object:
        metadata: dict[str, Any] = {
            "@type": TYPES + _METADATA.get(self.verb, "OperationMetadata"),
            "createTime": self.create_time,
            "target": self.target,
            "requestedCancellation": self.cancelling,
            "apiVersion": _API_VERSION,
        }
        if self.end_time:
            metadata["endTime"] = self.end_time
        if self.verb != "import":  # only ImportDataMetadata has none
            metadata["verb"] = self.verb
        if self.transfer:
            metadata["operationMetadata"] = self.transfer.metadata(self.progress)
        return metadata

    def _elapsed(self) -> float:
        return time.monotonic() - self._started
