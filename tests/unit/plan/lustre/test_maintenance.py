"""MaintenanceScheduled, and when engines leave the Lustre tier: one rollout before and one after maintenance."""

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
        "scheduled maintenance is reported with its effect": (
            RIDE,
            BEFORE,
            ANNOUNCED,
            "Scheduled",
            "from 2026-12-06 02:00 UTC to 2026-12-06 03:00 UTC. Reads and writes hang for 2 to 25 minutes, and then",
        ),
        "with Ride, engines stay": (RIDE, SOON, ANNOUNCED, "Scheduled", "hang for 2 to 25 minutes"),
        "with Bypass, the message says when engines leave": (
            BYPASS,
            BEFORE,
            ANNOUNCED,
            "Scheduled",
            "Engines run without the Lustre tier from 2026-12-06 01:30 UTC until the maintenance is over.",
        ),
        "inside the window it may be in progress": (
            RIDE,
            WITHIN,
            ANNOUNCED,
            "InProgress",
            "is in progress (from 2026-12-06 02:00 UTC to 2026-12-06 03:00 UTC). Engines keep the Lustre tier.",
        ),
        "it is in progress while the instance is UPGRADING": (
            RIDE,
            BEFORE,
            UPGRADING,
            "InProgress",
            "in progress (from",
        ),
        "it is in progress after the window": (
            RIDE,
            AFTER,
            UPGRADING,
            "InProgress",
            "is in progress. Engines",
        ),
        "it is in progress without a schedule": (
            RIDE,
            BEFORE,
            SURPRISED,
            "InProgress",
            "Engines keep the Lustre tier.",
        ),
        "engines stay when it starts without a schedule": (
            BYPASS,
            BEFORE,
            SURPRISED,
            "InProgress",
            "is in progress. Engines keep the Lustre tier.",
        ),
        "engines stay while the instance is repaired": (
            BYPASS,
            BEFORE,
            replace(UNANNOUNCED, state="REPAIRING"),
            "InProgress",
            "Google is repairing instance",
        ),
        "a window that has passed is over": (RIDE, AFTER, ANNOUNCED, "NoneScheduled", "is scheduled."),
        "nothing is scheduled": (
            RIDE,
            BEFORE,
            UNANNOUNCED,
            "NoneScheduled",
            "only for instances with a maintenance window.",
        ),
        "nothing is scheduled, with a window in the spec": (
            WINDOWED,
            BEFORE,
            UNANNOUNCED,
            "NoneScheduled",
            "is scheduled.",
        ),
        "an instance that does not exist yet": (RIDE, BEFORE, None, "NoneScheduled", "does not exist yet."),
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
        "an unknown tier": (2000, 10_000_000, False),
    },
)
@pytest.mark.parametrize("of", [RIDE, BYPASS], ids=["ride", "bypass"])
def test_extreme_sizes_are_reported_with_longer_downtimes(
    of: KVCachePool, throughput: int, gib: int, warned: bool
) -> None:
    instance = replace(ANNOUNCED, throughput=throughput, capacity=gib << 30)
    (condition,) = _look(of, BEFORE, LustreFacts(instance)).part.conditions
    assert ("(up to 4 hours for an instance of this size)" in condition.message) == warned


@table(
    "seen, words",
    {
        "an error of the API": (
            LustreFacts(error="grant roles/lustre.viewer"),
            "grant roles/lustre.viewer",
        ),
        "an unknown instance": (None, "Set spec.cluster to look it up earlier."),
    },
)
def test_the_condition_is_unknown_for(seen: LustreFacts | None, words: str) -> None:
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
def test_seconds_until_the_next_reconciliation(of: KVCachePool, now: str, again: float | None) -> None:
    assert _look(of, now, LustreFacts(ANNOUNCED)).part.again == again


@table(
    "now, window, bypass",
    {
        "early in the window, engines still leave": ("02:29:59", ("02:00:00", "03:00:00"), True),
        "late in the window, they stay": ("02:30:00", ("02:00:00", "03:00:00"), False),
        "engines leave until a short window begins": ("01:59:59", ("02:00:00", "02:20:00"), True),
        "and stay after it began": ("02:00:00", ("02:00:00", "02:20:00"), False),
    },
)
def test_a_late_reconciliation(now: str, window: tuple[str, str], bypass: bool) -> None:
    seen = LustreFacts(_window(*(f"2026-12-06T{time}Z" for time in window)))
    assert _look(BYPASS, f"2026-12-06T{now}Z", seen).bypass is bypass


class Watch(Simulation):
    """A pool whose engines run, with scheduled maintenance."""

    def __init__(self, of: KVCachePool = BYPASS) -> None:
        used = in_use(of, UNANNOUNCED)
        super().__init__(used.pool, ANNOUNCED)
        self.objects = used.objects

    def away(self, now: str, instance: Instance | None = ANNOUNCED, error: str | None = None) -> bool:
        """Reconcile with this instance or error; whether engines then run without the tier."""
        self.instance, self.error = instance, error
        self.at(now)
        self.start_engines()
        bypassed = self.verdict("MaintenanceScheduled") == ("True", "Bypassed")
        assert self.mounted() is not bypassed
        return bypassed

    def message(self) -> str:
        return self.condition("MaintenanceScheduled").message

    def reported(self) -> list[str]:
        """Events of maintenance so far."""
        ours = ("MaintenanceScheduled", "TierBypassed", "TierResumed")
        return [reason for reason in self.reasons() if reason in ours]


def test_engines_leave_before_the_window_and_return_after_it() -> None:
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
    assert watch.reported() == ["MaintenanceScheduled", "TierBypassed", "TierResumed"]


def test_the_condition_is_steady_while_engines_are_away_and_the_pool_is_ready_without_its_tier() -> None:
    watch = Watch()
    watch.away(SOON)
    watch.at(SOON)
    before = watch.condition("MaintenanceScheduled")
    assert watch.verdict("Ready") == ("True", "WithoutSharedTier")
    assert "because of maintenance" in watch.message()
    for now, instance in ((WITHIN, UPGRADING), ("2026-12-06T02:59:00Z", ANNOUNCED)):
        watch.away(now, instance)
        assert watch.condition("MaintenanceScheduled") == before


@table(
    "instance, away, reasons",
    {
        "a cancelled window": (UNANNOUNCED, False, ["TierResumed"]),
        "a window that moves by a week, which is a new Event": (
            _window("2026-12-13T02:00:00Z", "2026-12-13T03:00:00Z"),
            False,
            ["TierResumed", "MaintenanceScheduled"],
        ),
        "a window that moves a little": (_window("2026-12-06T02:30:00Z", "2026-12-06T03:30:00Z"), True, []),
        "a window that disappears because the maintenance began": (SURPRISED, True, []),
        "an instance that was deleted": (None, True, []),
    },
)
def test_after_engines_have_left(instance: Instance | None, away: bool, reasons: list[str]) -> None:
    watch = Watch()
    watch.away(SOON)
    assert [watch.away(f"2026-12-06T01:{minute}:00Z", instance) for minute in (40, 45)] == [away, away]
    assert watch.reported() == ["TierBypassed", *reasons]


def test_an_outage_does_not_move_engines() -> None:
    watch = Watch()
    watch.away(BEFORE)
    assert not watch.away("2026-12-06T01:10:00Z", None, "no answer")
    assert watch.verdict("MaintenanceScheduled") == ("Unknown", "LustreAPIUnavailable")
    assert not watch.away("2026-12-06T01:20:00Z"), "an outage does not move engines"
    assert watch.away(SOON)
    for now in (WITHIN, "2026-12-06T05:00:00Z", "2026-12-07T05:00:00Z"):
        assert watch.away(now, None, "no answer")
        assert watch.message().endswith("The end of its maintenance is unknown. no answer.")
    assert not watch.away("2026-12-07T05:10:00Z", UNANNOUNCED)
    assert watch.reported().count("TierBypassed") == watch.reported().count("TierResumed") == 1


@table(
    "times",
    {
        "at the beginning": (SOON, "2026-12-06T01:29:55Z", SOON),
        "at the end": ("2026-12-06T02:59:59Z", AFTER, "2026-12-06T02:59:58Z"),
    },
)
def test_small_differences_of_the_clock_cause_no_second_rollout(times: tuple[str, ...]) -> None:
    watch = Watch()
    for now in (SOON, *times):
        watch.away(now)
    assert watch.reported() in (["TierBypassed"], ["TierBypassed", "TierResumed"])


def test_engines_return_at_once_when_the_spec_changes_to_ride() -> None:
    watch = Watch()
    watch.away(SOON)
    watch.edit(tiers={"lustre": {"maintenance": "Ride"}})
    assert not watch.away(WITHIN)
    assert watch.reported()[-1] == "TierResumed"


@table("changes", {"a Required pool": {}, "an Opportunistic pool": {"mode": "Opportunistic"}})
def test_with_ride_engines_never_leave(changes: dict[str, Any]) -> None:
    watch = Watch(pool(**joined(api(), changes)))
    for now, instance in ((BEFORE, ANNOUNCED), (SOON, ANNOUNCED), (WITHIN, UPGRADING), (AFTER, ANNOUNCED)):
        assert not watch.away(now, instance)
    assert watch.reported() == ["MaintenanceScheduled"]


@pytest.mark.parametrize("state", ["UPDATING", "ACTIVE"])
def test_engines_return_after_the_window_during_a_resize(state: str) -> None:
    watch = Watch()
    watch.away(SOON)
    assert not watch.away(AFTER, replace(ANNOUNCED, state=state))


def test_a_schedule_is_one_event_and_another_when_it_changes() -> None:
    watch = Watch(RIDE)
    for now, instance in ((BEFORE, UNANNOUNCED), (BEFORE, ANNOUNCED), (SOON, ANNOUNCED)):
        watch.away(now, instance)
    assert watch.events == [PoolEvent("Normal", "MaintenanceScheduled", watch.message())]
    watch.away(SOON, _window("2026-12-06T04:00:00Z", "2026-12-06T05:00:00Z"))
    assert watch.reported() == ["MaintenanceScheduled"] * 2
