"""The planner's answer: what to write, what to delete, what to report, when to look again."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kvtier.api.conditions import Condition
from kvtier.api.v1alpha1 import ModelStatus, PoolStatus, TierStatus
from kvtier.facts.model import Object
from kvtier.plan.notices import Notice

Manifest = dict[str, Any]


@dataclass(frozen=True)
class Ref:
    """One object to delete. `uid` keeps a namesake that was made in the meantime alive."""

    kind: str
    name: str
    uid: str = ""


def to_delete(children: Mapping[tuple[str, str], Object]) -> tuple[Ref, ...]:
    """References to these children, but for those that are going already."""
    return tuple(
        Ref(kind, name, obj["metadata"].get("uid", ""))
        for (kind, name), obj in children.items()
        if not obj["metadata"].get("deletionTimestamp")
    )


@dataclass(frozen=True)
class Part:
    """What one concern (storage, nodes, serving) contributes to a plan."""

    applies: tuple[Manifest, ...] = ()
    conditions: tuple[Condition, ...] = ()
    tiers: tuple[TierStatus, ...] = ()
    models: tuple[ModelStatus, ...] = ()
    handovers: tuple[Manifest, ...] = ()


@dataclass(frozen=True)
class Plan:
    """Effects in order: finalizer, handovers, applies, deletes, status.

    A handover is applied by another field manager, so that a field stays when kvtier's lets go of it.
    `finalizer` is True to hold the pool, False to let it go. `status` is None when the pool goes away;
    `notices` are the Events that go with that.
    `requeue_after` is in seconds; None waits for the next event.
    """

    applies: tuple[Manifest, ...] = ()
    deletes: tuple[Ref, ...] = ()
    finalizer: bool = True
    status: PoolStatus | None = None
    requeue_after: float | None = None
    notices: tuple[Notice, ...] = ()
    handovers: tuple[Manifest, ...] = ()


@dataclass(frozen=True)
class Failure:
    """A write that the API server, or kvtier's own caution, refused."""

    kind: str
    name: str
    reason: str
    message: str


Checks = Mapping[str, Condition]
