"""What is said of maintenance, and when engines leave the shared tier for it: once, and back once."""

from dataclasses import replace
from typing import Any

import pytest

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Instance, LustreFacts, Window
from kvtier.plan.events import PoolEvent
from kvtier.plan.lustre.maintenance import Maintenance, plan_maintenance
from unit.builders import context, facts, joined, pool
from unit.instances import api
from unit.simulation import Simulation, in_use, made
from unit.tables import table
from unit.verdicts import assert_verdict

_BYPASS = {"mode": "Opportunistic", "tiers": {"lustre": {"maintenance": "Bypass"}}}
RIDE, BYPASS = pool(**api()), pool(**joined(api(), _BYPASS))
WINDOWED = pool(**api(maintenanceWindow={"day": "Sunday", "hour": 2}))
UNANNOUNCED = made(RIDE)
ANNOUNCED = replace(UNANNOUNCED, window=Window("2026-12-06T02:00:00Z", "2026-12-06T03:00:00Z"))
UPGRADING, SURPRISED = replace(ANNOUNCED, state="UPGRADING"), replace(UNANNOUNCED, state="UPGRADING")
BEFORE, SOON, WITHIN, AFTER = (
    f"2026-12-06T{time}Z" for time in ("01:00:00", "01:30:00", "02:10:00", "03:00:00")
)


def _window(start: str, end: str) -> Instance:
    return replace(UNANNOUNCED, window=Window(start, end))


def _look(of: KVCachePool, now: str, seen: LustreFacts | None) -> Maintenance:
    return plan_maintenance(context(of, now=now, facts=replace(facts(), lustre=seen)))


def test_a_pool_without_lustre_has_no_maintenance() -> None:
    assert plan_maintenance(context(pool(tiers={"lustre": None}))) == Maintenance()


@table(
    "of, now, instance, reason, words",
    {
        "what is announced is told with what it does": (
            RIDE,
            BEFORE,
            ANNOUNCED,
            "Scheduled",
            "from 2026-12-06 02:00 UTC to 2026-12-06 03:00 UTC: reads and writes hang for 2 to 25 minutes and go on",
        ),
        "who rides stays until the window": (RIDE, SOON, ANNOUNCED, "Scheduled", "hang for 2 to 25 minutes"),
        "who will leave knows when": (
            BYPASS,
            BEFORE,
            ANNOUNCED,
            "Scheduled",
            "engines are rolled from 2026-12-06 01:30 UTC on to run without the shared tier, and back after it",
        ),
        "inside the window it may go on": (
            RIDE,
            WITHIN,
            ANNOUNCED,
            "InProgress",
            "is in progress (from 2026-12-06 02:00 UTC to 2026-12-06 03:00 UTC): engines keep the tier",
        ),
        "it goes on while the instance says so": (RIDE, BEFORE, UPGRADING, "InProgress", "in progress (from"),
        "it goes on after the window": (RIDE, AFTER, UPGRADING, "InProgress", "is in progress: engines"),
        "it goes on without an announcement": (
            RIDE,
            BEFORE,
            SURPRISED,
            "InProgress",
            "engines keep the tier",
        ),
        "engines stay when it comes without an announcement": (
            BYPASS,
            BEFORE,
            SURPRISED,
            "InProgress",
            "is in progress: engines keep the tier",
        ),
        "engines stay while the instance is repaired": (
            BYPASS,
            BEFORE,
            replace(UNANNOUNCED, state="REPAIRING"),
            "InProgress",
            "Google repairs instance",
        ),
        "a window that has passed is over": (RIDE, AFTER, ANNOUNCED, "NoneScheduled", "is announced"),
        "nothing is announced": (
            RIDE,
            BEFORE,
            UNANNOUNCED,
            "NoneScheduled",
            "that have a maintenance window",
        ),
        "nothing is announced where there is a window": (
            WINDOWED,
            BEFORE,
            UNANNOUNCED,
            "NoneScheduled",
            "is announced",
        ),
        "an instance that is not there yet": (RIDE, BEFORE, None, "NoneScheduled", "no instance yet"),
        "a window without an end lasts an hour": (
            RIDE,
            BEFORE,
            _window("2026-12-06T02:00:00Z", ""),
            "Scheduled",
            "to 2026-12-06 03:00 UTC",
        ),
    },
)
def test_the_condition(of: KVCachePool, now: str, instance: Instance | None, reason: str, words: str) -> None:
    found = _look(of, now, LustreFacts(instance))
    status = "False" if reason == "NoneScheduled" else "True"
    assert_verdict(found.part.conditions[0], "MaintenanceScheduled", status, reason, words)
    assert not found.bypass


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
@pytest.mark.parametrize("of", [RIDE, BYPASS], ids=["ride", "bypass"])
def test_extreme_sizes_are_warned_of_longer_downtimes(
    of: KVCachePool, throughput: int, gib: int, warned: bool
) -> None:
    instance = replace(ANNOUNCED, throughput=throughput, capacity=gib << 30)
    (condition,) = _look(of, BEFORE, LustreFacts(instance)).part.conditions
    assert ("for up to 4 hours" in condition.message) == warned


@table(
    "seen, words",
    {
        "why the API says nothing": (
            LustreFacts(error="grant roles/lustre.viewer"),
            "grant roles/lustre.viewer",
        ),
        "an instance that is not known": (None, "sooner with spec.cluster"),
    },
)
def test_what_cannot_be_seen_is_unknown(seen: LustreFacts | None, words: str) -> None:
    reason = "LustreAPIUnavailable" if seen else "InstanceUnknown"
    (condition,) = _look(BYPASS, BEFORE, seen).part.conditions
    assert_verdict(condition, "MaintenanceScheduled", "Unknown", reason, words)


@table(
    "of, now, again",
    {
        "until engines leave": (BYPASS, BEFORE, 1800),
        "until the window begins": (RIDE, SOON, 1800),
        "until the window ends": (RIDE, WITHIN, 3000),
        "nothing to wait for": (RIDE, AFTER, None),
    },
)
def test_when_to_look_again(of: KVCachePool, now: str, again: float | None) -> None:
    assert _look(of, now, LustreFacts(ANNOUNCED)).part.again == again


@table(
    "now, window, bypass",
    {
        "early in the window it is worth it": ("02:29:59", ("02:00:00", "03:00:00"), True),
        "late in the window it is not": ("02:30:00", ("02:00:00", "03:00:00"), False),
        "a short window is left until it begins": ("01:59:59", ("02:00:00", "02:20:00"), True),
        "but not later": ("02:00:00", ("02:00:00", "02:20:00"), False),
    },
)
def test_an_operator_that_comes_late(now: str, window: tuple[str, str], bypass: bool) -> None:
    seen = LustreFacts(_window(*(f"2026-12-06T{time}Z" for time in window)))
    assert _look(BYPASS, f"2026-12-06T{now}Z", seen).bypass is bypass


class Watch(Simulation):
    """A pool whose engines run, with an instance whose maintenance is announced."""

    def __init__(self, of: KVCachePool = BYPASS) -> None:
        used = in_use(of, UNANNOUNCED)
        super().__init__(used.pool, ANNOUNCED)
        self.objects = used.objects

    def away(self, now: str, instance: Instance | None = ANNOUNCED, error: str | None = None) -> bool:
        """Look at the instance; whether engines run without the tier then."""
        self.instance, self.error = instance, error
        self.at(now)
        self.start_engines()
        bypassed = self.verdict("MaintenanceScheduled") == ("True", "Bypassed")
        assert self.mounted() is not bypassed
        return bypassed

    def said(self) -> str:
        return self.condition("MaintenanceScheduled").message

    def told(self) -> list[str]:
        """Events of maintenance so far."""
        ours = ("MaintenanceScheduled", "TierBypassed", "TierResumed")
        return [reason for reason in self.reasons() if reason in ours]


def test_engines_leave_before_the_window_and_come_back_after_it() -> None:
    watch = Watch()
    looks = (
        (BEFORE, ANNOUNCED, False),
        ("2026-12-06T01:29:59Z", ANNOUNCED, False),
        (SOON, ANNOUNCED, True),
        ("2026-12-06T02:00:00Z", ANNOUNCED, True),
        (WITHIN, UPGRADING, True),
        ("2026-12-06T02:20:00Z", ANNOUNCED, True),
        (AFTER, UPGRADING, True),
        ("2026-12-06T03:10:00Z", replace(UNANNOUNCED, state="REPAIRING"), True),
        ("2026-12-06T03:20:00Z", UNANNOUNCED, False),
        ("2026-12-06T03:25:00Z", UNANNOUNCED, False),
    )
    for now, instance, away in looks:
        assert watch.away(now, instance) == away, now
    assert watch.told() == ["MaintenanceScheduled", "TierBypassed", "TierResumed"]


def test_nothing_is_written_while_engines_are_away_and_the_pool_is_ready_without_its_tier() -> None:
    watch = Watch()
    watch.away(SOON)
    watch.at(SOON)
    before = watch.condition("MaintenanceScheduled")
    assert watch.verdict("Ready") == ("True", "WithoutSharedTier")
    assert "because of maintenance" in watch.said()
    for now, instance in ((WITHIN, UPGRADING), ("2026-12-06T02:59:00Z", ANNOUNCED)):
        watch.away(now, instance)
        assert watch.condition("MaintenanceScheduled") == before


@table(
    "instance, away, told",
    {
        "a window that is called off": (UNANNOUNCED, False, ["TierResumed"]),
        "a window that is put off for a week, which is announced again": (
            _window("2026-12-13T02:00:00Z", "2026-12-13T03:00:00Z"),
            False,
            ["TierResumed", "MaintenanceScheduled"],
        ),
        "a window that moves a little": (_window("2026-12-06T02:30:00Z", "2026-12-06T03:30:00Z"), True, []),
        "a window that is gone because the work has begun": (SURPRISED, True, []),
        "an instance that is gone": (None, True, []),
    },
)
def test_after_engines_have_left(instance: Instance | None, away: bool, told: list[str]) -> None:
    watch = Watch()
    watch.away(SOON)
    assert [watch.away(f"2026-12-06T01:{minute}:00Z", instance) for minute in (40, 45)] == [away, away]
    assert watch.told() == ["TierBypassed", *told]


def test_an_outage_changes_nothing_for_the_engines() -> None:
    watch = Watch()
    watch.away(BEFORE)
    assert not watch.away("2026-12-06T01:10:00Z", None, "no answer")
    assert watch.verdict("MaintenanceScheduled") == ("Unknown", "LustreAPIUnavailable")
    assert not watch.away("2026-12-06T01:20:00Z"), "an outage says nothing about engines"
    assert watch.away(SOON)
    for now in (WITHIN, "2026-12-06T05:00:00Z", "2026-12-07T05:00:00Z"):
        assert watch.away(now, None, "no answer")
        assert watch.said().endswith("cannot be told: no answer")
    assert not watch.away("2026-12-07T05:10:00Z", UNANNOUNCED)
    assert watch.told().count("TierBypassed") == watch.told().count("TierResumed") == 1


@table(
    "times",
    {
        "at the beginning": (SOON, "2026-12-06T01:29:55Z", SOON),
        "at the end": ("2026-12-06T02:59:59Z", AFTER, "2026-12-06T02:59:58Z"),
    },
)
def test_clocks_that_differ_a_little_roll_nobody_twice(times: tuple[str, ...]) -> None:
    watch = Watch()
    for now in (SOON, *times):
        watch.away(now)
    assert watch.told() in (["TierBypassed"], ["TierBypassed", "TierResumed"])


def test_who_decides_to_ride_comes_back_at_once() -> None:
    watch = Watch()
    watch.away(SOON)
    watch.edit(tiers={"lustre": {"maintenance": "Ride"}})
    assert not watch.away(WITHIN)
    assert watch.told()[-1] == "TierResumed"


@table("changes", {"a Required pool": {}, "an Opportunistic pool": {"mode": "Opportunistic"}})
def test_who_rides_never_leaves(changes: dict[str, Any]) -> None:
    watch = Watch(pool(**joined(api(), changes)))
    for now, instance in ((BEFORE, ANNOUNCED), (SOON, ANNOUNCED), (WITHIN, UPGRADING), (AFTER, ANNOUNCED)):
        assert not watch.away(now, instance)
    assert watch.told() == ["MaintenanceScheduled"]


@pytest.mark.parametrize("state", ["UPDATING", "ACTIVE"])
def test_growth_after_the_window_keeps_nobody_away(state: str) -> None:
    watch = Watch()
    watch.away(SOON)
    assert not watch.away(AFTER, replace(ANNOUNCED, state=state))


def test_an_announcement_is_an_event_once_and_once_more_when_it_changes() -> None:
    watch = Watch(RIDE)
    for now, instance in ((BEFORE, UNANNOUNCED), (BEFORE, ANNOUNCED), (SOON, ANNOUNCED)):
        watch.away(now, instance)
    assert watch.events == [PoolEvent("Normal", "MaintenanceScheduled", watch.said())]
    watch.away(SOON, _window("2026-12-06T04:00:00Z", "2026-12-06T05:00:00Z"))
    assert watch.told() == ["MaintenanceScheduled"] * 2
