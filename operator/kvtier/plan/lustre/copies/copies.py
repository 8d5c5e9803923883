"""One copy between the shared tier and Cloud Storage: how it is asked for, and when it is given up."""

from dataclasses import replace
from typing import Literal

from kvtier.api.v1alpha1 import KVCachePool, OperationStatus
from kvtier.engines.fingerprint import pool_directory
from kvtier.facts.model import Facts, Instance, Observed
from kvtier.plan.lustre.operations import BUSY, Followed, Wish, elapsed, follow, last
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


def follow_copy(pool: KVCachePool, facts: Facts, copy: Wish, due: bool, now: str) -> Followed:
    """The last copy of that kind, and this one, if it is due.

    One that runs is followed to its end first; a request of it that was lost is repeated as it was.
    """
    known = last(pool, copy.kind)
    if known and known.state == "Running":
        return follow(pool, facts, copy.kind, replace(copy, subject=known.subject), now)
    return follow(pool, facts, copy.kind, copy if due else None, now)


def remembered(pool: KVCachePool, facts: Facts, now: str) -> tuple[OperationStatus, ...]:
    """The last copies, without asking for any: what was done must not be done again."""
    kinds: tuple[Kind, ...] = ("Import", "Export")
    return tuple(one for kind in kinds for one in follow(pool, facts, kind, None, now).operations)


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


def wish(pool: KVCachePool, kind: Kind, subject: str | None, instance: str) -> Wish:
    """A copy between the pool's directory on an instance and its place in Cloud Storage."""
    tier = pool.spec.tiers.cloud_storage
    return Wish(kind, subject or "", instance, {"uri": tier.uri if tier else "", "path": path(pool)})


def _id(instance: str) -> str:
    return instance.rpartition("/")[2]
