"""The export before the instance is deleted: its data goes only once it has arrived in Cloud Storage."""

from dataclasses import dataclass, field

from kvtier.api.conditions import CLOUD_STORAGE_SYNCED, Condition, find
from kvtier.api.v1alpha1 import OperationStatus
from kvtier.context import Context, LustreView
from kvtier.facts.operations import Operations
from kvtier.plan.lustre import copies
from kvtier.plan.lustre.copies import Paths
from kvtier.plan.lustre.operations import Followed, follow
from kvtier.plan.model import Part

_SUBJECT = "deletion"


@dataclass(frozen=True)
class FinalExport:
    """What to do, and what a teardown does then; its default where nothing is to be exported.

    `part` has calls, the condition, operations, which the status must remember, and when to look again. `waits` says
    what is waited for, empty when nothing is. `failed` says why the data has not reached Cloud Storage: then claim,
    volume and instance must be kept.
    """

    part: Part = field(default_factory=Part)
    waits: str = ""
    failed: str = ""


def plan_final_export(context: Context) -> FinalExport:
    """Where the export before deletion stands.

    Case 1: another copy is under way -> it is followed to its end first.
    Case 2: the export has succeeded, with nothing left behind -> the data may go.
    Case 3: it was tried often enough, or nothing has happened for half an hour -> the data must be kept.
    Case 4: else -> it is asked for, and asked for again.
    """
    pool, lustre, now = context.pool, context.lustre, context.now
    tier = pool.spec.tiers.cloud_storage
    if tier is None or not tier.export_before_deletion or pool.spec.deletion_policy != "Delete":
        return FinalExport()
    if lustre.instance_name is None or not _has_data(lustre, copies.was_reached(pool.status.tiers)):
        return FinalExport()
    paths = copies.paths_of(pool, tier.uri, lustre.instance_name)
    imported = _with_error(follow(lustre.operations, "Import", None).status, lustre.error, now)
    importing = imported is not None and copies.runs(imported) and copies.answered(imported)
    exports = _export(lustre.operations, paths, importing)
    export = _with_error(exports.status, lustre.error, now)
    copy = imported if importing else export
    assert copy is not None, "without an import, the export is asked for or was given up"
    condition = _condition(paths, copy, find(pool.status.conditions, CLOUD_STORAGE_SYNCED))
    part = Part(
        conditions=(condition,),
        calls=exports.calls,
        operations=tuple(one for one in (imported, export) if one),
        again=context.pace.moving if copies.runs(copy) else exports.again,
    )
    return _outcome(part, copies.title(paths, copy), copy, condition, now)


def _has_data(lustre: LustreView, reached: bool | None) -> bool:
    """Whether the instance goes with the pool, and has ever been written to.

    `reached`: it has been usable, as the status says; where that says nothing, one whose claim is bound counts.
    """
    if lustre.spec is None or lustre.spec.provisioner == "Existing":
        return False
    used = lustre.bound_claim is not None if reached is None else reached
    return used and not (lustre.api is not None and lustre.api.absent)


def _export(operations: Operations, paths: Paths, importing: bool) -> Followed:
    """The export before deletion, or one of the schedule that still runs."""
    last = operations.recorded.get("Export")
    given_up = last is not None and last.subject == _SUBJECT and copies.given_up(last)
    due = not importing and not given_up
    found = copies.follow_copy(operations, "Export", _SUBJECT, paths, due)
    status = found.status
    if due and status and status.subject != _SUBJECT and not copies.runs(status):
        return follow(operations, "Export", copies.desired("Export", _SUBJECT, paths))
    return found


def _with_error(copy: OperationStatus | None, error: str | None, now: str) -> OperationStatus | None:
    """A copy that runs, with why it cannot be seen.

    Its patience begins again then: an operator that was away has not seen either whether the copy made progress.
    """
    if copy is None or not copies.runs(copy):
        return copy
    if error is None:
        return copy.model_copy(update={"message": None})
    if copy.message is not None:
        return copy
    return copy.model_copy(update={"message": error[:1000], "progress_time": now})


def _condition(paths: Paths, copy: OperationStatus, before: Condition | None) -> Condition:
    if copies.runs(copy):
        return copies.running(paths, copy, f" ({copy.message})" if copy.message else "", before)
    if copy.state == "Succeeded":
        return copies.done(paths, copy)
    return copies.failed(paths, copy, "the data is kept" if copies.given_up(copy) else "it is tried again")


def _outcome(part: Part, title: str, copy: OperationStatus, condition: Condition, now: str) -> FinalExport:
    if copies.stalled(copy, now):
        why = f" ({copy.message})" if copy.message else ""
        return FinalExport(part, failed=f"{title} has not got on for half an hour{why}")
    if copy.subject != _SUBJECT or not copies.settled(copy):
        return FinalExport(part, waits=condition.message)
    arrived = copy.state == "Succeeded" and copies.complete(copy)
    return FinalExport(part) if arrived else FinalExport(part, failed=condition.message)
