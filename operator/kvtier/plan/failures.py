"""Refused writes in the status: each failure turns the condition of its concern False."""

from kvtier.api.conditions import (
    MODELS_READY,
    NODE_POOL_READY,
    READY,
    STORAGE_READY,
    TIER_WRITABLE,
    Condition,
    false,
    stamp,
)
from kvtier.api.v1alpha1 import PoolStatus
from kvtier.plan.model import Failure

_CONCERN = {
    "StorageClass": STORAGE_READY,
    "PersistentVolumeClaim": STORAGE_READY,
    "PersistentVolume": STORAGE_READY,
    "Job": TIER_WRITABLE,
    "ComputeClass": NODE_POOL_READY,
    "Deployment": MODELS_READY,
    "Service": MODELS_READY,
}


def with_failures(status: PoolStatus, failures: list[Failure], old: PoolStatus, now: str) -> PoolStatus:
    """`status` with what was refused. The first failure of a concern speaks for it."""
    if not failures:
        return status
    found: dict[str, Condition] = {}
    for failure in failures:
        type_ = _CONCERN[failure.kind]
        message = f"{failure.kind} {failure.name}: {failure.message}"
        found.setdefault(type_, false(type_, failure.reason, message))
    first = next(iter(found.values()))
    found[READY] = false(READY, first.reason, f"{first.type}: {first.message}")
    conditions = [found.get(condition.type, condition) for condition in status.conditions]
    phase = "Degraded" if status.phase in ("Ready", "Degraded") else "Blocked"
    stamped = stamp(conditions, old.conditions, status.observed_generation or 0, now)
    return status.model_copy(update={"conditions": stamped, "phase": phase})
