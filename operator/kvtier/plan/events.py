"""Which changes of the status are worth an Event."""

from dataclasses import dataclass
from typing import Literal

from kvtier.api.conditions import READY, find
from kvtier.api.v1alpha1 import PoolStatus


@dataclass(frozen=True)
class PoolEvent:
    """An Event about the pool."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str


def status_events(old: PoolStatus, new: PoolStatus) -> list[PoolEvent]:
    """One Event when the pool becomes ready, one when something new keeps it from it.

    And one when something fails that leaves it ready: a copy, a growth. Progress is in the status and gets none.
    """
    return [*_readiness(old, new), *_failures(old, new)]


def _readiness(old: PoolStatus, new: PoolStatus) -> list[PoolEvent]:
    before, after = find(old.conditions, READY), find(new.conditions, READY)
    if after is None or (before and (before.status, before.reason) == (after.status, after.reason)):
        return []
    if after.status == "True":
        return [PoolEvent("Normal", "Ready", after.message or "all tiers and models are ready")]
    if new.phase in ("Blocked", "Degraded"):
        return [PoolEvent("Warning", after.reason, after.message)]
    return []


def _failures(old: PoolStatus, new: PoolStatus) -> list[PoolEvent]:
    """What is tried again keeps its reason until it succeeds, so each failure is one Event."""
    before = {condition.type: condition.reason for condition in old.conditions}
    return [
        PoolEvent("Warning", condition.reason, condition.message)
        for condition in new.conditions
        if condition.deserves_event and before.get(condition.type) != condition.reason
    ]
