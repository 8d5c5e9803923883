"""The plan: what to write, what to delete, what to report, and when to reconcile again."""

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
    """One object to delete. `uid` protects a newer object of the same name."""

    kind: str
    name: str
    uid: str = ""


@dataclass(frozen=True)
class Call:
    """One request to the Lustre API that starts an operation.

    `instance`: its full name. `request`: the request id (a UUID), which makes a repeated request harmless. `body`: for
    create and update, the Instance's fields in the API's JSON (only the changed ones for update); for import and
    export, {"uri": "gs://BUCKET/PREFIX/", "path": "/DIRECTORY/"}.
    """

    verb: Literal["create", "update", "delete", "import", "export"]
    instance: str
    request: str
    body: Mapping[str, Any] = field(default_factory=dict)


def references(children: Iterable[Child]) -> tuple[Ref, ...]:
    """The children to delete, without those that are already being deleted."""
    return tuple(Ref(child.kind, child.name, child.uid) for child in children if not child.deleting)


@dataclass(frozen=True)
class Part:
    """The part of a plan for one concern (storage, nodes, serving).

    `keeps`: children that the spec needs, applied now or not; they are not pruned. `again`: seconds until the next
    reconciliation, None to wait for an event.
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
    """Several parts as one: all their items in order, and the shortest wait."""
    every: dict[str, Any] = {
        one.name: tuple(item for part in parts for item in getattr(part, one.name))
        for one in fields(Part)
        if one.name != "again"
    }
    return Part(**every, again=soonest(*(part.again for part in parts)))


@dataclass(frozen=True)
class Plan:
    """Effects in this order: finalizer, handovers, applies, deletes, calls, status.

    `handovers`: manifests that another field manager applies, so that a field stays after kvtier stops applying it.
    `finalizer`: False to remove it, so that Kubernetes deletes the pool. `status`: None if the pool will not exist.
    `events`: Events in addition to those for changes of the status. `requeue_after`: in seconds, None to wait for an
    event.
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
    """A write that the API server refused, or that kvtier refused to do."""

    kind: str
    name: str
    reason: str
    message: str


def soonest(*delays: float | None) -> float | None:
    """The shortest delay in seconds, None if all are None."""
    return min((delay for delay in delays if delay is not None), default=None)
