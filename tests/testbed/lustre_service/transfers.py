"""Imports and exports of the simulated Managed Lustre API: their counters, and what could not be moved."""

import math
from dataclasses import dataclass

from testbed.google_faults import Object

_LOGGED_ERRORS = 5  # the API records so many of one code


@dataclass(frozen=True)
class Transfer:
    """What a transfer moves between ``paths``, {gcsPath, lustrePath}: ``objects`` of ``object_bytes`` each.

    ``skipped`` more are there already. Each failure is {code, count, details}, the code by name; ``count`` of
    the objects cannot be moved for it.
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
        found = math.ceil(self.objects * min(1.0, 2 * progress))  # listing runs ahead of copying
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
