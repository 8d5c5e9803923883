"""The creation of an instance through the Lustre API."""

from dataclasses import replace

from kvtier.api.conditions import STORAGE_READY, Condition, false
from kvtier.api.identity import instance_id
from kvtier.api.reasons import Reason
from kvtier.api.times import elapsed
from kvtier.api.v1alpha1 import KVCachePool, LustreTier, OperationStatus
from kvtier.facts.model import Instance, LustreFacts, Observed
from kvtier.facts.operations import operations_of
from kvtier.plan.gates import STORAGE, blockers
from kvtier.plan.lustre.api_errors import advice
from kvtier.plan.lustre.existing import MOVING_SECONDS, SETTLED_SECONDS, Known, of, pending
from kvtier.plan.lustre.identity import instance_name, volume_name
from kvtier.plan.lustre.instance import create_body, digest, mismatch, verdict
from kvtier.plan.lustre.operations import DesiredOperation, Followed, follow, last
from kvtier.plan.lustre.provisioning import NORMAL, so_far
from kvtier.plan.lustre.resize import change, changing
from kvtier.plan.model import Checks, Part, soonest


def creation(pool: KVCachePool, lustre: LustreTier, observed: Observed) -> DesiredOperation:
    """An instance as the spec describes it.

    An edited spec is another one, and so is an instance after one that was made and is gone.
    """
    name, body = instance_name(pool, observed) or "", create_body(pool, lustre)
    subject, known = f"{lustre.capacity} {digest(body)}", last(pool, "Create")
    if known and known.state == "Succeeded":
        subject = f"{subject} after {known.progress_time}"
    elif known and known.subject.startswith(subject):
        subject = known.subject
    return DesiredOperation("Create", subject, name, body)


def provisioning(pool: KVCachePool, instance: Instance | None, now: str) -> Condition:
    """StorageReady while the instance is made; its time is told in a few steps only."""
    known = last(pool, "Create")
    since = known.start_time if known else instance.created if instance else ""
    waited = elapsed(since, now) if since else 0.0
    said = f"instance {instance_id(pool)} is being created{so_far(waited)}; {NORMAL}"
    return false(STORAGE_READY, Reason.PROVISIONING, said)


def failure(name: str, failed: OperationStatus) -> Condition:
    """StorageReady after a creation that failed."""
    known = advice(failed.code or "", failed.message or "")
    said = f"instance {name} was not created: {failed.code}: {failed.message or 'no details'}; {known.text}"
    return false(STORAGE_READY, known.reason, f"{said}. kvtier tries again after 1 to 30 minutes")


def plan_instance(
    pool: KVCachePool, lustre: LustreTier, observed: Observed, checks: Checks, now: str
) -> Known:
    """What there is of the instance, and what to ask for.

    Case 1: the API does not tell -> nothing is asked for.
    Case 2: it does not exist, but its volume does -> somebody deleted it with its data, and has to say so.
    Case 3: it does not exist -> it is created, once the prerequisites hold.
    Case 4: it exists, and is another's or another one -> it is left alone.
    Case 5: it exists, and is not there yet -> it is waited for.
    Case 6: it can be used -> it follows the spec, one change at a time.
    """
    name, facts = instance_name(pool, observed) or "", observed.facts.lustre
    if facts is None or facts.error:
        return _followed(_unseen(facts, name), pool, observed, now)
    instance = facts.instance
    if instance is None and observed.child("PersistentVolume", volume_name(pool)):
        return _followed(Known(condition=_gone(name, volume_name(pool))), pool, observed, now)
    if instance is None:
        return _create(pool, lustre, observed, checks, now)
    if problem := mismatch(pool, lustre, instance):
        return _followed(Known(condition=problem), pool, observed, now)
    if instance.state == "CREATING" or (not instance.address and verdict(instance) is None):
        return _followed(Known(condition=provisioning(pool, instance, now)), pool, observed, now)
    return _change(pool, observed, instance, change(pool, lustre, instance, checks), now)


def _unseen(facts: LustreFacts | None, name: str) -> Known:
    if facts and facts.pending:
        return pending(facts)
    error = facts.error if facts and facts.error else f"the Lustre API was not asked about {name}"
    return Known(condition=false(STORAGE_READY, Reason.INSTANCE_UNKNOWN, error), unseen=error)


def _create(pool: KVCachePool, lustre: LustreTier, observed: Observed, checks: Checks, now: str) -> Known:
    refused = blockers(checks, STORAGE, pool.spec.strict)
    wish = None if refused else creation(pool, lustre, observed)
    create, update = _both(
        pool, observed, now, create=follow(operations_of(pool, observed.facts.lustre, now), "Create", wish)
    )
    condition: Condition | None = None
    if create.status and create.status.state == "Running":
        condition = provisioning(pool, None, now)
    elif wish and create.status and create.status.state == "Failed":
        condition = failure(wish.instance, create.status)
    return _with(Known(condition=condition), (create, update), MOVING_SECONDS)


def _change(
    pool: KVCachePool, observed: Observed, instance: Instance, wish: DesiredOperation | None, now: str
) -> Known:
    create, update = _both(
        pool, observed, now, update=follow(operations_of(pool, observed.facts.lustre, now), "Update", wish)
    )
    growth = changing(pool, instance, wish, update) if wish else None
    settled = instance.state == "ACTIVE" and wish is None
    known = Known(of(instance), verdict(instance), growth=growth)
    return _with(known, (create, update), SETTLED_SECONDS if settled else MOVING_SECONDS)


def _gone(name: str, volume: str) -> Condition:
    return false(
        STORAGE_READY,
        Reason.INSTANCE_GONE,
        f"instance {name} does not exist any more, and its data is lost: delete the pool's claim and "
        f"PersistentVolume {volume}, and kvtier makes a new, empty instance",
    )


def _followed(known: Known, pool: KVCachePool, observed: Observed, now: str) -> Known:
    """With the operations as they are, and nothing new asked for."""
    return _with(known, _both(pool, observed, now), MOVING_SECONDS)


def _both(
    pool: KVCachePool,
    observed: Observed,
    now: str,
    create: Followed | None = None,
    update: Followed | None = None,
) -> tuple[Followed, Followed]:
    seen = operations_of(pool, observed.facts.lustre, now)
    return create or follow(seen, "Create", None), update or follow(seen, "Update", None)


def _with(known: Known, followed: tuple[Followed, ...], again: float | None = None) -> Known:
    part = Part(
        calls=tuple(call for one in followed for call in one.calls),
        operations=tuple(operation for one in followed for operation in one.operations),
        again=soonest(again, *(one.again for one in followed)),
    )
    return replace(known, part=part)
