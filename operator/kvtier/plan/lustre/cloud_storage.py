"""Copies between the Lustre tier and Cloud Storage: one import into each instance, and scheduled exports.

Two copies never run at once. Engines wait for the import for a limited time.
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
from kvtier.api.sentences import sentences
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
    """The copies to request, and CloudStorageSynced. `importing`: engines wait for the import."""

    part: Part = field(default_factory=Part)
    importing: bool = False


def plan_cloud_storage(context: Context, usable: bool, refused: Sequence[Condition] = ()) -> CloudStorage:
    """The copy that is in progress or due. `usable`: engines can write to the Lustre tier now. `refused`: AccessGranted
    if the pool uses something that is not granted.

    Case 1: no Cloud Storage in the spec -> request nothing; keep the finished copies in the status.
    Case 2: something is not granted -> request nothing.
    Case 3: the instance is unknown -> request nothing; engines wait for a limited time.
    Case 4: the import is not finished -> run it before exports; engines wait for it.
    Case 5: a scheduled time has passed -> run one export, even if several times were missed.
    """
    pool, lustre, now = context.pool, context.lustre, context.now
    tier, operations = pool.spec.tiers.cloud_storage, lustre.operations
    if tier is None:
        known = copies.remembered(operations)
        return CloudStorage(Part(operations=tuple(one for one in known if copies.answered(one))))
    before = find(pool.status.conditions, CLOUD_STORAGE_SYNCED)
    reached = usable or bool(lustre.bound_claim and copies.was_reached(pool.status.tiers))
    if refused:
        return _held(operations, tier.uri, refused, reached)
    if lustre.instance is None:
        return _unknown_instance(lustre, tier.import_on_create, reached, before)
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


def _held(operations: Operations, uri: str, refused: Sequence[Condition], reached: bool) -> CloudStorage:
    """Start no copy. One that runs at Google continues."""
    clauses = ", ".join(one.clause for one in refused)
    condition = copies.waiting(f"kvtier starts no copy from or to {uri} while {clauses}.")
    tiers = (_tier(condition, reached, importing=False),)
    return CloudStorage(Part(conditions=(condition,), tiers=tiers, operations=copies.remembered(operations)))


def _usable_since(last: Sequence[Condition]) -> str | None:
    """When the Lustre tier became usable, from the last conditions; None if they do not include it."""
    since = {one.type: one.last_transition_time for one in last if one.status == "True"}
    return since.get(TIER_WRITABLE) or since.get(STORAGE_READY)


def _hold(usable: bool, recorded: Mapping[str, OperationStatus], state: str) -> str:
    """Why no copy may start now, as a clause; empty if one may."""
    if not usable:
        return "engines cannot write to the Lustre tier yet"
    if any(copies.runs(recorded.get(kind)) for kind in ("Create", "Update", "Delete")):
        return "another operation on the instance is in progress"
    return "" if state == "ACTIVE" else f"the instance is {state}"


@dataclass(frozen=True)
class Schedule:
    """A cron expression at the present time. All fields are empty without a schedule.

    `due`: the latest scheduled time, for which an export is due or was made. `next`: the first time after now.
    `problem`: why the expression is invalid.
    """

    expression: str = ""
    problem: str = ""
    due: str = ""
    next: str = ""


@dataclass(frozen=True)
class _Copies:
    """The last copies, including those that start now, and what is still to do.

    `hold`: why no copy may start, empty if one may. `subject`: the instance that needs an import, None if none is
    wanted. `pending`: that import has neither succeeded nor failed finally. `stuck`: it runs without progress.
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
        """Whether a scheduled time has passed for which no export was requested."""
        last = self.exports.status
        return bool(self.schedule.due) and not (last and last.subject == self.schedule.due)


def _copies(
    operations: Operations, paths: Paths, subject: str | None, schedule: Schedule, hold: str
) -> _Copies:
    """The copies to follow or start. An import runs before exports, but waits for a running export."""
    imported, exported = operations.recorded.get("Import"), operations.recorded.get("Export")
    free = not hold and not copies.runs(exported)
    imports = copies.follow_copy(operations, "Import", subject, paths, free and _pending(imported, subject))
    pending = _pending(imports.status, subject)
    free = not hold and not pending and not copies.runs(imports.status)
    exports = copies.follow_copy(operations, "Export", schedule.due, paths, free and bool(schedule.due))
    stuck = copies.stalled(imports.status, operations.now)
    return _Copies(imports, exports, schedule, hold, subject, pending, stuck)


def _pending(copy: OperationStatus | None, subject: str | None) -> bool:
    """Whether an import is wanted, and has neither succeeded nor failed finally."""
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


# CloudStorageSynced: a copy in progress first, then a failure, then the last copy.


def _condition(both: _Copies, paths: Paths, before: Condition | None) -> Condition:
    """CloudStorageSynced. `before`: the last condition, which stays while a failed copy is retried."""
    return _of_import(both, paths, before) or _of_export(both, paths, before) or _of_the_past(both, paths)


def _of_import(both: _Copies, paths: Paths, before: Condition | None) -> Condition | None:
    copy = both.imports.status
    if copy and copies.runs(copy):
        stuck = "It made no progress for 30 minutes, so engines no longer wait for it"
        return copies.running(paths, copy, stuck if both.stuck else "", before)
    if not both.pending:
        return None
    if copy and copy.subject == both.subject:
        return copies.failed(paths, copy, "kvtier retries, and engines wait for the import")
    hold = both.hold or "an export is in progress"
    return copies.waiting(f"The import from {paths.uri} is waiting because {hold}.")


def _of_export(both: _Copies, paths: Paths, before: Condition | None) -> Condition | None:
    copy, schedule = both.exports.status, both.schedule
    if copy and copies.runs(copy):
        return copies.running(paths, copy, "", before)
    if schedule.problem:
        text = sentences(
            f"exportSchedule {schedule.expression!r} is not a valid cron expression: {schedule.problem}",
            'kvtier makes no scheduled exports until you correct it, for example to "0 3 * * *"',
        )
        return false(CLOUD_STORAGE_SYNCED, Reason.INVALID_SCHEDULE, text)
    if both.export_due and both.hold:
        return copies.waiting(f"The export to {paths.uri} ({schedule.due}) is waiting because {both.hold}.")
    if copy and copy.state == "Failed" and schedule.due:
        return copies.failed(paths, copy, "kvtier retries")
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
        text = f"The next export to {paths.uri} is at {both.schedule.next}."
    else:
        text = "No export is scheduled. To schedule exports, set tiers.cloudStorage.exportSchedule."
    return true(CLOUD_STORAGE_SYNCED, Reason.NOTHING_DUE, text)


def _without_import(paths: Paths) -> str:
    _, project, _, zone, _, name = paths.instance.split("/")
    return (
        "Engines serve without the imported data. To import it later: gcloud lustre instances import-data "
        f"{name} --project={project} --location={zone} --gcs-path-uri={paths.uri} --lustre-path={paths.directory}"
    )


# While the instance is unknown.


def _unknown_instance(
    lustre: LustreView, import_on_create: bool, reached: bool, before: Condition | None
) -> CloudStorage:
    """Request nothing. `reached`: the Lustre tier was usable before. `before`: the last condition."""
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
    """Seconds that engines still wait for an import that kvtier cannot request; None if they waited too long."""
    since = before.last_transition_time if before and before.status == "Unknown" else None
    return None if copies.overdue(since or now, now) else copies.PATIENCE_SECONDS - elapsed(since or now, now)


def _imported(copy: OperationStatus | None, instance: str | None) -> bool:
    return bool(copy and instance and copies.is_about(copy, instance) and copies.settled(copy))


def _outage(error: str, wanted: bool, importing: bool) -> Condition:
    """The Lustre API failed. `wanted`: an import is still to do. `importing`: engines wait for it."""
    wait, skip = "Engines wait up to 30 minutes for the import", "Engines serve without the imported data"
    text = sentences(error, (wait if importing else skip) if wanted else "")
    return unknown(CLOUD_STORAGE_SYNCED, Reason.LUSTRE_API_UNAVAILABLE, text)


def _without_instance(name: str | None, reached: bool) -> Condition:
    if not reached:
        return copies.waiting("kvtier copies nothing until engines can write to the Lustre tier.")
    if name is None:
        text = "The instance is not known until the PVC is bound. Set spec.cluster to look it up earlier."
        return unknown(CLOUD_STORAGE_SYNCED, Reason.INSTANCE_UNKNOWN, text)
    text = f"Instance {name} does not exist, so kvtier cannot copy data. See StorageReady."
    return false(CLOUD_STORAGE_SYNCED, Reason.INSTANCE_MISSING, text)


# The schedule: cron expressions, in UTC.

_AHEAD_SECONDS = 86400.0
"""A last export further in the future was recorded while the clock was wrong, and is ignored."""


def read_schedule(expression: str | None, last: str, usable_since: str, now: str) -> Schedule:
    """The schedule at the time `now`.

    `last`: the scheduled time of the last export; it may be no time at all. `usable_since`: when engines could first
    write to the Lustre tier.
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
    """Why an expression is invalid, empty if it is valid."""
    try:
        found = next(CronSim(expression, _second(now)), None)
    except CronSimError as error:
        return str(error)
    return "" if found else "it matches no time in the next 50 years"


def last_time(expression: str, now: str) -> str:
    """The last matching time up to now, empty if there is none."""
    found = next(CronSim(expression, _second(now) + timedelta(seconds=1), reverse=True), None)
    return times.text(found) if found else ""


def next_time(expression: str, now: str) -> str:
    """The next matching time after now. The expression must be valid, see `schedule_problem`."""
    return times.text(next(CronSim(expression, _second(now))))


def _due(latest: str, last: str, usable_since: str, now: str) -> str:
    """The latest scheduled time, empty if an export was made for it or for a later one.

    Only the latest of several missed times counts. Times before the tier became usable do not count. A `last` in the
    future was recorded while the clock was wrong.
    """
    if -_AHEAD_SECONDS <= elapsed(last, now) < math.inf:
        return latest if parse(latest) >= parse(last) else ""
    return latest if not parse(latest) <= parse(usable_since) <= parse(now) else ""


def _second(time: str) -> datetime:
    return parse(time).astimezone(UTC).replace(microsecond=0)
