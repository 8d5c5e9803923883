"""One copy between the Lustre tier and Cloud Storage: its request, when it is finished, and how it is reported."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from kvtier.api.conditions import CLOUD_STORAGE_SYNCED, Condition, false, relayed, true
from kvtier.api.quantities import GIB
from kvtier.api.reasons import Reason
from kvtier.api.sentences import sentences
from kvtier.api.times import elapsed
from kvtier.api.v1alpha1 import KVCachePool, OperationStatus, TierStatus
from kvtier.engines.fingerprint import pool_directory
from kvtier.facts.model import Instance
from kvtier.facts.operations import Operations
from kvtier.plan.lustre.operations import BUSY, DesiredOperation, Followed, follow

Kind = Literal["Import", "Export"]

PATIENCE_SECONDS = 1800.0
"""How long a copy may make no progress before engines, or the deletion, no longer wait for it."""

BEFORE_DELETION = "deletion"
"""Subject of the export before deletion. That of a scheduled export is its time."""

WAITING = "Waiting"
"""Phase of the tier until it is usable for the first time."""


@dataclass(frozen=True)
class Paths:
    """Both ends of a copy.

    `uri`: gs://BUCKET/PREFIX/. `directory`: a path on the file system of `instance`, which is
    projects/P/locations/ZONE/instances/ID.
    """

    uri: str
    instance: str
    directory: str


def paths_of(pool: KVCachePool, uri: str, instance: str) -> Paths:
    """The paths of a pool. The write probe creates the directory."""
    return Paths(uri, instance, f"/{pool_directory(pool)}/")


def follow_copy(operations: Operations, kind: Kind, subject: str | None, paths: Paths, due: bool) -> Followed:
    """The last copy of a kind, or the next one for `subject` if it is `due`.

    A copy that runs in the status is followed to its end and reported before another one starts. If its request was
    lost, the same request is repeated.
    """
    copy = desired(kind, subject or "", paths)
    before = operations.recorded.get(kind)
    if before and before.state == "Running":
        return follow(operations, kind, replace(copy, subject=before.subject))
    return follow(operations, kind, copy if due else None)


def desired(kind: Kind, subject: str, paths: Paths) -> DesiredOperation:
    """The operation that copies between the `paths`."""
    return DesiredOperation(kind, subject, paths.instance, {"uri": paths.uri, "path": paths.directory})


def remembered(operations: Operations) -> tuple[OperationStatus, ...]:
    """The last copies, without a new request. The status keeps them, so that kvtier does not repeat them."""
    kinds: tuple[Kind, ...] = ("Import", "Export")
    return tuple(one for kind in kinds for one in follow(operations, kind, None).operations)


def was_reached(tiers: Iterable[TierStatus]) -> bool | None:
    """Whether the Lustre tier was usable before, from the last status; None if it does not include this."""
    return next((tier.phase != WAITING for tier in tiers if tier.name == "cloudStorage"), None)


# When a copy is finished.

_ATTEMPTS = {
    **dict.fromkeys(BUSY, 30),
    **dict.fromkeys(
        ("PermissionDenied", "Unauthenticated", "Unavailable", "DeadlineExceeded", "Internal", "Unknown"), 6
    ),
}
"""Most attempts by error code. With the delays of `follow`, they take about 30 minutes."""

_OTHER_ATTEMPTS = 3


def import_subject(instance: Instance) -> str:
    """The subject of an import. It differs between an instance and a later one with the same name."""
    return f"{_id(instance.name)}@{instance.created}" if instance.created else _id(instance.name)


def is_about(operation: OperationStatus, instance: str) -> bool:
    """Whether an import was into the instance with this full name."""
    return operation.subject.split("@")[0] == _id(instance)


def _id(instance: str) -> str:
    return instance.rpartition("/")[2]


def runs(operation: OperationStatus | None) -> bool:
    return operation is not None and operation.state == "Running"


def answered(operation: OperationStatus) -> bool:
    """Whether the API responded to the request. A request without response that is not repeated never ends."""
    return operation.name is not None or operation.state != "Running"


def given_up(operation: OperationStatus) -> bool:
    """Whether a copy failed so often that kvtier does not retry it."""
    most = _ATTEMPTS.get(operation.code or "", _OTHER_ATTEMPTS)
    return operation.state == "Failed" and operation.attempt >= most


def settled(operation: OperationStatus) -> bool:
    """Whether a copy succeeded, or failed and is not retried."""
    return operation.state == "Succeeded" or given_up(operation)


def stalled(operation: OperationStatus | None, now: str) -> bool:
    """Whether a running copy made no progress for PATIENCE_SECONDS."""
    if operation is None or operation.state != "Running":
        return False
    return overdue(operation.progress_time or operation.start_time, now)


def overdue(since: str, now: str) -> bool:
    """Whether `since` is PATIENCE_SECONDS ago, or so far in the future that the clock was set back."""
    return abs(elapsed(since, now)) >= PATIENCE_SECONDS


def complete(operation: OperationStatus) -> bool:
    """Whether all objects that were found were copied. With missing permissions, a copy may end without an error."""
    counts = operation.transfer
    return counts is None or counts.objects_copied + counts.objects_skipped >= counts.objects_found


# Messages.

_AGENT = "service-PROJECT_NUMBER@gcp-sa-lustre.iam.gserviceaccount.com"
"""The service agent that copies the data (docs.cloud.google.com/managed-lustre)."""

_DOING = {"Import": Reason.IMPORTING, "Export": Reason.EXPORTING}
_DONE = {"Import": Reason.IMPORTED, "Export": Reason.EXPORTED}
_FAILED = {"Import": Reason.IMPORT_FAILED, "Export": Reason.EXPORT_FAILED}


def waiting(what: str) -> Condition:
    return false(CLOUD_STORAGE_SYNCED, Reason.WAITING, what)


def running(paths: Paths, copy: OperationStatus, note: str, before: Condition | None) -> Condition:
    """A copy in progress, with a `note` in full sentences. `before`: the last condition.

    While a failed copy is retried, the last condition stays until the retry ends, unless there is a note.
    """
    kept = (_FAILED[copy.kind],) if copy.name else (_FAILED[copy.kind], Reason.WAITING)
    if before and not note and copy.attempt > 1 and before.reason in kept:
        return relayed(CLOUD_STORAGE_SYNCED, before.reason, before.message)
    text = sentences(f"{title(paths, copy)} {_progress(copy)}", note)
    return false(CLOUD_STORAGE_SYNCED, _DOING[copy.kind], text)


def failed(paths: Paths, copy: OperationStatus, then: str) -> Condition:
    """A failed copy. `then`: what happens next, in full sentences."""
    subject = title(paths, copy)
    if copy.code in BUSY and not given_up(copy):
        busy = f"{subject} is waiting because another copy or update of the instance is in progress"
        return waiting(sentences(busy, "kvtier retries every minute"))
    text = sentences(f"{subject} failed: {_errors(copy)}", _advice(paths, copy), then)
    return false(CLOUD_STORAGE_SYNCED, _FAILED[copy.kind], text)


def done(paths: Paths, copy: OperationStatus) -> Condition:
    """A copy that the API reports as done. If objects are missing, it counts as failed."""
    subject, counts, access = title(paths, copy), copy.transfer, _access(paths)
    if not complete(copy):
        text = sentences(f"{subject} ended, but {_errors(copy)}", access)
        return false(CLOUD_STORAGE_SYNCED, _FAILED[copy.kind], text)
    text = f"{subject} finished at {copy.progress_time}"
    if counts:
        size = f"{counts.bytes_copied / GIB:.1f}Gi"
        text += f": {counts.objects_copied} objects ({size}) copied, {counts.objects_skipped} already existed"
    if counts and copy.kind == "Import" and not counts.objects_found + counts.objects_skipped:
        text = sentences(
            text, "It found no objects. If the bucket has some, the service agent may lack access", access
        )
    return true(CLOUD_STORAGE_SYNCED, _DONE[copy.kind], sentences(text))


def title(paths: Paths, copy: OperationStatus) -> str:
    """The copy as the subject at the start of a sentence."""
    if copy.kind == "Import":
        return f"The import from {paths.uri}"
    if copy.subject == BEFORE_DELETION:
        return f"The export to {paths.uri} (before deletion)"
    return f"The export to {paths.uri} ({copy.subject})"


def _progress(copy: OperationStatus) -> str:
    """How far the copy is. Steps of 10% keep writes of the status rare."""
    counts = copy.transfer
    if counts is None or not counts.objects_found:
        return "started"
    ended = counts.objects_copied + counts.objects_skipped + counts.objects_failed
    return f"is in progress: {min(ended * 10 // counts.objects_found, 10)}0% of the objects found so far"


def _errors(copy: OperationStatus) -> str:
    """What went wrong, as the API reports it."""
    counts, words = copy.transfer, copy.message or copy.code or ""
    missing = counts.objects_found - counts.objects_copied - counts.objects_skipped if counts else 0
    if counts and missing > 0:
        why = f" ({words})" if words else ""
        return f"{missing} of {counts.objects_found} objects were not copied{why}"
    return words


def _advice(paths: Paths, copy: OperationStatus) -> str:
    """What to do about a failed copy. The API refused a copy that has no name."""
    if copy.name is None and copy.code == "PermissionDenied":
        project = _project(paths.instance)
        return (
            f"Grant roles/lustre.admin in project {project} to kvtier's service account (Workload Identity)."
        )
    if copy.code == "InvalidArgument":
        return "Correct spec.tiers.cloudStorage.uri, or the field that the API names."
    if copy.name is None and copy.code in BUSY:
        return "Check that the instance is ACTIVE, and that no other import or export of it is in progress."
    if copy.name is None and given_up(copy):
        return ""
    if copy.name is None:
        return "No action is needed unless this error persists."
    return _access(paths)


def _access(paths: Paths) -> str:
    bucket = "/".join(paths.uri.split("/")[:3])
    return (
        f"Check that {bucket} exists, and that the Managed Lustre service agent {_AGENT} of project "
        f"{_project(paths.instance)} may read and write its objects."
    )


def _project(instance: str) -> str:
    return instance.split("/")[1]
