"""An instance that kvtier creates through the Lustre API, and then updates when the spec changes."""

from dataclasses import replace

from kvtier.api.conditions import ACCESS_GRANTED, CAPACITY_VALID, STORAGE_READY, Condition, false
from kvtier.api.identity import instance_id
from kvtier.api.reasons import Reason
from kvtier.api.sentences import sentences
from kvtier.api.times import elapsed
from kvtier.api.v1alpha1 import KVCachePool, LustreTier, OperationStatus
from kvtier.checks import Checks, blockers
from kvtier.context import Context, LustreView
from kvtier.facts.model import Instance
from kvtier.plan.lustre.api_errors import explained
from kvtier.plan.lustre.existing import pending
from kvtier.plan.lustre.instance import (
    InstanceView,
    StorageState,
    create_body,
    digest,
    mismatch,
    problem,
    source,
)
from kvtier.plan.lustre.operations import DesiredOperation, Followed, follow, part
from kvtier.plan.lustre.ownership import owner, refusal, takeover, usable, without_cluster
from kvtier.plan.lustre.provisioning import NORMAL, so_far
from kvtier.plan.lustre.resize import change, changing
from kvtier.plan.model import Part, soonest


def plan_instance(context: Context, spec: LustreTier, checks: Checks, blocked: bool) -> InstanceView:
    """The state of the instance, and the next request. `blocked`: a prerequisite is not met.

    Case 1: the Lustre API could not be read -> no request.
    Case 2: the instance does not exist, but its PersistentVolume does -> somebody deleted the instance with its data.
            kvtier creates no other instance until the PVC and the PersistentVolume are deleted too.
    Case 3: the instance does not exist -> create it when the prerequisites are met, and the cluster is known.
    Case 4: the instance belongs to another pool, or differs in an immutable field -> do not use it.
    Case 5: the instance is being created, or has no address yet -> wait.
    Case 6: something is not granted -> use it as it is.
    Case 7: the instance can be used -> update it to the spec, one change at a time.
    """
    lustre, instance = context.lustre, context.lustre.instance
    if lustre.unseen is not None:
        return _as_it_is(_unseen(lustre), lustre)
    if instance is None and lustre.volume:
        return _as_it_is(_gone(lustre), lustre)
    if instance is None:
        return _create(context, None if blocked else _creation(context, spec))
    if refused := _refusal(context, spec, instance):
        return _as_it_is(StorageState(refused, "Failed"), lustre)
    if instance.state == "CREATING" or (not instance.address and problem(instance) is None):
        begun = lustre.operations.last("Create")
        since = begun.start_time if begun else instance.created
        return _as_it_is(_creating(context.pool, since, context.now), lustre)
    if blockers(checks, (ACCESS_GRANTED,), context.pool.spec):
        desired = None
    else:
        cluster, may_grow = context.facts.own_cluster, checks[CAPACITY_VALID].status != "False"
        desired = change(context.pool, spec, cluster, instance, may_grow=may_grow)
    return _change(context, spec, instance, desired)


def _refusal(context: Context, spec: LustreTier, instance: Instance) -> Condition | None:
    """StorageReady if kvtier may not use an instance that exists, else None."""
    pool, cluster, lustre = context.pool, context.facts.own_cluster, context.lustre
    live = lustre.volume.volume if lustre.volume else None
    referred = live is not None and live.instance == instance.name
    of = owner(pool, cluster, instance)
    if not usable(of, pool, instance, referred=referred, granted=lustre.adoption_granted):
        return refusal(of, pool, cluster, instance)
    return mismatch(pool, spec, instance)


def _create(context: Context, desired: DesiredOperation | None) -> InstanceView:
    operations, cluster = context.lustre.operations, context.facts.own_cluster
    if desired and not cluster.uid:
        return _as_it_is(StorageState(without_cluster(cluster), "Waiting"), context.lustre)
    create, state = follow(operations, "Create", desired), None
    if create.status and create.status.state == "Running":
        state = _creating(context.pool, create.status.start_time, context.now)
    elif desired and create.status and create.status.state == "Failed":
        state = _failure(desired.instance, create.status)
    update = follow(operations, "Update", None)
    return _with(InstanceView(problem=state), (create, update), context.pace.moving)


def _creation(context: Context, spec: LustreTier) -> DesiredOperation:
    """The creation of the instance as in the spec.

    The subject changes if the spec changes, or if an earlier instance was created and then deleted. It depends on the
    operation in the status, not on newer answers of the API: a repeated request must be the same until the status is
    written.
    """
    lustre = context.lustre
    body = create_body(context.pool, spec, context.facts.own_cluster)
    before = lustre.operations.recorded.get("Create")
    subject = f"{spec.capacity} {digest(body)}"
    if before and before.state == "Succeeded":
        subject = f"{subject} after {before.progress_time}"
    elif before and before.subject.startswith(subject):
        subject = before.subject
    return DesiredOperation("Create", subject, lustre.instance_name or "", body)


def _change(
    context: Context, spec: LustreTier, instance: Instance, desired: DesiredOperation | None
) -> InstanceView:
    operations, pace = context.lustre.operations, context.pace
    create, update = follow(operations, "Create", None), follow(operations, "Update", desired)
    state = changing(spec, instance, desired, update.status, context.lustre.reported) if desired else None
    settled = instance.state == "ACTIVE" and desired is None
    event = (
        takeover(owner(context.pool, context.facts.own_cluster, instance), instance) if update.call else None
    )
    view = InstanceView(source(instance), problem(instance), state, Part(events=(event,) if event else ()))
    return _with(view, (create, update), pace.settled if settled else pace.moving)


def _unseen(lustre: LustreView) -> StorageState:
    if lustre.pending:
        return pending(lustre)
    return StorageState(false(STORAGE_READY, Reason.INSTANCE_UNKNOWN, lustre.unseen or ""), "Waiting")


def _gone(lustre: LustreView) -> StorageState:
    text = sentences(
        f"Lustre instance {lustre.instance_name} was deleted, and its data is lost",
        f"Delete PVC {lustre.claim_name} and PersistentVolume {lustre.volume_name}. kvtier then creates a new, empty "
        "instance",
    )
    return StorageState(false(STORAGE_READY, Reason.INSTANCE_GONE, text), "Failed")


def _creating(pool: KVCachePool, since: str, now: str) -> StorageState:
    """The state while the instance is being created. The elapsed time has few steps: each is a write of the status."""
    waited = elapsed(since, now) if since else 0.0
    text = sentences(f"Lustre instance {instance_id(pool)} is being created{so_far(waited)}", NORMAL)
    return StorageState(false(STORAGE_READY, Reason.PROVISIONING, text), "Provisioning")


def _failure(name: str, failed: OperationStatus) -> StorageState:
    reason, why = explained(failed)
    text = sentences(
        f"Lustre instance {name} could not be created",
        f"The Lustre API reports {why}",
        "The next attempt starts within 30 minutes",
    )
    return StorageState(false(STORAGE_READY, reason, text), "Failed")


def _as_it_is(state: StorageState, lustre: LustreView) -> InstanceView:
    """The operations without a new request."""
    operations = lustre.operations
    both = follow(operations, "Create", None), follow(operations, "Update", None)
    return _with(InstanceView(problem=state), both, operations.pace.moving)


def _with(view: InstanceView, followed: tuple[Followed, ...], again: float | None) -> InstanceView:
    again = soonest(again, *(one.again for one in followed))
    return replace(view, part=replace(part(*followed), again=again, events=view.part.events))
