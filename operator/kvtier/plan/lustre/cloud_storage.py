"""Copies between the shared tier and Cloud Storage: one import into each instance, and exports by schedule.

There are never two at once. Engines wait for the import, but not for ever.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from cronsim import CronSim, CronSimError

from kvtier.api import times
from kvtier.api.conditions import (
    CLOUD_STORAGE_SYNCED,
    STORAGE_READY,
    TIER_WRITABLE,
    Condition,
    false,
    find,
    true,
    unknown,
)
from kvtier.api.reasons import Reason
from kvtier.api.times import elapsed, parse
from kvtier.api.v1alpha1 import OperationStatus, TierStatus
from kvtier.context import Context, LustreView
from kvtier.facts.operations import Operations
from kvtier.plan.lustre import copies
from kvtier.plan.lustre.copies import Paths
from kvtier.plan.lustre.operations import Followed, part
from kvtier.plan.model import Part, soonest, together


@dataclass(frozen=True)
class CloudStorage:
    """The copies to ask for, and CloudStorageSynced. `importing`: engines wait for the import."""

    part: Part = field(default_factory=Part)
    importing: bool = False


def plan_cloud_storage(context: Context, usable: bool) -> CloudStorage:
    """The copy that is under way or due; `usable`: engines can write to the shared tier now.

    Case 1: no Cloud Storage -> what was copied is remembered.
    Case 2: the instance cannot be seen -> nothing is asked for; engines do not wait for that for ever.
    Case 3: the import is not settled -> it goes first, and engines wait for it.
    Case 4: a time of the schedule has come -> one export, however many times were missed.
    """
    pool, lustre, now = context.pool, context.lustre, context.now
    tier, operations = pool.spec.tiers.cloud_storage, lustre.operations
    if tier is None:
        known = copies.remembered(operations)
        return CloudStorage(Part(operations=tuple(one for one in known if copies.answered(one))))
    before = find(pool.status.conditions, CLOUD_STORAGE_SYNCED)
    reached = usable or bool(lustre.bound_claim and copies.was_reached(pool.status.tiers))
    if lustre.instance is None:
        return _unseen(lustre, tier.import_on_create, reached, before)
    paths = copies.paths_of(pool, tier.uri, lustre.instance.name)
    subject = copies.import_subject(lustre.instance) if tier.import_on_create else None
    last, since = operations.recorded.get("Export"), _usable_since(pool.status.conditions) or now
    schedule = read_schedule(tier.export_schedule, last.subject if last else "", since, now)
    hold = _hold(usable, operations.recorded, lustre.instance.state)
    both = _copies(operations, paths, subject, schedule, hold)
    condition = _condition(both, paths, before)
    reported = Part(
        conditions=(condition,),
        tiers=(_tier(condition, reached, both.importing),),
        again=_again(both, now, context.pace.moving),
    )
    return CloudStorage(together(part(both.imports, both.exports), reported), both.importing)


def _usable_since(last: Sequence[Condition]) -> str | None:
    """When the shared tier became usable, as the last conditions say; None where they do not."""
    since = {one.type: one.last_transition_time for one in last if one.status == "True"}
    return since.get(TIER_WRITABLE) or since.get(STORAGE_READY)


def _hold(usable: bool, recorded: Mapping[str, OperationStatus], state: str) -> str:
    """Why no copy may begin now, empty if one may."""
    if not usable:
        return "the shared tier cannot be written to now"
    if any(copies.runs(recorded.get(kind)) for kind in ("Create", "Update", "Delete")):
        return "the instance is being changed"
    return "" if state == "ACTIVE" else f"the instance is {state}"


@dataclass(frozen=True)
class Schedule:
    """`due` is the time for which an export is to be made or was made last, `next` the first one after now.

    `problem` is what is wrong with the expression. All are empty where there is no schedule.
    """

    expression: str = ""
    problem: str = ""
    due: str = ""
    next: str = ""


@dataclass(frozen=True)
class _Copies:
    """The last copies, those that begin now included, and what is still to be done.

    `hold` says why none may begin, empty if one may. The import is wanted for `subject`, None where none is; `pending`:
    it is neither done nor given up, `stuck`: it runs without progress.
    """

    imports: Followed
    exports: Followed
    schedule: Schedule
    hold: str
    subject: str | None
    pending: bool
    stuck: bool

    @property
    def importing(self) -> bool:
        """Whether engines wait for the import."""
        return self.pending and not self.stuck

    @property
    def export_due(self) -> bool:
        """Whether a time of the schedule has come for which no export was asked for."""
        last = self.exports.status
        return bool(self.schedule.due) and not (last and last.subject == self.schedule.due)


def _copies(
    operations: Operations, paths: Paths, subject: str | None, schedule: Schedule, hold: str
) -> _Copies:
    """An import goes before exports, but waits for one that runs."""
    imported, exported = operations.recorded.get("Import"), operations.recorded.get("Export")
    free = not hold and not copies.runs(exported)
    imports = copies.follow_copy(operations, "Import", subject, paths, free and _pending(imported, subject))
    pending = _pending(imports.status, subject)
    free = not hold and not pending and not copies.runs(imports.status)
    exports = copies.follow_copy(operations, "Export", schedule.due, paths, free and bool(schedule.due))
    stuck = copies.stalled(imports.status, operations.now)
    return _Copies(imports, exports, schedule, hold, subject, pending, stuck)


def _pending(copy: OperationStatus | None, subject: str | None) -> bool:
    """Whether an import is wanted, and neither done nor given up."""
    return subject is not None and not (copy and copy.subject == subject and copies.settled(copy))


def _again(both: _Copies, now: str, moving: float) -> float | None:
    """Seconds until the next step."""
    return soonest(
        both.imports.again,
        both.exports.again,
        -elapsed(both.schedule.next, now) if both.schedule.next else None,
        moving if both.export_due and not both.hold else None,
    )


def _tier(condition: Condition, reached: bool, importing: bool) -> TierStatus:
    phase = "Failed" if condition.deserves_event else "Configured"
    if importing:
        phase = "Importing"
    return TierStatus(name="cloudStorage", phase=phase if reached else copies.WAITING)


# What is said: what is in progress, else what is wrong, else what was done last.


def _condition(both: _Copies, paths: Paths, before: Condition | None) -> Condition:
    """`before` is the last condition, which stands while a copy that failed is tried again."""
    return _of_import(both, paths, before) or _of_export(both, paths, before) or _of_the_past(both, paths)


def _of_import(both: _Copies, paths: Paths, before: Condition | None) -> Condition | None:
    copy = both.imports.status
    if copy and copies.runs(copy):
        stuck = "; it has not got on for half an hour, and engines do not wait for it any more"
        return copies.running(paths, copy, stuck if both.stuck else "", before)
    if not both.pending:
        return None
    if copy and copy.subject == both.subject:
        return copies.failed(paths, copy, "it is tried again, and engines wait for it")
    return copies.waiting(f"the import from {paths.uri} waits: {both.hold or 'an export is under way'}")


def _of_export(both: _Copies, paths: Paths, before: Condition | None) -> Condition | None:
    copy, schedule = both.exports.status, both.schedule
    if copy and copies.runs(copy):
        return copies.running(paths, copy, "", before)
    if schedule.problem:
        text = f"exportSchedule {schedule.expression!r} is no cron expression: {schedule.problem}"
        return false(
            CLOUD_STORAGE_SYNCED,
            Reason.INVALID_SCHEDULE,
            f"{text}; nothing is exported by schedule until it is corrected, to such as 0 3 * * *",
        )
    if both.export_due and both.hold:
        return copies.waiting(f"the export to {paths.uri} ({schedule.due}) waits: {both.hold}")
    if copy and copy.state == "Failed" and schedule.due:
        return copies.failed(paths, copy, "it is tried again")
    return None


def _of_the_past(both: _Copies, paths: Paths) -> Condition:
    exported, imported = both.exports.status, both.imports.status
    if exported and exported.state == "Succeeded":
        return copies.done(paths, exported)
    if imported and imported.subject == both.subject:
        if imported.state == "Succeeded":
            return copies.done(paths, imported)
        return copies.failed(paths, imported, _without_import(paths))
    if both.schedule.next:
        text = f"the next export to {paths.uri} is at {both.schedule.next}"
    else:
        text = "no export is scheduled (cloudStorage.exportSchedule)"
    return true(CLOUD_STORAGE_SYNCED, Reason.NOTHING_DUE, text)


def _without_import(paths: Paths) -> str:
    _, _, _, zone, _, name = paths.instance.split("/")
    return (
        f"engines go on without it. To import later: gcloud lustre instances import-data {name} --location={zone} "
        f"--gcs-path-uri={paths.uri} --lustre-path={paths.directory}"
    )


# While the instance cannot be seen.


def _unseen(
    lustre: LustreView, import_on_create: bool, reached: bool, before: Condition | None
) -> CloudStorage:
    """Nothing is asked for. `reached`: the shared tier has been usable before; `before` is the last condition."""
    operations = lustre.operations
    wait = _patience(before, operations.now)
    imported = operations.recorded.get("Import")
    wanted = reached and import_on_create and not _imported(imported, lustre.instance_name)
    importing = lustre.error is not None and wanted and wait is not None
    if lustre.error:
        condition = _outage(lustre.error, wanted, importing)
    else:
        condition = _without_instance(lustre.instance_name, reached)
    known = copies.remembered(operations)
    polls = [operations.pace.moving for one in known if copies.runs(one)]
    looks = [wait, operations.pace.waiting] if importing else []
    reported = Part(
        conditions=(condition,),
        tiers=(_tier(condition, reached, importing),),
        operations=known,
        again=soonest(*looks, *polls),
    )
    return CloudStorage(reported, importing)


def _patience(before: Condition | None, now: str) -> float | None:
    """For how many seconds engines still wait for an import that cannot be asked for; None when that was too long."""
    since = before.last_transition_time if before and before.status == "Unknown" else None
    return None if copies.overdue(since or now, now) else copies.PATIENCE_SECONDS - elapsed(since or now, now)


def _imported(copy: OperationStatus | None, instance: str | None) -> bool:
    return bool(copy and instance and copies.is_about(copy, instance) and copies.settled(copy))


def _outage(error: str, wanted: bool, importing: bool) -> Condition:
    """`wanted`: an import is still to be done, `importing`: engines wait for it."""
    note = "engines wait for the import for half an hour" if importing else "engines go on without the import"
    text = f"{error}; {note}" if wanted else error
    return unknown(CLOUD_STORAGE_SYNCED, Reason.LUSTRE_API_UNAVAILABLE, text)


def _without_instance(name: str | None, reached: bool) -> Condition:
    if not reached:
        return copies.waiting("nothing is copied before the shared tier can be written to")
    if name is None:
        text = "it is not known yet which instance the tier is"
        return unknown(CLOUD_STORAGE_SYNCED, Reason.INSTANCE_UNKNOWN, text)
    text = f"the Lustre API knows no instance {name}: nothing can be copied"
    return false(CLOUD_STORAGE_SYNCED, Reason.INSTANCE_MISSING, text)


# The schedule: cron expressions, in UTC.

_AHEAD_SECONDS = 86400.0
"""A last export further ahead than this was made while the clock was wrong, and counts for nothing."""


def read_schedule(expression: str | None, last: str, usable_since: str, now: str) -> Schedule:
    """What a schedule says now.

    `last` is the time for which the last export was made, or no time at all. `usable_since` is when the shared tier
    could first be written to.
    """
    if not expression:
        return Schedule()
    if wrong := schedule_problem(expression, now):
        return Schedule(expression, problem=wrong)
    return Schedule(
        expression,
        due=_due(last_time(expression, now), last, usable_since, now),
        next=next_time(expression, now),
    )


def schedule_problem(expression: str, now: str) -> str:
    """What is wrong with an expression, empty if nothing is."""
    try:
        found = next(CronSim(expression, _second(now)), None)
    except CronSimError as error:
        return str(error)
    return "" if found else "it names no time in the next 50 years"


def last_time(expression: str, now: str) -> str:
    """The last time up to now, empty where there was none."""
    found = next(CronSim(expression, _second(now) + timedelta(seconds=1), reverse=True), None)
    return times.text(found) if found else ""


def next_time(expression: str, now: str) -> str:
    """The next time after now. `schedule_problem` must have found none."""
    return times.text(next(CronSim(expression, _second(now))))


def _due(latest: str, last: str, usable_since: str, now: str) -> str:
    """The latest time, unless a later one was seen to: of several that were missed only the latest counts.

    The first one is after the tier became usable. A time ahead of now was noted while the clock was wrong.
    """
    if -_AHEAD_SECONDS <= elapsed(last, now) < math.inf:
        return latest if parse(latest) >= parse(last) else ""
    return latest if not parse(latest) <= parse(usable_since) <= parse(now) else ""


def _second(time: str) -> datetime:
    return parse(time).astimezone(UTC).replace(microsecond=0)
