"""A pool under maintenance, through time."""

from dataclasses import replace

from kvtier.api.conditions import Condition, stamp
from kvtier.api.v1alpha1 import KVCachePool, PoolStatus
from kvtier.facts.model import Instance, LustreFacts, Window
from kvtier.plan.events import PoolEvent
from kvtier.plan.lustre.maintenance import bypassed, plan_maintenance
from kvtier.plan.model import Part
from unit.builders import facts, observed, pool, with_status
from unit.plan.lustre.story import INSTANCE

WINDOW = Window("2026-12-06T02:00:00Z", "2026-12-06T03:00:00Z")


ANNOUNCED = replace(INSTANCE, window=WINDOW)


UPGRADING = replace(ANNOUNCED, state="UPGRADING")


BEFORE, SOON, WITHIN, AFTER = (
    f"2026-12-06T{time}Z" for time in ("01:00:00", "01:30:00", "02:10:00", "03:00:00")
)


RIDE = pool()


BYPASS = pool(mode="Opportunistic", tiers={"lustre": {"maintenance": "Bypass"}})


class Watch:
    """One pool through time, with its status written."""

    def __init__(self, of: KVCachePool) -> None:
        self.pool = of
        self.events: list[PoolEvent] = []
        self.part = Part()

    def at(
        self, now: str, instance: Instance | None = ANNOUNCED, error: str | None = None
    ) -> tuple[str, str]:
        seen = replace(facts(), lustre=LustreFacts(instance, error))
        self.part = plan_maintenance(self.pool, observed(facts=seen), now)
        self.events += self.part.events
        self.write(self.condition, now)
        return self.condition.status, self.condition.reason

    def write(self, condition: Condition, now: str) -> None:
        self.pool = with_status(self.pool, PoolStatus(conditions=stamp([condition], [], 1, now)))

    @property
    def condition(self) -> Condition:
        (found,) = self.part.conditions
        return found

    @property
    def away(self) -> bool:
        return bypassed(self.pool, self.part)

    @property
    def told(self) -> list[str]:
        return [notice.reason for notice in self.events]
