"""Events for changes of the status."""

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
    """An Event when the pool becomes ready, and when a new reason blocks or degrades it.

    A failure that leaves the pool ready, such as a copy or a resize, is an Event too. Progress is only in the status.
    """
    return [*_readiness(old, new), *_failures(old, new)]


def _readiness(old: PoolStatus, new: PoolStatus) -> list[PoolEvent]:
    before, after = find(old.conditions, READY), find(new.conditions, READY)
    if after is None or (before and (before.status, before.reason) == (after.status, after.reason)):
        return []
    if after.status == "True":
        return [PoolEvent("Normal", "Ready", after.message or "All tiers and models are ready.")]
    if new.phase in ("Blocked", "Degraded"):
        return [PoolEvent("Warning", after.reason, after.message)]
    return []


def _failures(old: PoolStatus, new: PoolStatus) -> list[PoolEvent]:
    """One Event for each failure: its condition keeps the reason while kvtier retries."""
    before = {condition.type: condition.reason for condition in old.conditions}
    return [
        PoolEvent("Warning", condition.reason, condition.message)
        for condition in new.conditions
        if condition.deserves_event and before.get(condition.type) != condition.reason
    ]
