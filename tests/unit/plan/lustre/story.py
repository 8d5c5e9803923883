"""A pool with Cloud Storage through time: the plan of each moment, with its status written as the operator does."""

from dataclasses import replace
from typing import Any

from kvtier.api.conditions import CLOUD_STORAGE_SYNCED, Condition, stamp, true
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool, OperationStatus, PoolStatus
from kvtier.facts.model import Counters, Instance, LustreFacts, Observed, Operation
from kvtier.plan.events import PoolEvent, status_events
from kvtier.plan.lustre.cloud_storage import plan_transfers
from kvtier.plan.model import Call, Part
from unit.builders import claim, facts, observed, pool, with_status

CLUSTER = {"project": "my-project", "location": "us-central1", "name": "c1"}
URI = "gs://bucket/cache/"
NAME = "projects/my-project/locations/us-central1-a/instances/pvc-PersistentVolumeClaim-uid"
INSTANCE = Instance(
    name=NAME,
    state="ACTIVE",
    capacity=18000 << 30,
    throughput=1000,
    filesystem="kv",
    network="n",
    address="10.0.0.2",
    created="2026-11-29T11:00:00Z",
)
SUBJECT = "pvc-PersistentVolumeClaim-uid@2026-11-29T11:00:00Z"
USABLE = "2026-11-29T12:00:00Z"


def cached(uri: str = URI, **changes: Any) -> KVCachePool:
    """A pool whose tier was found usable at noon, with Cloud Storage; `changes` are those of `cloudStorage`."""
    made = pool(cluster=CLUSTER, tiers={"cloudStorage": {"uri": uri, **changes}})
    return with_status(
        made, PoolStatus(conditions=stamp([true("StorageReady", Reason.BOUND)], [], 1, USABLE))
    )


class Story:
    """What the world is like, to be changed between two moments, and what was planned."""

    def __init__(self, of: KVCachePool) -> None:
        self.pool = of
        self.instance: Instance | None = INSTANCE
        self.error: str | None = None
        self.answers: dict[str, Operation] = {}
        self.calls: list[Call] = []
        self.events: list[PoolEvent] = []
        self.usable = True
        self.part = Part()

    def at(self, now: str) -> Part:
        """Plan as `now` is, and write the status."""
        self.part = plan_transfers(self.pool, self.world(), self.usable, now)
        self.calls += self.part.calls
        self.write(self.part, now)
        return self.part

    def world(self) -> Observed:
        seen = LustreFacts(None if self.error else self.instance, self.error, dict(self.answers))
        return observed(claim(self.pool), facts=replace(facts(), lustre=seen))

    def write(self, part: Part, now: str) -> None:
        """Replace the parts of the status that a plan of copies is about."""
        old = self.pool.status
        others = [one for one in old.conditions if one.type != CLOUD_STORAGE_SYNCED]
        conditions = stamp([*others, *part.conditions], old.conditions, 1, now)
        new = PoolStatus(
            conditions=conditions, tiers=list(part.tiers) or old.tiers, operations=list(part.operations)
        )
        self.events += status_events(old, new)
        self.pool = with_status(self.pool, new)

    def answer(self, name: str = "op", **fields: Any) -> None:
        """What the API says of the request that was made last."""
        self.answers[self.calls[-1].request] = Operation(name, **fields)

    def succeed(self, copied: int = 10, skipped: int = 0) -> None:
        self.answer(done=True, counters=Counters(found=copied, copied=copied, skipped=skipped))

    def restart(self) -> None:
        """Another process, that knows only what the status tells."""
        running = {
            one.request_id for one in self.pool.status.operations if one.name and one.state == "Running"
        }
        self.answers = {request: one for request, one in self.answers.items() if request in running}

    @property
    def condition(self) -> Condition:
        return next(one for one in self.pool.status.conditions if one.type == CLOUD_STORAGE_SYNCED)

    @property
    def told(self) -> tuple[str, str]:
        return self.condition.status, self.condition.reason

    @property
    def phase(self) -> str:
        (tier,) = self.pool.status.tiers
        return tier.phase

    def operation(self, kind: str) -> OperationStatus:
        return next(one for one in self.pool.status.operations if one.kind == kind)

    def asked(self) -> list[str]:
        """The verbs of all calls so far."""
        return [call.verb for call in self.calls]


IMPORT_DENIED: dict[str, Any] = {
    "done": True,
    "counters": Counters(found=10, copied=3, failed=7),
    "problems": ("gs://bucket/a: denied",),
}
"""An answer: the import ended, and some objects failed."""

EXPORT_DENIED: dict[str, Any] = {**IMPORT_DENIED, "problems": ("/a: denied",)}


def importing(name: str = "op") -> Story:
    """A story in which the API has taken the import."""
    story = Story(cached())
    story.at(USABLE)
    story.answer(name)
    story.at("2026-11-29T12:00:10Z")
    return story


def nightly(expression: str = "0 3 * * *") -> Story:
    """A pool that only exports."""
    return Story(cached(importOnCreate=False, exportSchedule=expression))


def exported(story: Story, now: str) -> None:
    """The export of a moment, done at once."""
    story.at(now)
    story.succeed()
    story.at(now)
