"""One copy between the shared tier and Cloud Storage: how it is asked for, when it is over, and what is said of it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from kvtier.api.conditions import CLOUD_STORAGE_SYNCED, Condition, false, relayed, true
from kvtier.api.quantities import GIB
from kvtier.api.reasons import Reason
from kvtier.api.times import elapsed
from kvtier.api.v1alpha1 import KVCachePool, OperationStatus, TierStatus
from kvtier.engines.fingerprint import pool_directory
from kvtier.facts.model import Instance
from kvtier.facts.operations import Operations
from kvtier.plan.lustre.operations import BUSY, DesiredOperation, Followed, follow

Kind = Literal["Import", "Export"]

PATIENCE_SECONDS = 1800.0
"""How long nothing may happen before the rest goes on without a copy."""

WAITING = "Waiting"
"""Phase of the tier before it was usable for the first time."""


@dataclass(frozen=True)
class Paths:
    """Both ends of a copy: `uri` is gs://BUCKET/PREFIX/, `directory` one on the file system of `instance`.

    `instance` is projects/P/locations/ZONE/instances/ID.
    """

    uri: str
    instance: str
    directory: str


def paths_of(pool: KVCachePool, uri: str, instance: str) -> Paths:
    """Those of a pool. Its directory exists once the shared tier has been found writable."""
    return Paths(uri, instance, f"/{pool_directory(pool)}/")


def follow_copy(operations: Operations, kind: Kind, subject: str | None, paths: Paths, due: bool) -> Followed:
    """The last copy of a kind, and the one for `subject` if it is due.

    One that ran at the last look is followed to its end first, which is reported before another one begins. A request
    of it that was lost is repeated as it was.
    """
    copy = desired(kind, subject or "", paths)
    before = operations.recorded.get(kind)
    if before and before.state == "Running":
        return follow(operations, kind, replace(copy, subject=before.subject))
    return follow(operations, kind, copy if due else None)


def desired(kind: Kind, subject: str, paths: Paths) -> DesiredOperation:
    return DesiredOperation(kind, subject, paths.instance, {"uri": paths.uri, "path": paths.directory})


def remembered(operations: Operations) -> tuple[OperationStatus, ...]:
    """The last copies, without asking for any: what was done must not be done again."""
    kinds: tuple[Kind, ...] = ("Import", "Export")
    return tuple(one for kind in kinds for one in follow(operations, kind, None).operations)


def was_reached(tiers: Iterable[TierStatus]) -> bool | None:
    """Whether the shared tier has been usable before, as the last status says; None where it does not."""
    return next((tier.phase != WAITING for tier in tiers if tier.name == "cloudStorage"), None)


# When it is over.

_ATTEMPTS = {
    **dict.fromkeys(BUSY, 30),
    **dict.fromkeys(
        ("PermissionDenied", "Unauthenticated", "Unavailable", "DeadlineExceeded", "Internal", "Unknown"), 6
    ),
}
"""By error code, what half an hour has room for, as the waits of `follow` are."""

_OTHER_ATTEMPTS = 3


def import_subject(instance: Instance) -> str:
    """Tells an instance from another one that is made under its name later."""
    return f"{_id(instance.name)}@{instance.created}" if instance.created else _id(instance.name)


def is_about(operation: OperationStatus, instance: str) -> bool:
    """Whether an import was one to the instance of this full name."""
    return operation.subject.split("@")[0] == _id(instance)


def _id(instance: str) -> str:
    return instance.rpartition("/")[2]


def runs(operation: OperationStatus | None) -> bool:
    return operation is not None and operation.state == "Running"


def answered(operation: OperationStatus) -> bool:
    """Whether the API has answered to the request: one that nobody repeats would seem to run for ever."""
    return operation.name is not None or operation.state != "Running"


def given_up(operation: OperationStatus) -> bool:
    """Whether a copy has failed so often that it is not tried again."""
    most = _ATTEMPTS.get(operation.code or "", _OTHER_ATTEMPTS)
    return operation.state == "Failed" and operation.attempt >= most


def settled(operation: OperationStatus) -> bool:
    """Whether nothing more will come of it."""
    return operation.state == "Succeeded" or given_up(operation)


def stalled(operation: OperationStatus | None, now: str) -> bool:
    """Whether a copy that runs has made no progress for long."""
    if operation is None or operation.state != "Running":
        return False
    return overdue(operation.progress_time or operation.start_time, now)


def overdue(since: str, now: str) -> bool:
    """Whether that is too long ago, or so far ahead that the clock must have been put back."""
    return abs(elapsed(since, now)) >= PATIENCE_SECONDS


def complete(operation: OperationStatus) -> bool:
    """Whether what was found has arrived: missing permissions are said to pass without an error."""
    counts = operation.transfer
    return counts is None or counts.objects_copied + counts.objects_skipped >= counts.objects_found


# What is said of it.

_AGENT = "service-PROJECT_NUMBER@gcp-sa-lustre.iam.gserviceaccount.com"
"""docs.cloud.google.com/managed-lustre: the service agent that moves the data."""

_DOING = {"Import": Reason.IMPORTING, "Export": Reason.EXPORTING}
_DONE = {"Import": Reason.IMPORTED, "Export": Reason.EXPORTED}
_FAILED = {"Import": Reason.IMPORT_FAILED, "Export": Reason.EXPORT_FAILED}


def waiting(what: str) -> Condition:
    return false(CLOUD_STORAGE_SYNCED, Reason.WAITING, what)


def running(paths: Paths, copy: OperationStatus, note: str, before: Condition | None) -> Condition:
    """A copy under way, with a `note`. `before` is the last condition.

    While one that failed is tried again, that stands until it has ended, unless there is a note.
    """
    kept = (_FAILED[copy.kind],) if copy.name else (_FAILED[copy.kind], Reason.WAITING)
    if before and not note and copy.attempt > 1 and before.reason in kept:
        return relayed(CLOUD_STORAGE_SYNCED, before.reason, before.message)
    return false(CLOUD_STORAGE_SYNCED, _DOING[copy.kind], f"{title(paths, copy)} {_progress(copy)}{note}")


def failed(paths: Paths, copy: OperationStatus, then: str) -> Condition:
    """A copy that has failed, and what is done `then`."""
    subject = title(paths, copy)
    if copy.code in BUSY and not given_up(copy):
        return waiting(
            f"{subject} waits: the instance has another copy or change under way, and is asked every minute"
        )
    text = f"{subject} has failed: {_errors(copy)}; {_advice(paths, copy)}; {then}"
    return false(CLOUD_STORAGE_SYNCED, _FAILED[copy.kind], text)


def done(paths: Paths, copy: OperationStatus) -> Condition:
    """A copy that the API calls done. What was found and has not arrived makes it a failed one."""
    subject, counts, access = title(paths, copy), copy.transfer, _access(paths)
    if not complete(copy):
        text = f"{subject} has ended, but {_errors(copy)}; {access}"
        return false(CLOUD_STORAGE_SYNCED, _FAILED[copy.kind], text)
    text = f"{subject} has ended at {copy.progress_time}"
    if counts:
        size = f"{counts.bytes_copied / GIB:.1f}Gi"
        text += f": {counts.objects_copied} objects ({size}) copied, {counts.objects_skipped} there before"
    if counts and copy.kind == "Import" and not counts.objects_found + counts.objects_skipped:
        text += f"; nothing was found there: if that is wrong, {access}"
    return true(CLOUD_STORAGE_SYNCED, _DONE[copy.kind], text)


def title(paths: Paths, copy: OperationStatus) -> str:
    """The copy as the subject of a sentence."""
    if copy.kind == "Import":
        return f"the import from {paths.uri}"
    return f"the export to {paths.uri} ({copy.subject})"


def _progress(copy: OperationStatus) -> str:
    """How far it is, coarse enough to be written seldom."""
    counts = copy.transfer
    if counts is None or not counts.objects_found:
        return "has begun"
    ended = counts.objects_copied + counts.objects_skipped + counts.objects_failed
    return f"is under way, {min(ended * 10 // counts.objects_found, 10)}0% of what was found so far"


def _errors(copy: OperationStatus) -> str:
    """What went wrong, in the API's words."""
    counts, words = copy.transfer, copy.message or copy.code or ""
    missing = counts.objects_found - counts.objects_copied - counts.objects_skipped if counts else 0
    if counts and missing > 0:
        why = f" ({words})" if words else ""
        return f"{missing} of {counts.objects_found} objects were not copied{why}"
    return words


def _advice(paths: Paths, copy: OperationStatus) -> str:
    """What to do about a copy that has failed. One without a name was refused."""
    if copy.name is None and copy.code == "PermissionDenied":
        project = _project(paths.instance)
        return (
            f"grant roles/lustre.admin in project {project} to kvtier's service account (Workload Identity)"
        )
    if copy.code == "InvalidArgument":
        return "correct spec.tiers.cloudStorage.uri, or what the message names"
    if copy.name is None and copy.code in BUSY:
        return "see that nobody else copies to or from the instance, and that it is ACTIVE"
    if copy.name is None:
        return "nothing needs to be done unless it stays so"
    return _access(paths)


def _access(paths: Paths) -> str:
    bucket = "/".join(paths.uri.split("/")[:3])
    return (
        f"see that {bucket} exists, and let the Managed Lustre service agent {_AGENT} (of project "
        f"{_project(paths.instance)}) read and write its objects"
    )


def _project(instance: str) -> str:
    return instance.split("/")[1]
