"""The copy to Cloud Storage before the instance goes."""

from dataclasses import dataclass, field

from kvtier.api.conditions import Condition
from kvtier.api.v1alpha1 import CloudStorageTier, KVCachePool, OperationStatus
from kvtier.facts.model import Observed
from kvtier.facts.operations import operations_of
from kvtier.plan.lustre import copies
from kvtier.plan.lustre.identity import instance_name
from kvtier.plan.lustre.operations import POLL_SECONDS, Followed, follow, last
from kvtier.plan.lustre.storage import bound
from kvtier.plan.model import Part

_SUBJECT = "deletion"


@dataclass(frozen=True)
class LastExport:
    """The copy before deletion.

    `part` has its calls, its condition, its operations, which the status must remember, and when to look
    again. `waits` says what is waited for, empty when nothing is. `failed` says why the data has not reached
    Cloud Storage: then claim, volume and instance must be kept.
    """

    part: Part = field(default_factory=Part)
    waits: str = ""
    failed: str = ""


def last_export(pool: KVCachePool, observed: Observed, now: str) -> LastExport:
    """Where the copy before deletion stands; its default where none is wanted, or there is nothing to copy.

    Case 1: a copy is under way -> it is followed to its end first.
    Case 2: the export has succeeded, with nothing left behind -> the data may go.
    Case 3: it was tried often enough, or nothing has happened for half an hour -> the data must be kept.
    Case 4: else -> ask for it, by and by.
    """
    tier, name = pool.spec.tiers.cloud_storage, instance_name(pool, observed)
    if tier is None or name is None or not _wanted(pool, tier, observed):
        return LastExport()
    first = _aware(
        follow(operations_of(pool, observed.facts.lustre, now), "Import", None).status, observed, now
    )
    busy = first is not None and first.state == "Running" and copies.begun(first)
    known = last(pool, "Export")
    over = busy or (known is not None and known.subject == _SUBJECT and copies.given_up(known))
    exports = _exports(pool, observed, name, not over, now)
    export = _aware(exports.status, observed, now)
    copy = first if busy else export
    if copy is None:
        return LastExport()
    condition = _condition(pool, tier, copy, name)
    operations = tuple(one for one in (first, export) if one)
    part = Part(
        conditions=(condition,), calls=exports.calls, operations=operations, again=_again(copy, exports)
    )
    return _outcome(part, tier, copy, condition, now)


def _exports(pool: KVCachePool, observed: Observed, instance: str, due: bool, now: str) -> Followed:
    """The last export, after one of the schedule that may still run."""
    wish = copies.wish(pool, "Export", _SUBJECT, instance)
    found = copies.follow_copy(pool, observed.facts, wish, due, now)
    earlier = found.status is not None and found.status.subject != _SUBJECT
    ended = found.status is not None and found.status.state != "Running"
    again = due and earlier and ended
    return follow(operations_of(pool, observed.facts.lustre, now), "Export", wish) if again else found


def _outcome(
    part: Part, tier: CloudStorageTier, copy: OperationStatus, condition: Condition, now: str
) -> LastExport:
    if copies.stalled(copy, now):
        why = f" ({copy.message})" if copy.message else ""
        return LastExport(part, failed=f"{copies.title(tier, copy)} has not got on for half an hour{why}")
    if condition.status == "True" and copy.subject == _SUBJECT:
        return LastExport(part)
    if copy.subject == _SUBJECT and copies.settled(copy):
        return LastExport(part, failed=condition.message)
    return LastExport(part, waits=condition.message)


def _condition(pool: KVCachePool, tier: CloudStorageTier, copy: OperationStatus, instance: str) -> Condition:
    if copy.state == "Running":
        return copies.running(pool, tier, copy, f" ({copy.message})" if copy.message else "")
    if copy.state == "Succeeded":
        return copies.done(tier, copy, instance)
    then = "the data is kept" if copies.given_up(copy) else "it is tried again"
    return copies.failed(tier, copy, instance, then)


def _again(copy: OperationStatus, exports: Followed) -> float | None:
    return POLL_SECONDS if copy.state == "Running" else exports.again


def _wanted(pool: KVCachePool, tier: CloudStorageTier, observed: Observed) -> bool:
    """Whether the instance goes, and has ever been written to. What nobody remembers counts as written to."""
    lustre, seen = pool.spec.tiers.lustre, observed.facts.lustre
    if pool.spec.deletion_policy != "Delete" or lustre is None or lustre.provisioner == "Existing":
        return False
    missing = seen is not None and seen.instance is None and seen.error is None
    phase = next((one.phase for one in pool.status.tiers if one.name == "cloudStorage"), None)
    used = phase != copies.WAITING if phase else bound(pool, observed) is not None
    return tier.export_before_deletion and used and not missing


def _aware(copy: OperationStatus | None, observed: Observed, now: str) -> OperationStatus | None:
    """A copy that runs, with why it cannot be seen.

    Patience begins anew then: an operator that was away has not seen either whether the copy got on.
    """
    if copy is None or copy.state != "Running":
        return copy
    error = observed.facts.lustre.error if observed.facts.lustre else None
    if error is None:
        return copy.model_copy(update={"message": None})
    if copy.message is not None:
        return copy
    return copy.model_copy(update={"message": error[:1000], "progress_time": now})
