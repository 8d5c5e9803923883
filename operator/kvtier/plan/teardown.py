"""Deletion of a pool: engines first, then, if the policy says so, the data, then what is cluster-wide."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from kvtier.api.conditions import DELETING, READY, false, stamp, true
from kvtier.api.v1alpha1 import KVCachePool, TierStatus
from kvtier.facts.model import Object, Observed
from kvtier.plan.model import Manifest, Plan, to_delete
from kvtier.plan.notices import Notice

_ORDER = (("Deployment", "Service"), ("PersistentVolumeClaim",), ("StorageClass", "ComputeClass"))
_POLL_SECONDS = 15.0
_BOUND = timedelta(minutes=30)


def plan_teardown(pool: KVCachePool, observed: Observed, now: str) -> Plan:
    """The next step of the teardown; the pool is let go when nothing that must go is left.

    Case 1: engines are there -> delete them, wait until they are gone.
    Case 2: the claim must go (Delete, or it never got a volume) -> switch its volume to Delete, delete it, wait.
    Case 3: cluster-wide objects are there -> delete them, wait.
    Case 4: nothing is left -> release the finalizer.
    Case 5: what is left has not gone in 30 minutes of trying -> release it all the same, and say what stays.
    """
    for kinds in _ORDER:
        left = sorted(
            key for key, obj in observed.children.items() if key[0] in kinds and _must_go(key[0], obj, pool)
        )
        if left and _overdue(pool, now):
            return Plan(finalizer=False, notices=(_gave_up(left),))
        if left:
            return _step(pool, observed, left, now)
    return Plan(finalizer=False)


def _overdue(pool: KVCachePool, now: str) -> bool:
    """Whether the teardown has been tried for long enough. Time in which no operator ran does not count."""
    started = next((c.last_transition_time for c in pool.status.conditions if c.type == DELETING), None)
    return started is not None and datetime.fromisoformat(now) - datetime.fromisoformat(started) > _BOUND


def _gave_up(left: list[tuple[str, str]]) -> Notice:
    names = ", ".join(f"{kind} {name}" for kind, name in left)
    return Notice(
        "Warning", "TeardownGaveUp", f"the pool is released although {names} did not go: delete by hand"
    )


def _must_go(kind: str, obj: Object, pool: KVCachePool) -> bool:
    """Whether an object goes with the pool. A claim without a volume holds no data that could be retained."""
    if kind != "PersistentVolumeClaim" or pool.spec.deletion_policy == "Delete":
        return True
    return not obj["spec"].get("volumeName")


def _step(pool: KVCachePool, observed: Observed, left: list[tuple[str, str]], now: str) -> Plan:
    deletes = to_delete({key: observed.children[key] for key in left})
    names = ", ".join(f"{kind} {name}" for kind, name in left)
    conditions = [
        false(READY, "Deleting", f"waiting for {names} to go"),
        true(
            DELETING,
            "TeardownStarted",
            "the pool is released when all is gone, or 30 minutes after this began",
        ),
    ]
    status = pool.status.model_copy(
        update={
            "observed_generation": pool.generation,
            "phase": "Deleting",
            "conditions": stamp(conditions, pool.status.conditions, pool.generation, now),
            "tiers": [_retained(tier, pool) for tier in pool.status.tiers],
        }
    )
    return Plan(volumes_to_delete(observed, left), deletes, True, status, _POLL_SECONDS)


def _retained(tier: TierStatus, pool: KVCachePool) -> TierStatus:
    kept = tier.name == "lustre" and pool.spec.deletion_policy == "Retain"
    return tier.model_copy(update={"phase": "Retained"}) if kept else tier


def volumes_to_delete(observed: Observed, left: Iterable[tuple[str, str]]) -> tuple[Manifest, ...]:
    """The volumes of claims that go, with the reclaim policy that lets the driver delete the instance.

    A claim that is on its way out has had that written before: the applier deletes nothing before all
    applies have succeeded.
    """
    claims = [observed.children[key] for key in left if key[0] == "PersistentVolumeClaim"]
    volumes = [
        claim["spec"].get("volumeName")
        for claim in claims
        if claim.get("status", {}).get("phase") == "Bound" and not claim["metadata"].get("deletionTimestamp")
    ]
    return tuple(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": volume},
            "spec": {"persistentVolumeReclaimPolicy": "Delete"},
        }
        for volume in volumes
        if volume
    )
