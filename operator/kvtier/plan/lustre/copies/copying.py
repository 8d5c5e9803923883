"""The copies of a pool whose instance is seen: the import first, then one export per time of the schedule."""

from dataclasses import dataclass

from kvtier.api.conditions import CLOUD_STORAGE_SYNCED, Condition, false, true
from kvtier.api.v1alpha1 import CloudStorageTier, KVCachePool, OperationStatus
from kvtier.facts.model import Facts, Instance
from kvtier.plan.lustre.copies import copies, due, schedule
from kvtier.plan.lustre.copies import report as copy_report
from kvtier.plan.lustre.operations import POLL_SECONDS, Followed, elapsed, last
from kvtier.plan.model import soonest


@dataclass(frozen=True)
class Copying:
    """Both copies, and what is due: the import for `subject`, the export for `slot`, or None.

    `hold` says why nothing may begin now, `problem` what is wrong with the schedule; both may be empty.
    """

    pool: KVCachePool
    tier: CloudStorageTier
    instance: str
    now: str
    hold: str
    subject: str | None
    imports: Followed
    problem: str
    slot: str | None
    exports: Followed

    @property
    def import_due(self) -> bool:
        """Whether the import is still to be done, or to be given up."""
        return _open(self.imports.status, self.subject)

    @property
    def engines_wait(self) -> bool:
        """Whether engines should not use the tier yet. A copy that gets stuck does not keep them from it."""
        copy = self.imports.status
        return self.import_due and not (copy and copies.stalled(copy, self.now))

    def condition(self) -> Condition:
        """What goes on, else what is wrong, else what was done last."""
        return self._importing() or self._exporting() or self._ended()

    def again(self) -> float | None:
        """Seconds until the next step."""
        expression = self.tier.export_schedule
        coming = schedule.following(expression, self.now) if expression and not self.problem else None
        asked = self.exports.status and self.exports.status.subject == self.slot
        return soonest(
            self.imports.again,
            self.exports.again,
            -elapsed(coming, self.now) if coming else None,
            POLL_SECONDS if self.slot and not asked and not self.hold else None,
        )

    def _importing(self) -> Condition | None:
        copy = self.imports.status
        if copy and copy.state == "Running":
            stuck = "; it has not got on for half an hour, and engines do not wait for it any more"
            note = stuck if copies.stalled(copy, self.now) else ""
            return copy_report.running(self.pool, self.tier, copy, note)
        if not self.import_due:
            return None
        if copy and copy.subject == self.subject:
            then = "it is tried again, and engines wait for it"
            return copy_report.failed(self.tier, copy, self.instance, then)
        return copy_report.waiting(
            f"the import from {self.tier.uri} waits: {self.hold or 'an export is under way'}"
        )

    def _exporting(self) -> Condition | None:
        copy = self.exports.status
        if copy and copy.state == "Running":
            return copy_report.running(self.pool, self.tier, copy, "")
        if self.problem:
            text = f"exportSchedule {self.tier.export_schedule!r} is no cron expression: {self.problem}"
            return false(
                CLOUD_STORAGE_SYNCED,
                copy_report.INVALID_SCHEDULE,
                f"{text}; nothing is exported by schedule until it is corrected, to such as 0 3 * * *",
            )
        seen_to = copy is not None and self.slot == copy.subject
        if copy and copy.state == "Failed" and self.slot and (seen_to or not self.hold):
            return copy_report.failed(self.tier, copy, self.instance, "it is tried again")
        if self.slot and self.hold and not seen_to:
            return copy_report.waiting(f"the export to {self.tier.uri} ({self.slot}) waits: {self.hold}")
        return None

    def _ended(self) -> Condition:
        export, copy = self.exports.status, self.imports.status
        if export and export.state == "Succeeded":
            return copy_report.done(self.tier, export, self.instance)
        if copy and copy.subject == self.subject:
            if copy.state == "Succeeded":
                return copy_report.done(self.tier, copy, self.instance)
            return copy_report.failed(self.tier, copy, self.instance, self._without_import())
        if self.tier.export_schedule:
            coming = schedule.following(self.tier.export_schedule, self.now)
            return true(
                CLOUD_STORAGE_SYNCED, "NothingDue", f"the next export to {self.tier.uri} is at {coming}"
            )
        return true(
            CLOUD_STORAGE_SYNCED, "NothingDue", "no export is scheduled (cloudStorage.exportSchedule)"
        )

    def _without_import(self) -> str:
        _, _, _, zone, _, name = self.instance.split("/")
        return (
            "engines go on without it. To import later: gcloud lustre instances import-data "
            f"{name} --location={zone} --gcs-path-uri={self.tier.uri} --lustre-path={copies.path(self.pool)}"
        )


def copying(pool: KVCachePool, facts: Facts, instance: Instance, hold: str, now: str) -> Copying:
    """What is under way, and what begins now. The pool must have Cloud Storage."""
    tier = pool.spec.tiers.cloud_storage
    assert tier is not None
    subject = copies.import_subject(instance) if tier.import_on_create else None
    imported, exported = last(pool, "Import"), last(pool, "Export")
    wish = copies.wish(pool, "Import", subject, instance.name)
    free = not hold and not _runs(exported)
    imports = copies.follow_copy(pool, facts, wish, free and _open(imported, subject), now)
    problem = schedule.problem(tier.export_schedule, now) if tier.export_schedule else ""
    slot = due.slot(pool, tier.export_schedule, now) if tier.export_schedule and not problem else None
    free = not hold and not _runs(imports.status) and not _open(imports.status, subject)
    wish = copies.wish(pool, "Export", slot, instance.name)
    exports = copies.follow_copy(pool, facts, wish, free and slot is not None, now)
    return Copying(pool, tier, instance.name, now, hold, subject, imports, problem, slot, exports)


def _runs(copy: OperationStatus | None) -> bool:
    return copy is not None and copy.state == "Running"


def _open(copy: OperationStatus | None, subject: str | None) -> bool:
    """Whether an import is wished for and neither done nor given up."""
    return subject is not None and not (copy and copy.subject == subject and copies.settled(copy))
