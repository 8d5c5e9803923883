"""The teardown of a deleted pool: its steps, and when kvtier gives up."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta

from kvtier.api.conditions import DELETING, READY, Condition, false, find, stamp, true
from kvtier.api.kinds import CHILD_KINDS
from kvtier.api.reasons import Reason
from kvtier.api.sentences import sentences
from kvtier.api.times import parse
from kvtier.api.v1alpha1 import KVCachePool, PoolStatus, TierStatus
from kvtier.context import Context
from kvtier.facts.children import Child
from kvtier.plan.events import PoolEvent
from kvtier.plan.lustre.delete import (
    Step,
    claim_text,
    creating_text,
    delete_tier,
    driver_volumes,
    failure_text,
    own_instance,
    volume_text,
)
from kvtier.plan.lustre.final_export import plan_final_export
from kvtier.plan.lustre.provisioning import under_way
from kvtier.plan.model import Part, Plan, references
from kvtier.plan.pruning import cluster_wide

_ENGINES = frozenset(one.kind for one in CHILD_KINDS if one.stage == "engines")
PATIENCE = timedelta(minutes=30)
"""How long a deletion may make no progress."""
_CREATION = timedelta(hours=2)
"""Longest time to create an instance (the timeout of the Terraform provider)."""


def plan_teardown(context: Context) -> Plan:
    """The next step of the teardown. The last step removes the finalizer.

    Case 1: engines or Jobs exist -> delete them, and wait.
    Case 2: Delete, with an export before deletion -> wait for the export; if it fails, keep all data.
    Case 3: Delete -> delete PVC, PersistentVolume and instance, see `delete_tier`. Never delete an existing instance.
    Case 4: Retain -> keep all three, except a PVC that never had a PersistentVolume.
    Case 5: cluster-wide objects exist -> delete them, and wait.
    Case 6: nothing is left -> remove the finalizer, with an Event about data that was kept despite Delete.
    Case 7: no progress for 30 minutes -> remove the finalizer, with an Event about what is left.
    """
    engines = _deleted(context.children.of(_ENGINES))
    if engines.waits:
        return _wait(context, engines, reported=Part())
    data = _data(context)
    if data.waits:
        return _wait(context, data, reported=data.part)
    cluster = _deleted(cluster_wide(context.children, context.pool.namespace, context.pool.name))
    if cluster.waits:
        return _wait(context, cluster, reported=data.part)
    return Plan(finalizer=False, events=data.events)


def _deleted(left: Sequence[Child]) -> Step:
    names = ", ".join(f"{one.kind} {one.name}" for one in left)
    waits = (f"kvtier waits for the deletion of {names}.",) if left else ()
    return Step(Part(deletes=references(left)), waits)


def _data(context: Context) -> Step:
    """The next step for PVC, PersistentVolume and instance."""
    if context.pool.spec.deletion_policy == "Retain":
        return _retain(context)
    export = plan_final_export(context)
    if export.waits:
        return Step(export.part, (export.waits,))
    if export.failed:
        left = f"kvtier keeps {', '.join(_data_left(context))}"
        kept = sentences(export.failed, left, "Delete them manually when you no longer need the data")
        return Step(export.part, events=(PoolEvent("Warning", "DataKept", kept),))
    step = delete_tier(context)
    # The status must keep the finished export: the API cannot return it after the instance was deleted.
    exported = (*export.part.operations, *step.part.operations)
    return replace(step, part=replace(step.part, operations=exported))


def _retain(context: Context) -> Step:
    """The step with Retain. A PVC without a PersistentVolume has no data to retain, so it is deleted."""
    lustre, claim = context.lustre, context.lustre.own_claim
    if claim and not claim.volume:
        if under_way(lustre, context.now):
            return Step(waits=(creating_text(claim.name),))
        return Step(Part(deletes=references([claim])), (claim_text(claim.name, lustre.holders),))
    instance = None if lustre.volume else own_instance(lustre)
    kept = f"deletionPolicy Retain keeps instance {instance}, which has no PersistentVolume."
    return Step(events=(PoolEvent("Warning", "InstanceKept", kept),) if instance else ())


def _wait(context: Context, step: Step, reported: Part) -> Plan:
    """A plan that does a step and reconciles again. `reported`: operations and conditions for the status."""
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
    """Whether the teardown made no progress for 30 minutes. The condition Deleting has its start.

    Time before that condition exists does not count, because no operator ran. Retries of a deletion are not progress.
    The creation of an instance is progress, for at most the longest time that it may take.
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
    return parse(context.now) - max([began, *progress]) > PATIENCE


def _gave_up(context: Context) -> PoolEvent:
    pool, children, failures = context.pool, context.children, list[str]()
    left = [*children.of(_ENGINES), *cluster_wide(children, pool.namespace, pool.name)]
    named = [f"{one.kind} {one.name}" for one in left]
    if pool.spec.deletion_policy == "Delete":
        named += _data_left(context)
        failures = [failure_text(one) for one in driver_volumes(context.lustre)]
    removed = "Finalizer removed after 30 minutes without progress"
    message = sentences(removed, *failures, f"Delete {', '.join(named)} manually")
    return PoolEvent("Warning", "TeardownGaveUp", message)


def gave_up_unplanned(ready: Condition, left: Iterable[str]) -> PoolEvent:
    """The Event about a deletion that could not be planned. `left`: kinds and names of the known children."""
    message = sentences(
        "Finalizer removed after 30 minutes in which kvtier could not plan the deletion",
        f"These objects may be left: {', '.join(left) or 'none is known'}",
        "Check whether the pool had a Lustre instance, and delete what you do not need manually",
        ready.message,
    )
    return PoolEvent("Warning", "TeardownGaveUp", message)


def _data_left(context: Context) -> list[str]:
    """The PVC, PersistentVolumes and instance of the pool that still exist."""
    lustre = context.lustre
    own = [f"{one.kind} {one.name}" for one in (lustre.volume, lustre.own_claim) if one]
    instances = [f"instance {name}" for name in [own_instance(lustre)] if name]
    return [*own, *(volume_text(one) for one in driver_volumes(lustre)), *instances]


def _status(context: Context, waits: Iterable[str], reported: Part) -> PoolStatus:
    pool = context.pool
    conditions = [
        false(READY, Reason.DELETING, sentences(*waits)),
        true(
            DELETING,
            Reason.TEARDOWN_STARTED,
            "kvtier removes the finalizer when everything is deleted. After 30 minutes without progress, it removes "
            "the finalizer and reports what is left.",
        ),
        *reported.conditions,
    ]
    # The latest operation of each kind, in a fixed order.
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
