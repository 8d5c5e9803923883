"""The teardown of a deleted pool, step by step, and for how long it is tried."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from kvtier.api.conditions import DELETING, READY, false, find, stamp, true
from kvtier.api.kinds import CHILD_KINDS, Stage
from kvtier.api.reasons import Reason
from kvtier.api.times import parse
from kvtier.api.v1alpha1 import KVCachePool, PoolStatus, TierStatus
from kvtier.context import Context
from kvtier.facts.children import Children
from kvtier.plan.events import PoolEvent
from kvtier.plan.lustre.delete import (
    Step,
    claim_text,
    delete_tier,
    driver_volumes,
    own_instance,
    volume_text,
)
from kvtier.plan.lustre.final_export import plan_final_export
from kvtier.plan.lustre.provisioning import under_way
from kvtier.plan.model import Part, Plan, references

_PATIENCE = timedelta(minutes=30)
_CREATION = timedelta(hours=2)
"""No instance takes longer than that to be made (the Terraform provider waits as long)."""


def plan_teardown(context: Context) -> Plan:
    """The next step of the teardown; the pool is let go when nothing that must go is left.

    Case 1: engines and Jobs are there -> delete them, wait until they are gone.
    Case 2: Delete, and data is to be exported first -> wait for that; if it fails, all data is kept.
    Case 3: Delete -> claim, volume and instance go, see `delete_tier`. An existing instance is never deleted.
    Case 4: Retain -> all three stay, but for a claim that never got a volume.
    Case 5: cluster-wide objects are there -> delete them, wait.
    Case 6: nothing is left -> release the finalizer, and say what was kept although it was to go.
    Case 7: there has been no progress for 30 minutes -> release it all the same, and say what is left.
    """
    engines = _delete_stage(context.children, "engines")
    if engines.waits:
        return _wait(context, engines, reported=Part())
    data = _data(context)
    if data.waits:
        return _wait(context, data, reported=data.part)
    cluster = _delete_stage(context.children, "cluster")
    if cluster.waits:
        return _wait(context, cluster, reported=data.part)
    return Plan(finalizer=False, events=data.events)


def _delete_stage(children: Children, stage: Stage) -> Step:
    left = children.of(_kinds(stage))
    return Step(Part(deletes=references(left)), tuple(f"{one.kind} {one.name}" for one in left))


def _kinds(*stages: Stage) -> frozenset[str]:
    return frozenset(one.kind for one in CHILD_KINDS if one.stage in stages)


def _data(context: Context) -> Step:
    """The next step for claim, volume and instance."""
    if context.pool.spec.deletion_policy == "Retain":
        return _retain(context)
    export = plan_final_export(context)
    if export.waits:
        return Step(export.part, (export.waits,))
    if export.failed:
        kept = f"{export.failed}. Kept: {_left(context, 'data')}; delete them by hand once the data may go"
        return Step(export.part, events=(PoolEvent("Warning", "DataKept", kept),))
    step = delete_tier(context)
    # That the data has arrived must outlive the instance, which is asked no more once it goes.
    exported = (*export.part.operations, *step.part.operations)
    return replace(step, part=replace(step.part, operations=exported))


def _retain(context: Context) -> Step:
    """A claim without a volume holds no data that could be retained."""
    lustre, empty = context.lustre, [one for one in context.children.claims if not one.volume]
    if empty:
        making = under_way(lustre, context.now)
        text = ", for which an instance is being made" if making else ""
        waits = tuple(f"{claim_text(one.name, lustre.holders)}{text}" for one in empty)
        return Step(Part(deletes=() if making else references(empty)), waits)
    instance = None if lustre.volume else own_instance(lustre)
    kept = f"deletionPolicy Retain keeps instance {instance}, which has no volume"
    return Step(events=(PoolEvent("Warning", "InstanceKept", kept),) if instance else ())


def _wait(context: Context, step: Step, reported: Part) -> Plan:
    """Carry a step out and come back. `reported` has operations and conditions that the status remembers."""
    if _is_stuck(context):
        return Plan(finalizer=False, events=(_gave_up(context),))
    return Plan(
        applies=step.part.applies,
        deletes=step.part.deletes,
        status=_status(context, step.waits, reported),
        requeue_after=context.pace.moving,
        calls=step.part.calls,
    )


def _is_stuck(context: Context) -> bool:
    """Whether there has been no progress for 30 minutes since the teardown began, as the condition Deleting says.

    Time in which no operator ran does not count. A deletion that is tried again and again is no progress, and an
    instance that is being made is only for as long as that may take.
    """
    deleting = find(context.pool.status.conditions, DELETING)
    if deleting is None or deleting.last_transition_time is None:
        return False
    began, lustre = parse(deleting.last_transition_time), context.lustre
    ended = [one.progress_time for kind, one in lustre.operations.recorded.items() if kind != "Delete"]
    created = [event.last for event in lustre.claim_events[:1]]
    if lustre.instance and lustre.instance.state == "CREATING":
        created.append(context.now)
    progress = [*map(parse, ended), *(min(parse(time), began + _CREATION) for time in created)]
    return parse(context.now) - max([began, *progress]) > _PATIENCE


def _gave_up(context: Context) -> PoolEvent:
    stages: tuple[Stage, ...] = ("engines", "data", "cluster")
    if context.pool.spec.deletion_policy == "Retain":
        stages = ("engines", "cluster")
    left = _left(context, *stages)
    message = f"the pool is released although {left} did not go: delete by hand"
    return PoolEvent("Warning", "TeardownGaveUp", message)


def _left(context: Context, *stages: Stage) -> str:
    """All that is there of these stages, with the instances behind it."""
    lustre = context.lustre
    left = [f"{one.kind} {one.name}" for one in context.children.of(_kinds(*stages))]
    if "data" in stages:
        left += [volume_text(one) for one in driver_volumes(lustre)]
        left += [f"instance {name}" for name in [own_instance(lustre)] if name]
    return ", ".join(left)


def _status(context: Context, waits: Iterable[str], reported: Part) -> PoolStatus:
    pool = context.pool
    conditions = [
        false(READY, Reason.DELETING, f"waiting for {', '.join(waits)} to go"),
        true(
            DELETING,
            Reason.TEARDOWN_STARTED,
            "the pool is released when all is gone, or when nothing has got on for 30 minutes",
        ),
        *reported.conditions,
    ]
    # The latest of each kind, in a fixed order.
    operations = {one.kind: one for one in (*pool.status.operations, *reported.operations)}
    return pool.status.model_copy(
        update={
            "observed_generation": pool.generation,
            "phase": "Deleting",
            "conditions": stamp(conditions, pool.status.conditions, pool.generation, context.now),
            "tiers": [_tier(tier, pool) for tier in pool.status.tiers],
            "operations": list(operations.values()),
        }
    )


def _tier(tier: TierStatus, pool: KVCachePool) -> TierStatus:
    kept = tier.name == "lustre" and pool.spec.deletion_policy == "Retain"
    return tier.model_copy(update={"phase": "Retained"}) if kept else tier
