"""A deleted pool whose data goes, through time."""

from dataclasses import replace
from typing import Any

from kvtier.api.v1alpha1 import KVCachePool, OperationStatus, PoolStatus, TierStatus
from kvtier.facts.model import Counters, LustreFacts, Observed, Operation
from kvtier.plan.lustre.cloud_storage import LastExport, last_export
from kvtier.plan.model import Call
from unit.builders import claim, deleted, facts, joined, observed, with_status
from unit.plan.lustre.story import CLUSTER, INSTANCE, URI

NOON = "2026-11-29T12:00:00Z"


DONE = Counters(found=10, copied=10)


STORAGE = {"uri": URI}


def leaving(phase: str = "Configured", **changes: Any) -> KVCachePool:
    """A deleted pool whose tier was in use; `changes` are of the spec."""
    spec = {"cluster": CLUSTER, "deletionPolicy": "Delete", "tiers": {"cloudStorage": STORAGE}}
    going = deleted(NOON, **joined(spec, changes))
    return with_status(
        going, PoolStatus(tiers=[TierStatus(name="cloudStorage", phase=phase)] if phase else [])
    )


class Teardown:
    """A teardown through time."""

    def __init__(self, of: KVCachePool) -> None:
        self.pool = of
        self.error: str | None = None
        self.answers: dict[str, Operation] = {}
        self.calls: list[Call] = []

    def at(self, now: str) -> LastExport:
        seen = LustreFacts(None if self.error else INSTANCE, self.error, dict(self.answers))
        found = last_export(self.pool, world(self.pool, seen), now)
        self.calls += found.part.calls
        status = self.pool.status.model_copy(update={"operations": list(found.part.operations)})
        self.pool = with_status(self.pool, status)
        return found

    def answer(self, name: str = "op", **fields: Any) -> None:
        self.answers[self.calls[-1].request] = Operation(name, **fields)

    def running(self) -> "Teardown":
        """After the API has taken the export."""
        self.at(NOON)
        self.answer()
        self.at("2026-11-29T12:00:05Z")
        return self


def world(of: KVCachePool, seen: LustreFacts) -> Observed:
    bound = claim(of.model_copy(update={"metadata": {"name": "chat", "namespace": "team-a"}}))
    return observed(bound, facts=replace(facts(), lustre=seen))


def copy_of(kind: str, subject: str, name: str | None) -> OperationStatus:
    return OperationStatus(
        kind=kind,
        subject=subject,
        state="Running",
        request_id="r1",
        name=name,
        start_time=NOON,
        progress_time=NOON,
    )


def while_under_way(copy: OperationStatus) -> Teardown:
    going = leaving()
    return Teardown(with_status(going, going.status.model_copy(update={"operations": [copy]})))
