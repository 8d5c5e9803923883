"""When engines leave the shared tier because of maintenance: once, and back once."""

from dataclasses import replace

import pytest

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Instance, Window
from unit.builders import pool, with_status
from unit.plan.lustre.story import INSTANCE
from unit.plan.lustre.watching import AFTER, ANNOUNCED, BEFORE, BYPASS, RIDE, SOON, UPGRADING, WITHIN, Watch
from unit.tables import table


def test_engines_leave_before_the_window_and_come_back_after_it() -> None:
    watch = Watch(BYPASS)
    seen = []
    for now, instance in (
        (BEFORE, ANNOUNCED),
        ("2026-12-06T01:29:59Z", ANNOUNCED),
        (SOON, ANNOUNCED),
        ("2026-12-06T02:00:00Z", ANNOUNCED),
        (WITHIN, UPGRADING),
        ("2026-12-06T02:20:00Z", ANNOUNCED),
        (AFTER, UPGRADING),
        ("2026-12-06T03:10:00Z", replace(INSTANCE, state="REPAIRING")),
        ("2026-12-06T03:20:00Z", INSTANCE),
        ("2026-12-06T03:25:00Z", INSTANCE),
    ):
        watch.at(now, instance)
        seen.append(watch.away)
    assert seen == [False, False, True, True, True, True, True, True, False, False]
    assert watch.told == ["MaintenanceScheduled", "TierBypassed", "TierResumed"]


def test_nothing_is_written_while_engines_are_away() -> None:
    watch = Watch(BYPASS)
    watch.at(SOON)
    before = watch.condition
    for now, instance in (
        ("2026-12-06T02:00:00Z", ANNOUNCED),
        (WITHIN, UPGRADING),
        ("2026-12-06T02:59:00Z", ANNOUNCED),
    ):
        watch.at(now, instance)
        assert watch.condition == before
    assert "because of maintenance" in before.message


@table(
    "instance, away",
    {
        "a window that is called off": (INSTANCE, False),
        "a window that is put off for a week": (
            replace(INSTANCE, window=Window("2026-12-13T02:00:00Z", "2026-12-13T03:00:00Z")),
            False,
        ),
        "a window that moves a little": (
            replace(INSTANCE, window=Window("2026-12-06T02:30:00Z", "2026-12-06T03:30:00Z")),
            True,
        ),
        "a window that is gone because the work has begun": (replace(INSTANCE, state="UPGRADING"), True),
        "an instance that is gone": (None, True),
    },
)
def test_after_engines_have_left(instance: Instance | None, away: bool) -> None:
    watch = Watch(BYPASS)
    watch.at(SOON)
    for now in ("2026-12-06T01:40:00Z", "2026-12-06T01:45:00Z"):
        watch.at(now, instance)
        assert watch.away == away
    assert watch.told.count("TierResumed") == (not away)


def test_a_window_that_is_put_off_is_announced_again() -> None:
    watch = Watch(BYPASS)
    watch.at(SOON)
    watch.at(
        "2026-12-06T01:40:00Z",
        replace(INSTANCE, window=Window("2026-12-13T02:00:00Z", "2026-12-13T03:00:00Z")),
    )
    assert watch.told == ["TierBypassed", "TierResumed", "MaintenanceScheduled"]


def test_an_outage_changes_nothing_for_the_engines() -> None:
    watch = Watch(BYPASS)
    watch.at(BEFORE)
    assert watch.at("2026-12-06T01:10:00Z", None, "no answer") == ("Unknown", "LustreAPIUnavailable")
    assert not watch.away
    watch.at(SOON)
    for now in (WITHIN, "2026-12-06T05:00:00Z", "2026-12-07T05:00:00Z"):
        assert watch.at(now, None, "no answer") == ("True", "Bypassed")
        assert watch.condition.message.endswith("cannot be told: no answer")
    watch.at("2026-12-07T05:10:00Z", INSTANCE)
    assert not watch.away
    assert watch.told.count("TierBypassed") == watch.told.count("TierResumed") == 1


@table(
    "times",
    {
        "at the beginning": (SOON, "2026-12-06T01:29:55Z", SOON),
        "at the end": ("2026-12-06T02:59:59Z", AFTER, "2026-12-06T02:59:58Z"),
    },
)
def test_clocks_that_differ_a_little_roll_nobody_twice(times: tuple[str, ...]) -> None:
    watch = Watch(BYPASS)
    watch.at(SOON)
    for now in times:
        watch.at(now)
    assert watch.told in (["TierBypassed"], ["TierBypassed", "TierResumed"])


@table(
    "now, away",
    {
        "early in the window it is worth it": ("2026-12-06T02:29:59Z", True),
        "late in the window it is not": ("2026-12-06T02:30:00Z", False),
    },
)
def test_an_operator_that_comes_late(now: str, away: bool) -> None:
    watch = Watch(BYPASS)
    watch.at(now)
    assert watch.away == away


def test_a_short_window_is_left_until_it_begins() -> None:
    short = replace(INSTANCE, window=Window("2026-12-06T02:00:00Z", "2026-12-06T02:20:00Z"))
    watch = Watch(BYPASS)
    watch.at("2026-12-06T01:59:59Z", short)
    assert watch.away
    late = Watch(BYPASS)
    late.at("2026-12-06T02:00:00Z", short)
    assert not late.away


def test_who_decides_to_ride_comes_back_at_once() -> None:
    watch = Watch(BYPASS)
    watch.at(SOON)
    watch.pool = with_status(pool(mode="Opportunistic"), watch.pool.status)
    watch.at(WITHIN)
    assert not watch.away
    assert watch.told[-1] == "TierResumed"


@pytest.mark.parametrize("of", [RIDE, pool(mode="Opportunistic")])
def test_who_rides_never_leaves(of: KVCachePool) -> None:
    watch = Watch(of)
    for now, instance in ((BEFORE, ANNOUNCED), (SOON, ANNOUNCED), (WITHIN, UPGRADING), (AFTER, ANNOUNCED)):
        watch.at(now, instance)
        assert not watch.away
    assert watch.told == ["MaintenanceScheduled"]


@pytest.mark.parametrize("instance", [replace(ANNOUNCED, state="UPDATING"), ANNOUNCED])
def test_growth_after_the_window_keeps_nobody_away(instance: Instance) -> None:
    watch = Watch(BYPASS)
    watch.at(SOON)
    watch.at(AFTER, instance)
    assert not watch.away
