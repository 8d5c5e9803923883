"""Which time of the export schedule is to be seen to."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from kvtier.api.conditions import (
    CLOUD_STORAGE_SYNCED,
    STORAGE_READY,
    TIER_WRITABLE,
    Condition,
    false,
    true,
    unknown,
)
from kvtier.api.reasons import Reason
from kvtier.api.times import elapsed
from kvtier.api.v1alpha1 import CloudStorageTier, KVCachePool, OperationStatus, TierStatus
from kvtier.facts.model import Facts, Instance, Observed
from kvtier.plan.lustre import copies
from kvtier.plan.lustre.final_export import LastExport, last_export
from kvtier.plan.lustre.identity import instance_name
from kvtier.plan.lustre.operations import POLL_SECONDS, Followed, last
from kvtier.plan.model import Part, soonest

_AHEAD = timedelta(days=1)
"""A last export further ahead than this was made while the clock was wrong, and counts for nothing."""


def due_slot(pool: KVCachePool, expression: str, now: str) -> str | None:
    """The latest time of the schedule, if it is not older than what was seen to; None if there is none.

    Of several that were missed only the latest counts. The first one is after the tier became usable.
    """
    latest = copies.latest(expression, now)
    if latest is None:
        return None
    known = last(pool, "Export")
    seen_to = _time(known.subject) if known else None
    if seen_to and seen_to <= datetime.fromisoformat(now) + _AHEAD:
        return latest if datetime.fromisoformat(latest) >= seen_to else None
    since = _usable_since(pool, now)
    return latest if since < datetime.fromisoformat(latest) or since > datetime.fromisoformat(now) else None


def _usable_since(pool: KVCachePool, now: str) -> datetime:
    times = {c.type: c.last_transition_time for c in pool.status.conditions if c.status == "True"}
    return datetime.fromisoformat(times.get(TIER_WRITABLE) or times.get(STORAGE_READY) or now)


def _time(subject: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(subject)
    except ValueError:
        return None
    return found if found.tzinfo else None


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
        coming = copies.following(expression, self.now) if expression and not self.problem else None
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
            return copies.running(self.pool, self.tier, copy, note)
        if not self.import_due:
            return None
        if copy and copy.subject == self.subject:
            then = "it is tried again, and engines wait for it"
            return copies.failed(self.tier, copy, self.instance, then)
        return copies.waiting(
            f"the import from {self.tier.uri} waits: {self.hold or 'an export is under way'}"
        )

    def _exporting(self) -> Condition | None:
        copy = self.exports.status
        if copy and copy.state == "Running":
            return copies.running(self.pool, self.tier, copy, "")
        if self.problem:
            text = f"exportSchedule {self.tier.export_schedule!r} is no cron expression: {self.problem}"
            return false(
                CLOUD_STORAGE_SYNCED,
                Reason.INVALID_SCHEDULE,
                f"{text}; nothing is exported by schedule until it is corrected, to such as 0 3 * * *",
            )
        seen_to = copy is not None and self.slot == copy.subject
        if copy and copy.state == "Failed" and self.slot and (seen_to or not self.hold):
            return copies.failed(self.tier, copy, self.instance, "it is tried again")
        if self.slot and self.hold and not seen_to:
            return copies.waiting(f"the export to {self.tier.uri} ({self.slot}) waits: {self.hold}")
        return None

    def _ended(self) -> Condition:
        export, copy = self.exports.status, self.imports.status
        if export and export.state == "Succeeded":
            return copies.done(self.tier, export, self.instance)
        if copy and copy.subject == self.subject:
            if copy.state == "Succeeded":
                return copies.done(self.tier, copy, self.instance)
            return copies.failed(self.tier, copy, self.instance, self._without_import())
        if self.tier.export_schedule:
            coming = copies.following(self.tier.export_schedule, self.now)
            return true(
                CLOUD_STORAGE_SYNCED, Reason.NOTHING_DUE, f"the next export to {self.tier.uri} is at {coming}"
            )
        return true(
            CLOUD_STORAGE_SYNCED, Reason.NOTHING_DUE, "no export is scheduled (cloudStorage.exportSchedule)"
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
    problem = copies.problem(tier.export_schedule, now) if tier.export_schedule else ""
    slot = due_slot(pool, tier.export_schedule, now) if tier.export_schedule and not problem else None
    free = not hold and not _runs(imports.status) and not _open(imports.status, subject)
    wish = copies.wish(pool, "Export", slot, instance.name)
    exports = copies.follow_copy(pool, facts, wish, free and slot is not None, now)
    return Copying(pool, tier, instance.name, now, hold, subject, imports, problem, slot, exports)


def _runs(copy: OperationStatus | None) -> bool:
    return copy is not None and copy.state == "Running"


def _open(copy: OperationStatus | None, subject: str | None) -> bool:
    """Whether an import is wished for and neither done nor given up."""
    return subject is not None and not (copy and copy.subject == subject and copies.settled(copy))


def unseen(
    pool: KVCachePool, tier: CloudStorageTier, observed: Observed, reached: bool, now: str
) -> tuple[Condition, float | None]:
    """The condition, and for how many seconds engines still wait for the import, None if they do not.

    `reached` is whether the tier has been usable before.
    """
    name, seen = instance_name(pool, observed), observed.facts.lustre
    if seen and seen.error:
        wanted = reached and tier.import_on_create and not _imported(pool, name)
        since = _unknown_since(pool) or now
        wait = copies.PATIENCE_SECONDS - elapsed(since, now) if not copies.overdue(since, now) else None
        return _unseen_condition(seen.error, wanted, wait), wait if wanted else None
    if not reached:
        return copies.waiting("nothing is copied before the shared tier can be written to"), None
    return (
        false(
            CLOUD_STORAGE_SYNCED,
            Reason.INSTANCE_MISSING,
            f"the Lustre API knows no instance {name}: nothing can be copied",
        )
        if name
        else unknown(
            CLOUD_STORAGE_SYNCED, Reason.INSTANCE_UNKNOWN, "it is not known yet which instance the tier is"
        )
    ), None


def _unseen_condition(error: str, wanted: bool, wait: float | None) -> Condition:
    note = ""
    if wanted:
        note = (
            "; engines wait for the import for half an hour" if wait else "; engines go on without the import"
        )
    return unknown(CLOUD_STORAGE_SYNCED, Reason.LUSTRE_API_UNAVAILABLE, f"{error}{note}")


def _imported(pool: KVCachePool, instance: str | None) -> bool:
    copy = last(pool, "Import")
    return bool(copy and instance and copies.is_about(copy, instance) and copies.settled(copy))


def _unknown_since(pool: KVCachePool) -> str | None:
    found = (c for c in pool.status.conditions if c.type == CLOUD_STORAGE_SYNCED and c.status == "Unknown")
    return next((c.last_transition_time for c in found), None)


__all__ = ["LastExport", "imported", "last_export", "plan_transfers"]

_LOOK_SECONDS = 60.0
"""While engines wait for an import that cannot be asked for."""

_IMPORTING = "Importing"
"""Phase of the tier while engines wait for the import."""


def plan_transfers(pool: KVCachePool, observed: Observed, usable: bool, now: str) -> Part:
    """The transfer that is under way or due; `usable` is whether the tier can be written to by now.

    Case 1: no Cloud Storage -> what was copied is remembered.
    Case 2: the instance cannot be seen -> nothing is asked for; engines do not wait for that for ever.
    Case 3: the import is not settled -> it goes first, and engines wait for it.
    Case 4: a time of the schedule has come -> one export, however many times were missed.
    """
    tier, seen = pool.spec.tiers.cloud_storage, observed.facts.lustre
    if tier is None:
        known = copies.remembered(pool, observed.facts, now)
        return Part(operations=tuple(one for one in known if copies.begun(one)))
    reached = usable or copies.reached(pool, observed)
    if seen is None or seen.instance is None:
        return _blind(pool, tier, observed, reached, now)
    hold = _hold(pool, seen.instance, usable)
    both = copying(pool, observed.facts, seen.instance, hold, now)
    condition = both.condition()
    return Part(
        conditions=(condition,),
        tiers=(_tier(condition, reached, both.engines_wait),),
        calls=(*both.imports.calls, *both.exports.calls),
        operations=(*both.imports.operations, *both.exports.operations),
        again=both.again(),
    )


def imported(pool: KVCachePool, part: Part) -> bool:
    """Whether engines need not wait for the import any more."""
    return all(tier.phase != _IMPORTING for tier in part.tiers)


def _blind(pool: KVCachePool, tier: CloudStorageTier, observed: Observed, reached: bool, now: str) -> Part:
    condition, wait = unseen(pool, tier, observed, reached, now)
    known = copies.remembered(pool, observed.facts, now)
    polls = [POLL_SECONDS for one in known if one.state == "Running"]
    looks = [] if wait is None else [wait, _LOOK_SECONDS]
    status = _tier(condition, reached, wait is not None)
    return Part(conditions=(condition,), tiers=(status,), operations=known, again=soonest(*looks, *polls))


def _hold(pool: KVCachePool, instance: Instance, usable: bool) -> str:
    """Why no copy may begin now, empty if one may."""
    changing = [one.kind for one in pool.status.operations if one.state == "Running"]
    if not usable:
        return "the shared tier cannot be written to now"
    if {"Create", "Update", "Delete"}.intersection(changing):
        return "the instance is being changed"
    return "" if instance.state == "ACTIVE" else f"the instance is {instance.state}"


def _tier(condition: Condition, reached: bool, engines_wait: bool) -> TierStatus:
    phase = "Failed" if condition.deserves_event else "Configured"
    if engines_wait:
        phase = _IMPORTING
    return TierStatus(name="cloudStorage", phase=phase if reached else copies.WAITING)
