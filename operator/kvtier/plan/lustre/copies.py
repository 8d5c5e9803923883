"""One copy between the shared tier and Cloud Storage: how it is asked for, and when it is given up."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from cronsim import CronSim, CronSimError

from kvtier.api.conditions import CLOUD_STORAGE_SYNCED, Condition, false, relayed, true
from kvtier.api.quantities import GIB
from kvtier.api.reasons import Reason
from kvtier.api.times import elapsed
from kvtier.api.v1alpha1 import CloudStorageTier, KVCachePool, OperationStatus
from kvtier.engines.fingerprint import pool_directory
from kvtier.facts.model import Facts, Instance, Observed
from kvtier.facts.operations import operations_of
from kvtier.plan.lustre.operations import BUSY, DesiredOperation, Followed, follow, last
from kvtier.plan.lustre.storage import bound

Kind = Literal["Import", "Export"]

PATIENCE_SECONDS = 1800.0
"""How long nothing may happen before the rest goes on without a copy."""

WAITING = "Waiting"
"""Phase of the tier before it was usable for the first time."""

_ATTEMPTS = {
    **dict.fromkeys(BUSY, 30),
    **dict.fromkeys(
        ("PermissionDenied", "Unauthenticated", "Unavailable", "DeadlineExceeded", "Internal", "Unknown"), 6
    ),
}
"""By error code, what half an hour has room for, as the waits of `follow` are."""

_OTHER_ATTEMPTS = 3


def follow_copy(pool: KVCachePool, facts: Facts, copy: DesiredOperation, due: bool, now: str) -> Followed:
    """The last copy of that kind, and this one, if it is due.

    One that runs is followed to its end first; a request of it that was lost is repeated as it was.
    """
    known, seen = last(pool, copy.kind), operations_of(pool, facts.lustre, now)
    if known and known.state == "Running":
        return follow(seen, copy.kind, replace(copy, subject=known.subject))
    return follow(seen, copy.kind, copy if due else None)


def remembered(pool: KVCachePool, facts: Facts, now: str) -> tuple[OperationStatus, ...]:
    """The last copies, without asking for any: what was done must not be done again."""
    kinds: tuple[Kind, ...] = ("Import", "Export")
    seen = operations_of(pool, facts.lustre, now)
    return tuple(one for kind in kinds for one in follow(seen, kind, None).operations)


def begun(operation: OperationStatus) -> bool:
    """Whether the API has answered to the request: one that nobody repeats would seem to run for ever."""
    return operation.name is not None or operation.state != "Running"


def import_subject(instance: Instance) -> str:
    """Tells an instance from another one that is made under its name later."""
    return f"{_id(instance.name)}@{instance.created}" if instance.created else _id(instance.name)


def is_about(operation: OperationStatus, instance: str) -> bool:
    """Whether an import was one to the instance of this full name."""
    return operation.subject.split("@")[0] == _id(instance)


def given_up(operation: OperationStatus) -> bool:
    """Whether a copy has failed so often that it is not tried again."""
    most = _ATTEMPTS.get(operation.code or "", _OTHER_ATTEMPTS)
    return operation.state == "Failed" and operation.attempt >= most


def settled(operation: OperationStatus) -> bool:
    """Whether nothing more will come of it."""
    return operation.state == "Succeeded" or given_up(operation)


def stalled(operation: OperationStatus, now: str) -> bool:
    """Whether a copy that runs has not got on for long."""
    return operation.state == "Running" and overdue(operation.progress_time or operation.start_time, now)


def overdue(since: str, now: str) -> bool:
    """Whether that is too long ago, or so far ahead that the clock must have been put back."""
    return abs(elapsed(since, now)) >= PATIENCE_SECONDS


def complete(operation: OperationStatus) -> bool:
    """Whether what was found has arrived: missing permissions are said to pass without an error."""
    counts = operation.transfer
    return counts is None or counts.objects_copied + counts.objects_skipped >= counts.objects_found


def path(pool: KVCachePool) -> str:
    """The pool's own directory on the file system. It exists once the tier has been found writable."""
    return f"/{pool_directory(pool)}/"


def reached(pool: KVCachePool, observed: Observed) -> bool:
    """Whether the claim that is bound now has been usable before, so that the pool's directory is there."""
    before = next((tier.phase for tier in pool.status.tiers if tier.name == "cloudStorage"), WAITING)
    return before != WAITING and bound(pool, observed) is not None


def wish(pool: KVCachePool, kind: Kind, subject: str | None, instance: str) -> DesiredOperation:
    """A copy between the pool's directory on an instance and its place in Cloud Storage."""
    tier = pool.spec.tiers.cloud_storage
    return DesiredOperation(
        kind, subject or "", instance, {"uri": tier.uri if tier else "", "path": path(pool)}
    )


def _id(instance: str) -> str:
    return instance.rpartition("/")[2]


def problem(expression: str, now: str) -> str:
    """What is wrong with an expression, empty if nothing is."""
    try:
        found = next(CronSim(expression, _utc(now)), None)
    except CronSimError as error:
        return str(error)
    return "" if found else "it names no time in the next 50 years"


def latest(expression: str, now: str) -> str | None:
    """The last time up to now."""
    found = next(CronSim(expression, _utc(now) + timedelta(seconds=1), reverse=True), None)
    return _text(found) if found else None


def following(expression: str, now: str) -> str:
    """The next time after now. `problem` must have found none."""
    return _text(next(CronSim(expression, _utc(now))))


def _utc(time: str) -> datetime:
    return datetime.fromisoformat(time).astimezone(UTC).replace(microsecond=0)


def _text(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


_AGENT = "service-PROJECT_NUMBER@gcp-sa-lustre.iam.gserviceaccount.com"
"""docs.cloud.google.com/managed-lustre: the service agent that moves the data."""

_DOING = {"Import": Reason.IMPORTING, "Export": Reason.EXPORTING}
_DONE = {"Import": Reason.IMPORTED, "Export": Reason.EXPORTED}
_FAILED = {"Import": Reason.IMPORT_FAILED, "Export": Reason.EXPORT_FAILED}


def waiting(what: str) -> Condition:
    return false(CLOUD_STORAGE_SYNCED, Reason.WAITING, what)


def running(pool: KVCachePool, tier: CloudStorageTier, copy: OperationStatus, note: str) -> Condition:
    """A copy under way. Trying again says nothing new until it has ended, but for what the note tells."""
    before = next((one for one in pool.status.conditions if one.type == CLOUD_STORAGE_SYNCED), None)
    again = (_FAILED[copy.kind],) if copy.name else (_FAILED[copy.kind], Reason.WAITING)
    if before and not note and copy.attempt > 1 and before.reason in again:
        return relayed(CLOUD_STORAGE_SYNCED, before.reason, before.message)
    return false(CLOUD_STORAGE_SYNCED, _DOING[copy.kind], f"{title(tier, copy)} {progress(copy)}{note}")


def failed(tier: CloudStorageTier, copy: OperationStatus, instance: str, then: str) -> Condition:
    """A copy that has failed, and what is done `then`."""
    if copy.code in BUSY and not given_up(copy):
        return waiting(
            f"{title(tier, copy)} waits: the instance has another copy or change under way, and is asked every minute"
        )
    return false(
        CLOUD_STORAGE_SYNCED,
        _FAILED[copy.kind],
        f"{title(tier, copy)} has failed: {errors(copy)}; {advice(tier, copy, instance)}; {then}",
    )


def done(tier: CloudStorageTier, copy: OperationStatus, instance: str) -> Condition:
    """A copy that the API calls done. What was found and has not arrived makes it a failed one."""
    counts, agent = copy.transfer, _access(tier, instance)
    if not complete(copy):
        return false(
            CLOUD_STORAGE_SYNCED,
            _FAILED[copy.kind],
            f"{title(tier, copy)} has ended, but {errors(copy)}; {agent}",
        )
    text = f"{title(tier, copy)} has ended at {copy.progress_time}"
    if counts:
        gib = counts.bytes_copied / GIB
        text += (
            f": {counts.objects_copied} objects ({gib:.1f}Gi) copied, {counts.objects_skipped} there before"
        )
    if counts and copy.kind == "Import" and not counts.objects_found + counts.objects_skipped:
        text += f"; nothing was found there: if that is wrong, {agent}"
    return true(CLOUD_STORAGE_SYNCED, _DONE[copy.kind], text)


def title(tier: CloudStorageTier, copy: OperationStatus) -> str:
    """The copy as the subject of a sentence."""
    if copy.kind == "Import":
        return f"the import from {tier.uri}"
    return f"the export to {tier.uri} ({copy.subject})"


def progress(copy: OperationStatus) -> str:
    """How far it is, coarse enough to be written seldom."""
    counts = copy.transfer
    if counts is None or not counts.objects_found:
        return "has begun"
    ended = counts.objects_copied + counts.objects_skipped + counts.objects_failed
    return f"is under way, {min(ended * 10 // counts.objects_found, 10)}0% of what was found so far"


def errors(copy: OperationStatus) -> str:
    """What went wrong, as the API tells it."""
    counts = copy.transfer
    missing = counts.objects_found - counts.objects_copied - counts.objects_skipped if counts else 0
    told = copy.message or (copy.code or "")
    if counts and missing > 0:
        return f"{missing} of {counts.objects_found} objects were not copied" + (f" ({told})" if told else "")
    return told


def advice(tier: CloudStorageTier, copy: OperationStatus, instance: str) -> str:
    """What to do about a copy that has failed."""
    if copy.name is None and copy.code == "PermissionDenied":
        project = instance.split("/")[1]
        return (
            f"grant roles/lustre.admin in project {project} to kvtier's service account (Workload Identity)"
        )
    if copy.code == "InvalidArgument":
        return "correct spec.tiers.cloudStorage.uri, or what the message names"
    if copy.name is None and copy.code in BUSY:
        return "see that nobody else copies to or from the instance, and that it is ACTIVE"
    if copy.name is None:
        return "nothing needs to be done unless it stays so"
    return _access(tier, instance)


def _access(tier: CloudStorageTier, instance: str) -> str:
    bucket = "/".join(tier.uri.split("/")[:3])
    return (
        f"see that {bucket} exists, and let the Managed Lustre service agent {_AGENT} (of project "
        f"{instance.split('/')[1]}) read and write its objects"
    )
