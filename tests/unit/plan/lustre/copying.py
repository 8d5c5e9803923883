"""A pool with Cloud Storage, simulated over time."""

from typing import Any

from kvtier.context import build
from kvtier.facts.model import Counters
from kvtier.plan.lustre.cloud_storage import CloudStorage, plan_cloud_storage
from unit.builders import NOW, joined, pool
from unit.instances import api
from unit.simulation import JOB, Simulation, made

URI = "gs://bucket/cache/"
DENIED: dict[str, Any] = {
    "done": True,
    "counters": Counters(found=10, copied=3, failed=7),
    "problems": ("/a: denied",),
}
"""A response: the copy ended, and some objects failed."""

_FAILURES = ("ImportFailed", "ExportFailed", "InvalidSchedule")


def cached(**cloud_storage: Any) -> dict[str, Any]:
    """Changes to a pool: Cloud Storage with these fields."""
    return joined(api(), {"tiers": {"cloudStorage": {"uri": URI, **cloud_storage}}})


class Copies(Simulation):
    """A pool whose Lustre tier is usable from the next reconciliation on."""

    def __init__(self, **cloud_storage: Any) -> None:
        super().__init__(pool(**cached(**cloud_storage)))
        self.instance = made(self.pool)
        self.at("2026-11-29T11:50:00Z")
        self.bind()
        self.at(NOW)
        self.end_job()

    def look(self, now: str) -> CloudStorage:
        """The plan for copies, without doing it."""
        return plan_cloud_storage(build(self.pool, self.observed(), now), usable=True)

    def unprove(self, now: str) -> None:
        """Delete the Job of the write probe, so that the tier is not proven usable."""
        self.drop(JOB)
        self.at(now)

    def succeed(self, copied: int = 10, skipped: int = 0) -> None:
        """The last requested copy succeeds."""
        self.answer(done=True, counters=Counters(found=copied, copied=copied, skipped=skipped))

    def exported(self, now: str) -> None:
        """The copy that is due at `now` succeeds at once."""
        self.at(now)
        self.succeed()
        self.at(now)

    @property
    def importing(self) -> bool:
        """Whether engines wait for the import, according to the status."""
        return self.tier("cloudStorage").phase == "Importing"

    @property
    def synced(self) -> tuple[str, str]:
        return self.verdict("CloudStorageSynced")

    @property
    def message(self) -> str:
        return self.condition("CloudStorageSynced").message

    def failures(self) -> list[str]:
        """Events of copies that failed so far."""
        return [reason for reason in self.reasons() if reason in _FAILURES]


def importing() -> Copies:
    """A pool whose import runs."""
    copies = Copies()
    copies.at(NOW)
    copies.answer()
    copies.at("2026-11-29T12:00:10Z")
    return copies


def nightly(expression: str = "0 3 * * *") -> Copies:
    """A pool that only exports, and is usable from noon."""
    copies = Copies(importOnCreate=False, exportSchedule=expression)
    copies.at(NOW)
    return copies
