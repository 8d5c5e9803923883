"""An operation of the Lustre API through time: what is asked for, what is answered, what the status tells."""

from dataclasses import replace
from typing import Any

from kvtier.api.v1alpha1 import KVCachePool, OperationStatus, PoolStatus
from kvtier.facts.model import LustreFacts, Operation
from kvtier.facts.operations import Kind, operations_of
from kvtier.plan.lustre.operations import DesiredOperation, Followed, follow
from unit.builders import NOW, pool, with_status

INSTANCE = "projects/p/locations/us-central1-a/instances/i"
NIGHT = DesiredOperation("Export", "2026-11-29T03:00:00Z", INSTANCE, {"uri": "gs://bucket/", "path": "/a/"})
NEXT = replace(NIGHT, subject="2026-11-30T03:00:00Z")
NAME = "projects/p/locations/us-central1-a/operations/op"
LATER = "2026-11-29T13:00:00Z"


class Process:
    """What one process knows of the API's answers; the pool's status is what the next one starts from."""

    def __init__(self, of: KVCachePool | None = None) -> None:
        self.pool = of or pool()
        self.answers: dict[str, Operation] = {}
        self.blind = False
        self.found = Followed()

    def at(self, now: str = NOW, wish: DesiredOperation | None = NIGHT, kind: Kind = "Export") -> Followed:
        """Follow, and write the status."""
        self.found = self.dying(now, wish, kind)
        self.pool = with_status(self.pool, PoolStatus(operations=list(self.found.operations)))
        return self.found

    def dying(self, now: str = NOW, wish: DesiredOperation | None = NIGHT, kind: Kind = "Export") -> Followed:
        """Follow, and die before the status is written."""
        lustre = None if self.blind else LustreFacts(operations=dict(self.answers))
        return follow(operations_of(self.pool, lustre, now), kind, wish)

    def answer(self, name: str = NAME, **fields: Any) -> None:
        """What the API says of the last request."""
        self.answers[self.status.request_id] = Operation(name, **fields)

    def refuse(self, code: str, message: str = "no") -> None:
        """The last request has started no operation."""
        self.answer("", done=True, code=code, message=message)

    @property
    def status(self) -> OperationStatus:
        return self.pool.status.operations[0]
