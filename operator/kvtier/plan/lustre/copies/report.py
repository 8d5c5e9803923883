"""CloudStorageSynced in words: what became of a copy, and what to do about it."""

from kvtier.api.conditions import CLOUD_STORAGE_SYNCED, Condition, false, true
from kvtier.api.quantities import GIB
from kvtier.api.v1alpha1 import CloudStorageTier, KVCachePool, OperationStatus
from kvtier.plan.lustre.copies import copies
from kvtier.plan.lustre.operations import BUSY
from kvtier.plan.notices import COPY_FAILURES

_AGENT = "service-PROJECT_NUMBER@gcp-sa-lustre.iam.gserviceaccount.com"
"""docs.cloud.google.com/managed-lustre: the service agent that moves the data."""

IMPORT_FAILED, EXPORT_FAILED, INVALID_SCHEDULE = COPY_FAILURES
_DOING = {"Import": "Importing", "Export": "Exporting"}
_DONE = {"Import": "Imported", "Export": "Exported"}
_FAILED = {"Import": IMPORT_FAILED, "Export": EXPORT_FAILED}


def waiting(what: str) -> Condition:
    return false(CLOUD_STORAGE_SYNCED, "Waiting", what)


def running(pool: KVCachePool, tier: CloudStorageTier, copy: OperationStatus, note: str) -> Condition:
    """A copy under way. Trying again says nothing new until it has ended, but for what the note tells."""
    before = next((one for one in pool.status.conditions if one.type == CLOUD_STORAGE_SYNCED), None)
    again = (_FAILED[copy.kind],) if copy.name else (_FAILED[copy.kind], "Waiting")
    if before and not note and copy.attempt > 1 and before.reason in again:
        return false(CLOUD_STORAGE_SYNCED, before.reason, before.message)
    return false(CLOUD_STORAGE_SYNCED, _DOING[copy.kind], f"{title(tier, copy)} {progress(copy)}{note}")


def failed(tier: CloudStorageTier, copy: OperationStatus, instance: str, then: str) -> Condition:
    """A copy that has failed, and what is done `then`."""
    if copy.code in BUSY and not copies.given_up(copy):
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
    if not copies.complete(copy):
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
