"""Which changes of the status are worth an Event."""

from dataclasses import dataclass
from typing import Literal

from kvtier.api.conditions import CLOUD_STORAGE_SYNCED, READY, STORAGE_READY, Condition
from kvtier.api.v1alpha1 import PoolStatus

COPY_FAILURES = ("ImportFailed", "ExportFailed", "InvalidSchedule")
"""Reasons of CloudStorageSynced about which somebody has to do something."""

RESIZE_FAILED = "ResizeFailed"
"""Reason of StorageReady while the shared tier does not get the size that the spec wants."""

_TOLD = {CLOUD_STORAGE_SYNCED: COPY_FAILURES, STORAGE_READY: (RESIZE_FAILED,)}


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
    failures = (notice for type_ in _TOLD for notice in _failures(old, new, type_))
    return [*_readiness(old, new), *failures]


def _readiness(old: PoolStatus, new: PoolStatus) -> list[PoolEvent]:
    before, after = _condition(old, READY), _condition(new, READY)
    if after is None or (before and (before.status, before.reason) == (after.status, after.reason)):
        return []
    if after.status == "True":
        return [PoolEvent("Normal", "Ready", after.message or "all tiers and models are ready")]
    if new.phase in ("Blocked", "Degraded"):
        return [PoolEvent("Warning", after.reason, after.message)]
    return []


def _failures(old: PoolStatus, new: PoolStatus, type_: str) -> list[PoolEvent]:
    """What is tried again keeps its reason until it succeeds, so each failure is told of once."""
    before, after = _condition(old, type_), _condition(new, type_)
    if after is None or after.reason not in _TOLD[type_] or (before and before.reason == after.reason):
        return []
    return [PoolEvent("Warning", after.reason, after.message)]


def _condition(status: PoolStatus, type_: str) -> Condition | None:
    return next((condition for condition in status.conditions if condition.type == type_), None)
