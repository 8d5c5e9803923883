"""An instance in use follows the spec, one change at a time, and holds up nobody."""

from typing import Any

import pytest

from unit.builders import pool
from unit.instances import api
from unit.plan.lustre.tiers import GIB, Tier, bound, made
from unit.simulation import in_use

BIGGER: dict[str, Any] = {"tiers": {"lustre": {"capacity": "27000Gi"}}}
NIGHT: dict[str, Any] = {"tiers": {"lustre": {"maintenanceWindow": {"day": "Sunday", "hour": 3}}}}
FULL: dict[str, Any] = {"done": True, "code": "ResourceExhausted", "message": "The zone is full"}


@pytest.fixture
def tier() -> Tier:
    return bound(pool(**api()))


def test_it_grows_while_it_is_used(tier: Tier) -> None:
    tier.edit(**BIGGER)
    tier.at()
    (call,) = tier.calls
    assert (call.verb, dict(call.body)) == ("update", {"capacityGib": "27000"})
    assert tier.told == ("True", "Resizing")
    assert (tier.tier.phase, tier.tier.capacity) == ("Resizing", "18000Gi")
    tier.answer()
    tier.instance = made(tier.pool, state="UPDATING")
    tier.at()
    assert tier.told == ("True", "Resizing")
    tier.answer(done=True)
    tier.instance = made(tier.pool, gib=27_000)
    tier.at()
    assert tier.told == ("True", "Bound")
    assert (tier.tier.phase, tier.tier.capacity) == ("Bound", "27000Gi")
    assert tier.only("PersistentVolume")["spec"]["capacity"] == {"storage": "27000Gi"}
    assert tier.asked() == ["update"]


def test_it_never_shrinks(tier: Tier) -> None:
    tier.edit(tiers={"lustre": {"capacity": "9000Gi"}})
    tier.at()
    assert tier.calls == []
    assert tier.told == ("True", "Bound")


def test_it_does_not_grow_to_a_size_that_cannot_be(tier: Tier) -> None:
    tier.statuses = {"CapacityValid": "False"}
    tier.edit(**BIGGER)
    tier.at()
    assert tier.calls == []


def test_a_growth_that_failed_is_told_of_and_tried_again_while_pods_go_on(tier: Tier) -> None:
    tier.edit(**BIGGER)
    tier.at()
    tier.answer(**FULL)
    tier.at()
    assert tier.told == ("True", "UpdateStockout")
    assert "The zone is full" in tier.condition.message
    assert tier.tier.phase == "Bound"
    tier.at("2026-11-29T12:02:00Z")
    assert tier.asked() == ["update", "update"]


def test_a_growth_that_is_given_up_is_forgotten(tier: Tier) -> None:
    tier.edit(**BIGGER)
    tier.at()
    tier.answer(**FULL)
    tier.at()
    tier.edit(tiers={"lustre": {"capacity": "18000Gi"}})
    tier.at("2026-11-29T13:00:00Z")
    assert tier.told == ("True", "Bound")
    assert len(tier.calls) == 1


def test_settings_follow_the_spec(tier: Tier) -> None:
    tier.edit(**NIGHT)
    tier.at()
    (call,) = tier.calls
    assert set(call.body) == {"labels", "maintenancePolicy"}
    assert tier.told == ("True", "Updating")
    assert tier.tier.phase == "Bound"
    tier.answer(done=True)
    tier.instance = made(tier.pool)
    tier.at()
    assert tier.told == ("True", "Bound")
    assert len(tier.calls) == 1


def test_one_change_at_a_time(tier: Tier) -> None:
    tier.edit(**BIGGER)
    tier.edit(**NIGHT)
    tier.at()
    tier.answer()
    tier.at()
    assert [set(call.body) for call in tier.calls] == [{"labels", "maintenancePolicy"}]
    tier.answer(done=True)
    tier.instance = made(tier.pool)
    tier.at()
    assert [set(call.body) for call in tier.calls][1:] == [{"capacityGib"}]


def test_a_growth_that_fails_does_not_hold_up_settings(tier: Tier) -> None:
    tier.edit(**BIGGER)
    tier.at()
    tier.answer(**FULL)
    tier.at()
    tier.edit(**NIGHT)
    tier.at()
    assert "maintenancePolicy" in tier.calls[-1].body


def test_nothing_changes_while_the_instance_is_under_maintenance(tier: Tier) -> None:
    tier.instance = made(tier.pool, state="UPGRADING")
    tier.edit(**BIGGER)
    tier.at()
    assert tier.calls == []
    assert tier.told == ("False", "InstanceUpgrading")


def test_the_same_growth_of_a_namesake_made_later_is_asked_for(tier: Tier) -> None:
    tier.edit(**BIGGER)
    tier.at()
    tier.answer(done=True)
    tier.instance = made(tier.pool, gib=27_000)
    tier.at()
    tier.instance = made(tier.pool, created="2026-11-30T11:00:00Z", capacity=18_000 * GIB)
    tier.at()
    first, second = tier.calls
    assert first.request != second.request


def test_a_request_that_was_lost_does_not_hold_up_the_next_one(tier: Tier) -> None:
    tier.edit(**BIGGER)
    tier.at()
    tier.lose()
    tier.edit(tiers={"lustre": {"capacity": "36000Gi"}})
    tier.at()
    assert [call.body["capacityGib"] for call in tier.calls] == ["27000", "36000"]


def test_a_growth_that_fails_again_and_again_is_one_event() -> None:
    pool_in_use = in_use(pool(**api()))
    pool_in_use.edit(**BIGGER)
    pool_in_use.at("2026-11-29T12:01:00Z")
    told = []
    for hour in (13, 14, 15):
        pool_in_use.answer(**FULL)
        pool_in_use.at(f"2026-11-29T{hour}:00:00Z")
        told.append(pool_in_use.condition("StorageReady").message)
        pool_in_use.at(f"2026-11-29T{hour}:31:00Z")
        assert pool_in_use.operation("Update").state == "Running", "tried again"
        assert pool_in_use.verdict("StorageReady") == ("True", "UpdateStockout")
        assert pool_in_use.tier().phase == "Bound"
    assert pool_in_use.reasons().count("UpdateStockout") == 1
    assert len(set(told)) == 1
    assert pool_in_use.verbs() == ["update"] * 4
