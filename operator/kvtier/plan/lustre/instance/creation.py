"""The creation of an instance through the Lustre API."""

from kvtier.api.conditions import STORAGE_READY, Condition, false
from kvtier.api.identity import instance_id
from kvtier.api.v1alpha1 import KVCachePool, LustreTier, OperationStatus
from kvtier.facts.model import Instance, Observed
from kvtier.plan.lustre.advice import advice
from kvtier.plan.lustre.identity import instance_name
from kvtier.plan.lustre.instance.body import create_body, digest
from kvtier.plan.lustre.operations import Wish, elapsed, last

_STEPS = ((7200, "2 hours"), (3600, "an hour"), (1800, "30 minutes"), (600, "10 minutes"))
"""Few, because each is a write of the status."""


def creation(pool: KVCachePool, lustre: LustreTier, observed: Observed) -> Wish:
    """The wish for an instance as the spec describes it.

    An edited spec is another wish, and so is an instance after one that was made and is gone.
    """
    name, body = instance_name(pool, observed) or "", create_body(pool, lustre)
    subject, known = f"{lustre.capacity} {digest(body)}", last(pool, "Create")
    if known and known.state == "Succeeded":
        subject = f"{subject} after {known.progress_time}"
    elif known and known.subject.startswith(subject):
        subject = known.subject
    return Wish("Create", subject, name, body)


def provisioning(pool: KVCachePool, instance: Instance | None, now: str) -> Condition:
    """StorageReady while the instance is made; its time is told in a few steps only."""
    known = last(pool, "Create")
    since = known.start_time if known else instance.created if instance else ""
    waited = elapsed(since, now) if since else 0.0
    so_far = next((f", for more than {text} by now" for step, text in _STEPS if waited >= step), "")
    return false(
        STORAGE_READY,
        "Provisioning",
        f"instance {instance_id(pool)} is being created{so_far}; 10 to 30 minutes are normal, up to 2 hours for a "
        "large one",
    )


def failure(name: str, failed: OperationStatus) -> Condition:
    """StorageReady after a creation that failed."""
    reason, what = advice(failed.code or "", failed.message or "")
    said = f"instance {name} was not created: {failed.code}: {failed.message or 'no details'}; {what}"
    return false(STORAGE_READY, reason, f"{said}. kvtier tries again after 1 to 30 minutes")
