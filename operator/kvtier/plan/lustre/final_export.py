"""The export before deletion: kvtier deletes the data only after the export to Cloud Storage succeeded."""

from dataclasses import dataclass, field

from kvtier.api.conditions import CLOUD_STORAGE_SYNCED, Condition, find
from kvtier.api.sentences import sentences
from kvtier.api.v1alpha1 import OperationStatus
from kvtier.checks import access
from kvtier.context import Context, LustreView
from kvtier.facts.operations import Operations
from kvtier.plan.lustre import copies
from kvtier.plan.lustre.copies import Paths
from kvtier.plan.lustre.delete import driver_volumes, has_unread_volume
from kvtier.plan.lustre.operations import Followed, follow
from kvtier.plan.lustre.ownership import Owner, owner
from kvtier.plan.model import Part


@dataclass(frozen=True)
class FinalExport:
    """The state of the export before deletion. The default: nothing to export.

    `part`: calls, the condition, the operations that the status must keep, and when to reconcile again. `waits`: what
    the deletion waits for, in full sentences, empty if nothing. `failed`: why the export failed, in full sentences;
    then kvtier keeps PVC, PersistentVolume and instance.
    """

    part: Part = field(default_factory=Part)
    waits: str = ""
    failed: str = ""


def plan_final_export(context: Context) -> FinalExport:
    """The state of the export before deletion, and its next request.

    Case 1: the bucket or the project is not granted any more -> keep the data.
    Case 2: another copy is in progress -> wait until it ends.
    Case 3: the export succeeded, and copied all objects -> the data may be deleted.
    Case 4: the export failed finally, or made no progress for 30 minutes -> keep the data.
    Case 5: otherwise -> request the export, and retry it.
    """
    pool, lustre, now = context.pool, context.lustre, context.now
    tier = pool.spec.tiers.cloud_storage
    if tier is None or not tier.export_before_deletion or pool.spec.deletion_policy != "Delete":
        return FinalExport()
    reached = copies.was_reached(pool.status.tiers)
    if lustre.instance_name is None or not (_goes(context) and _has_data(lustre, reached)):
        return FinalExport()
    if ungranted := access.missing(context, "buckets", "projects"):
        values = ", ".join(one.text for one in ungranted)
        return FinalExport(failed=f"kvtier may not export to {tier.uri}, because {values} is not granted.")
    paths = copies.paths_of(pool, tier.uri, lustre.instance_name)
    imported = _with_error(follow(lustre.operations, "Import", None).status, lustre.error, now)
    importing = imported is not None and copies.runs(imported) and copies.answered(imported)
    exports = _export(lustre.operations, paths, importing)
    export = _with_error(exports.status, lustre.error, now)
    copy = imported if importing else export
    assert copy is not None, "without an import, an export was requested, or failed finally"
    condition = _condition(paths, copy, find(pool.status.conditions, CLOUD_STORAGE_SYNCED))
    part = Part(
        conditions=(condition,),
        calls=exports.calls,
        operations=tuple(one for one in (imported, export) if one),
        again=context.pace.moving if copies.runs(copy) else exports.again,
    )
    return _outcome(part, copies.title(paths, copy), copy, condition, now)


def _has_data(lustre: LustreView, reached: bool | None) -> bool:
    """Whether the instance may exist, and engines could ever write to it.

    `reached`: the tier was usable, according to the status; if that is None, a bound PVC decides.
    """
    used = lustre.bound_claim is not None if reached is None else reached
    return used and not (lustre.api is not None and lustre.api.absent)


def _goes(context: Context) -> bool:
    """Whether the deletion of the pool deletes the instance. Otherwise it is not exported: it belongs to others."""
    lustre = context.lustre
    if lustre.spec is None or lustre.spec.provisioner == "Existing":
        return False
    cluster, instance = context.facts.own_cluster, lustre.instance
    if lustre.spec.provisioner == "API":
        return instance is None or owner(context.pool, cluster, instance) is Owner.THIS_POOL
    unread = lustre.own_claim is not None and has_unread_volume(lustre.own_claim, context.facts.volumes)
    return unread or any(one.instance == lustre.instance_name for one in driver_volumes(lustre))


def _export(operations: Operations, paths: Paths, importing: bool) -> Followed:
    """The export before deletion, or a scheduled export that still runs."""
    last = operations.recorded.get("Export")
    given_up = last is not None and last.subject == copies.BEFORE_DELETION and copies.given_up(last)
    due = not importing and not given_up
    found = copies.follow_copy(operations, "Export", copies.BEFORE_DELETION, paths, due)
    status = found.status
    if due and status and status.subject != copies.BEFORE_DELETION and not copies.runs(status):
        return follow(operations, "Export", copies.desired("Export", copies.BEFORE_DELETION, paths))
    return found


def _with_error(copy: OperationStatus | None, error: str | None, now: str) -> OperationStatus | None:
    """A running copy, with `error` as its message if kvtier cannot read its progress.

    The 30 minutes without progress then start again, because kvtier may not have run since the last progress.
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
        return copies.running(paths, copy, copy.message or "", before)
    if copy.state == "Succeeded":
        return copies.done(paths, copy)
    kept = "kvtier does not retry, and keeps the data"
    return copies.failed(paths, copy, kept if copies.given_up(copy) else "kvtier retries")


def _outcome(part: Part, title: str, copy: OperationStatus, condition: Condition, now: str) -> FinalExport:
    if copies.stalled(copy, now):
        failed = sentences(f"{title} made no progress for 30 minutes", copy.message or "")
        return FinalExport(part, failed=failed)
    if copy.subject != copies.BEFORE_DELETION or not copies.settled(copy):
        return FinalExport(part, waits=condition.message)
    arrived = copy.state == "Succeeded" and copies.complete(copy)
    return FinalExport(part) if arrived else FinalExport(part, failed=condition.message)
