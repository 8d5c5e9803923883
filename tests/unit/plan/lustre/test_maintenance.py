"""What is told of maintenance."""

from dataclasses import replace

from kvtier.api.conditions import unknown
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Instance, LustreFacts, Window
from kvtier.plan.events import PoolEvent
from kvtier.plan.lustre.maintenance import bypassed, plan_maintenance
from kvtier.plan.model import Part
from unit.builders import facts, observed, pool
from unit.plan.lustre.story import INSTANCE
from unit.plan.lustre.watching import AFTER, ANNOUNCED, BEFORE, BYPASS, RIDE, SOON, UPGRADING, WITHIN, Watch
from unit.tables import table


def test_a_pool_without_lustre_has_no_maintenance() -> None:
    without = pool(tiers={"lustre": None})
    assert plan_maintenance(without, observed(), BEFORE) == Part()
    assert not bypassed(without, Part())


@table(
    "of, now, instance, told, said",
    {
        "what is announced is told with what it does": (
            RIDE,
            BEFORE,
            ANNOUNCED,
            ("True", "Scheduled"),
            "from 2026-12-06 02:00 UTC to 2026-12-06 03:00 UTC: reads and writes hang for 2 to 25 minutes and go on",
        ),
        "who rides stays until the window": (
            RIDE,
            SOON,
            ANNOUNCED,
            ("True", "Scheduled"),
            "hang for 2 to 25 minutes",
        ),
        "who will leave knows when": (
            BYPASS,
            BEFORE,
            ANNOUNCED,
            ("True", "Scheduled"),
            "engines are rolled from 2026-12-06 01:30 UTC on to run without the shared tier, and back after it",
        ),
        "inside the window it may go on": (
            RIDE,
            WITHIN,
            ANNOUNCED,
            ("True", "InProgress"),
            "is in progress (from 2026-12-06 02:00 UTC to 2026-12-06 03:00 UTC): engines keep the tier",
        ),
        "it goes on while the instance says so": (
            RIDE,
            BEFORE,
            UPGRADING,
            ("True", "InProgress"),
            "in progress",
        ),
        "it goes on after the window": (
            RIDE,
            AFTER,
            UPGRADING,
            ("True", "InProgress"),
            "is in progress: engines",
        ),
        "it goes on without an announcement": (
            RIDE,
            BEFORE,
            replace(INSTANCE, state="UPGRADING"),
            ("True", "InProgress"),
            "is in progress: engines keep the tier",
        ),
        "engines stay when it comes without an announcement": (
            BYPASS,
            BEFORE,
            replace(INSTANCE, state="UPGRADING"),
            ("True", "InProgress"),
            "engines keep the tier",
        ),
        "engines stay while the instance is repaired": (
            BYPASS,
            BEFORE,
            replace(INSTANCE, state="REPAIRING"),
            ("True", "InProgress"),
            "Google repairs instance",
        ),
        "a window that has passed is over": (
            RIDE,
            AFTER,
            ANNOUNCED,
            ("False", "NoneScheduled"),
            "is announced",
        ),
        "nothing is announced": (
            RIDE,
            BEFORE,
            INSTANCE,
            ("False", "NoneScheduled"),
            "that have a maintenance window",
        ),
        "an instance that is not there yet": (
            RIDE,
            BEFORE,
            None,
            ("False", "NoneScheduled"),
            "no instance yet",
        ),
        "a window without an end lasts an hour": (
            RIDE,
            BEFORE,
            replace(INSTANCE, window=Window("2026-12-06T02:00:00Z", "")),
            ("True", "Scheduled"),
            "to 2026-12-06 03:00 UTC",
        ),
    },
)
def test_the_condition(
    of: KVCachePool, now: str, instance: Instance | None, told: tuple[str, str], said: str
) -> None:
    watch = Watch(of)
    assert watch.at(now, instance) == told
    assert said in watch.condition.message
    assert not watch.away


@table(
    "throughput, gib, warned",
    {
        "the usual size": (1000, 18_000, False),
        "the largest usual size": (1000, 954_000, False),
        "an extreme one": (1000, 963_000, True),
        "the same size in a slow tier": (125, 1_008_000, False),
        "an extreme one of the Dynamic tier": (0, 8_024_000, True),
        "a tier that nobody knows": (2000, 10_000_000, False),
    },
)
def test_extreme_sizes_are_warned_of_longer_downtimes(throughput: int, gib: int, warned: bool) -> None:
    instance = replace(ANNOUNCED, throughput=throughput, capacity=gib << 30)
    for of in (RIDE, BYPASS):
        watch = Watch(of)
        watch.at(BEFORE, instance)
        assert ("for up to 4 hours" in watch.condition.message) == warned


@table(
    "error, seen, said",
    {
        "why the API does not tell": ("grant roles/lustre.viewer", True, "grant roles/lustre.viewer"),
        "an instance that is not known": (None, False, "sooner with spec.cluster"),
    },
)
def test_what_cannot_be_seen_is_unknown(error: str | None, seen: bool, said: str) -> None:
    lustre = LustreFacts(None, error) if seen else None
    (condition,) = plan_maintenance(
        BYPASS, observed(facts=replace(facts(), lustre=lustre)), BEFORE
    ).conditions
    assert condition.status == "Unknown"
    assert said in condition.message


def test_an_announcement_is_an_event_once_and_once_more_when_it_changes() -> None:
    watch = Watch(RIDE)
    watch.at(BEFORE, INSTANCE)
    watch.at(BEFORE)
    watch.at(SOON)
    assert watch.events == [PoolEvent("Normal", "MaintenanceScheduled", watch.condition.message)]
    watch.at(SOON, replace(INSTANCE, window=Window("2026-12-06T04:00:00Z", "2026-12-06T05:00:00Z")))
    assert watch.told == ["MaintenanceScheduled"] * 2


@table(
    "of, now, wanted",
    {
        "until engines leave": (BYPASS, BEFORE, 1800),
        "until the window begins": (RIDE, SOON, 1800),
        "until the window ends": (RIDE, WITHIN, 3000),
        "nothing to wait for": (RIDE, AFTER, None),
    },
)
def test_when_to_look_again(of: KVCachePool, now: str, wanted: float | None) -> None:
    watch = Watch(of)
    watch.at(now)
    assert watch.part.again == wanted


def test_a_status_from_before_says_nothing_about_engines() -> None:
    watch = Watch(BYPASS)
    watch.write(unknown("MaintenanceScheduled", Reason.LUSTRE_API_UNAVAILABLE, "no answer"), BEFORE)
    assert watch.at(BEFORE) == ("True", "Scheduled")
