"""The planner's answer: what to write, what to delete, what to report, when to look again."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from kvtier.api.conditions import Condition
from kvtier.api.kinds import Key
from kvtier.api.v1alpha1 import ModelStatus, OperationStatus, PoolStatus, TierStatus
from kvtier.facts.children import Child
from kvtier.plan.events import PoolEvent

Manifest = dict[str, Any]


def key(manifest: Manifest) -> Key:
    """Kind and name of an object to apply."""
    return manifest["kind"], manifest["metadata"]["name"]


@dataclass(frozen=True)
class Ref:
    """One object to delete. `uid` keeps a namesake that was made in the meantime alive."""

    kind: str
    name: str
    uid: str = ""


@dataclass(frozen=True)
class Call:
    """One request to the Lustre API that starts an operation.

    `instance` is its full name, `request` the request id (a UUID), by which a repeat is harmless. `body` is,
    for create and update, the Instance's fields in the API's JSON (only the changed ones in an update), for
    import and export {"uri": "gs://BUCKET/PREFIX/", "path": "/DIRECTORY/"}.
    """

    verb: Literal["create", "update", "delete", "import", "export"]
    instance: str
    request: str
    body: Mapping[str, Any] = field(default_factory=dict)


def references(children: Iterable[Child]) -> tuple[Ref, ...]:
    """What to delete, so that these children go: those that are not being deleted already."""
    return tuple(Ref(child.kind, child.name, child.uid) for child in children if not child.deleting)


@dataclass(frozen=True)
class Part:
    """What one concern (storage, nodes, serving) contributes to a plan. `again` is in seconds, as in Plan.

    `keeps` are children that the spec asks for, whether they are applied now or not: they are not pruned.
    """

    applies: tuple[Manifest, ...] = ()
    conditions: tuple[Condition, ...] = ()
    tiers: tuple[TierStatus, ...] = ()
    models: tuple[ModelStatus, ...] = ()
    handovers: tuple[Manifest, ...] = ()
    deletes: tuple[Ref, ...] = ()
    calls: tuple[Call, ...] = ()
    operations: tuple[OperationStatus, ...] = ()
    events: tuple[PoolEvent, ...] = ()
    keeps: tuple[Key, ...] = ()
    again: float | None = None


def together(*parts: Part) -> Part:
    """Several parts as one: everything in their order, and the shortest wait."""
    every: dict[str, Any] = {
        one.name: tuple(item for part in parts for item in getattr(part, one.name))
        for one in fields(Part)
        if one.name != "again"
    }
    return Part(**every, again=soonest(*(part.again for part in parts)))


@dataclass(frozen=True)
class Plan:
    """Effects in order: finalizer, handovers, applies, deletes, calls, status.

    A handover is applied by another field manager, so that a field stays when kvtier's lets go of it.
    `finalizer` is True to hold the pool, False to let it go. `status` is None when the pool goes away;
    `events` are Events beside those that a change of the status brings.
    `requeue_after` is in seconds; None waits for the next event.
    """

    applies: tuple[Manifest, ...] = ()
    deletes: tuple[Ref, ...] = ()
    finalizer: bool = True
    status: PoolStatus | None = None
    requeue_after: float | None = None
    events: tuple[PoolEvent, ...] = ()
    handovers: tuple[Manifest, ...] = ()
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True)
class Failure:
    """A write that the API server, or kvtier's own caution, refused."""

    kind: str
    name: str
    reason: str
    message: str


def soonest(*delays: float | None) -> float | None:
    """The shortest of some waits in seconds, None when nobody waits."""
    return min((delay for delay in delays if delay is not None), default=None)
