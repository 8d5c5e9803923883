"""Which changes of the status are worth an Event."""

from dataclasses import dataclass
from typing import Literal

from kvtier.api.conditions import READY, Condition
from kvtier.api.v1alpha1 import PoolStatus


@dataclass(frozen=True)
class Notice:
    """An Event about the pool."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str


def notices(old: PoolStatus, new: PoolStatus) -> list[Notice]:
    """One Event when the pool becomes ready, one when something new keeps it from it.

    Progress is in the status and gets none.
    """
    before, after = _ready(old), _ready(new)
    if after is None or (before and (before.status, before.reason) == (after.status, after.reason)):
        return []
    if after.status == "True":
        return [Notice("Normal", "Ready", after.message or "all tiers and models are ready")]
    if new.phase in ("Blocked", "Degraded"):
        return [Notice("Warning", after.reason, after.message)]
    return []


def _ready(status: PoolStatus) -> Condition | None:
    return next((condition for condition in status.conditions if condition.type == READY), None)
