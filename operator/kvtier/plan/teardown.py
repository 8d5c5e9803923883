"""How long a teardown is tried for."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from kvtier.api.conditions import DELETING, READY, false, stamp, true
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool, OperationStatus, PoolStatus, TierStatus
from kvtier.context import build
from kvtier.facts.model import Observed
from kvtier.plan.events import PoolEvent
from kvtier.plan.lustre.cloud_storage import last_export
from kvtier.plan.lustre.delete import claim_text, driven, may_exist, remove, volume_text
from kvtier.plan.lustre.provisioning import under_way
from kvtier.plan.model import Part, Plan, to_delete

_PATIENCE = timedelta(minutes=30)
_MAKING = timedelta(hours=2)
"""No instance takes longer than that to be made (the Terraform provider waits as long)."""


def over(pool: KVCachePool, observed: Observed, now: str) -> bool:
    """Whether nothing has got on for 30 minutes since the teardown began, as the condition Deleting tells.

    Time in which no operator ran does not count. A deletion that is tried again and again is no progress.
    """
    told = next((c.last_transition_time for c in pool.status.conditions if c.type == DELETING), None)
    if told is None:
        return False
    began = datetime.fromisoformat(told)
    ends = [_time(one.progress_time) for one in pool.status.operations if one.kind != "Delete"]
    made = [min(time, began + _MAKING) for time in _signs(observed, now)]
    latest = max([began, *(time for time in (*ends, *made) if time)])
    return datetime.fromisoformat(now) - latest > _PATIENCE


def _signs(observed: Observed, now: str) -> list[datetime]:
    """When an instance was last seen being made: by the driver's Events, or in the Lustre API now."""
    lustre = observed.facts.lustre
    creating = lustre is not None and lustre.instance is not None and lustre.instance.state == "CREATING"
    heard = [_time(event.last) for event in observed.claim_events[:1]]
    return [time for time in heard if time] + ([datetime.fromisoformat(now)] if creating else [])


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


_ENGINES = ("Deployment", "Service", "Job")
_CLUSTER_WIDE = ("StorageClass", "ComputeClass")
_STORAGE = ("PersistentVolumeClaim", "PersistentVolume")
_POLL_SECONDS = 15.0


@dataclass(frozen=True)
class _Step:
    """What to do now, and what is waited for, if anything. `events` are told when the pool is let go."""

    part: Part = field(default_factory=Part)
    waits: tuple[str, ...] = ()
    events: tuple[PoolEvent, ...] = ()


def plan_teardown(pool: KVCachePool, observed: Observed, now: str) -> Plan:
    """The next step of the teardown; the pool is let go when nothing that must go is left.

    Case 1: engines and Jobs are there -> delete them, wait until they are gone.
    Case 2: Delete, and data is to be exported first -> wait for that; if it fails, all data is kept.
    Case 3: Delete -> claim, volume and instance go, see `remove`. An existing instance is never deleted.
    Case 4: Retain -> all three stay, but for a claim that never got a volume.
    Case 5: cluster-wide objects are there -> delete them, wait.
    Case 6: nothing is left -> release the finalizer, and say what was kept although it was to go.
    Case 7: nothing has got on for 30 minutes -> release it all the same, and say what is left.
    """
    engines, data = _objects(observed, _ENGINES), _data(pool, observed, now)
    step = engines if engines.waits else data if data.waits else _objects(observed, _CLUSTER_WIDE)
    if not step.waits:
        return Plan(finalizer=False, events=data.events)
    if over(pool, observed, now):
        return Plan(finalizer=False, events=(_gave_up(pool, observed, now),))
    told = step.part if step is engines else data.part
    return Plan(
        applies=step.part.applies,
        deletes=step.part.deletes,
        status=_status(pool, step.waits, told, now),
        requeue_after=_POLL_SECONDS,
        calls=step.part.calls,
    )


def _objects(observed: Observed, kinds: tuple[str, ...]) -> _Step:
    left = {key: obj for key, obj in sorted(observed.children.items()) if key[0] in kinds}
    return _Step(Part(deletes=to_delete(left)), tuple(f"{kind} {name}" for kind, name in left))


def _data(pool: KVCachePool, observed: Observed, now: str) -> _Step:
    if pool.spec.deletion_policy == "Retain":
        return _abandoned(pool, observed, now)
    export = last_export(pool, observed, now)
    if export.waits:
        return _Step(export.part, (export.waits,))
    if export.failed:
        return _Step(export.part, events=(_kept(pool, observed, export.failed, now),))
    removal = remove(pool, observed, now)
    events = tuple(
        PoolEvent("Warning", "DataKept", f"{one}, stays: delete it by hand") for one in removal.keeps
    )
    # That the data has arrived must outlive the instance, which is asked no more once it goes.
    done = (*export.part.operations, *removal.part.operations)
    return _Step(replace(removal.part, operations=done), removal.waits, events)


def _abandoned(pool: KVCachePool, observed: Observed, now: str) -> _Step:
    """Under Retain: a claim without a volume holds no data that could be retained."""
    claims = {key: obj for key, obj in observed.children.items() if key[0] == "PersistentVolumeClaim"}
    empty = {key: obj for key, obj in claims.items() if not obj["spec"].get("volumeName")}
    making = bool(empty) and under_way(build(pool, observed, now).lustre, now)
    deletes = () if making else to_delete(empty)
    text = ", for which an instance is being made" if making else ""
    waits = tuple(f"{claim_text(name, observed)}{text}" for _, name in sorted(empty))
    unnamed = not any(kind == "PersistentVolume" for kind, _ in observed.children)
    name = may_exist(pool, observed, now) if unnamed else None
    notice = PoolEvent(
        "Warning", "InstanceKept", f"deletionPolicy Retain keeps instance {name}, which has no volume"
    )
    return _Step(Part(deletes=deletes), waits, (notice,) if name else ())


def _kept(pool: KVCachePool, observed: Observed, why: str, now: str) -> PoolEvent:
    names = ", ".join(_left(pool, observed, _STORAGE, now))
    return PoolEvent("Warning", "DataKept", f"{why}. Kept: {names}; delete them by hand once the data may go")


def _gave_up(pool: KVCachePool, observed: Observed, now: str) -> PoolEvent:
    data = _STORAGE if pool.spec.deletion_policy == "Delete" else ()
    names = ", ".join(_left(pool, observed, (*_ENGINES, *data, *_CLUSTER_WIDE), now))
    return PoolEvent(
        "Warning", "TeardownGaveUp", f"the pool is released although {names} did not go: delete by hand"
    )


def _left(pool: KVCachePool, observed: Observed, kinds: tuple[str, ...], now: str) -> list[str]:
    """All that is there of these kinds, with the instances behind it."""
    left = [f"{kind} {name}" for kind, name in sorted(observed.children) if kind in kinds]
    if "PersistentVolume" in kinds:
        left += [volume_text(one) for one in driven(pool, observed)]
        instance = may_exist(pool, observed, now)
        left += [f"instance {instance}"] if instance else []
    return left


def _status(pool: KVCachePool, waits: tuple[str, ...], told: Part, now: str) -> PoolStatus:
    """`told` has the operations and conditions that the status remembers."""
    conditions = [
        false(READY, Reason.DELETING, f"waiting for {', '.join(waits)} to go"),
        true(
            DELETING,
            Reason.TEARDOWN_STARTED,
            "the pool is released when all is gone, or when nothing has got on for 30 minutes",
        ),
        *told.conditions,
    ]
    return pool.status.model_copy(
        update={
            "observed_generation": pool.generation,
            "phase": "Deleting",
            "conditions": stamp(conditions, pool.status.conditions, pool.generation, now),
            "tiers": [_retained(tier, pool) for tier in pool.status.tiers],
            "operations": _operations(pool, told.operations),
        }
    )


def _operations(pool: KVCachePool, fresh: tuple[OperationStatus, ...]) -> list[OperationStatus]:
    """The latest of each kind, in a fixed order."""
    latest = {one.kind: one for one in (*pool.status.operations, *fresh)}
    return list(latest.values())


def _retained(tier: TierStatus, pool: KVCachePool) -> TierStatus:
    kept = tier.name == "lustre" and pool.spec.deletion_policy == "Retain"
    return tier.model_copy(update={"phase": "Retained"}) if kept else tier
