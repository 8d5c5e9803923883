"""An instance that kvtier makes through the Lustre API: its creation, and how it follows the spec."""

from dataclasses import replace
from typing import Any

import pytest

from unit.builders import facts, pool
from unit.instances import UNSEEN, api
from unit.simulation import CLAIM, GIB, VOLUME, Simulation, in_use, made
from unit.tables import table

FULL: dict[str, Any] = {"done": True, "code": "ResourceExhausted", "message": "The zone is full"}
STORAGE_READY = "StorageReady"
NO_DRIVER = facts(lustre_driver=False)


def _capacity(gib: int) -> dict[str, Any]:
    return {"tiers": {"lustre": {"capacity": f"{gib}Gi"}}}


def _bodies(simulation: Simulation) -> list[set[str]]:
    return [set(call.body) for call in simulation.calls]


@pytest.fixture
def new() -> Simulation:
    """Before anything was made."""
    return Simulation(pool(**api()))


@pytest.fixture
def asked(new: Simulation) -> Simulation:
    """The instance is asked for."""
    new.at()
    return new


def test_an_instance_that_does_not_exist_is_asked_for_once(asked: Simulation) -> None:
    (call,) = asked.calls
    assert (call.verb, call.instance, call.body["capacityGib"]) == ("create", made(asked.pool).name, "18000")
    asked.at()
    assert asked.verbs() == ["create"]
    assert asked.verdict(STORAGE_READY) == ("False", "Provisioning")
    assert (asked.tier().phase, asked.tier().instance, asked.storage()) == (
        "Provisioning",
        call.instance,
        [],
    )


def test_it_becomes_volume_and_claim_when_it_is_there(asked: Simulation) -> None:
    asked.instance = made(asked.pool, state="CREATING", address="")
    asked.answer()
    asked.at()
    assert (asked.verdict(STORAGE_READY), asked.storage()) == (("False", "Provisioning"), [])
    asked.instance = made(asked.pool)
    asked.answer(done=True)
    asked.at()
    assert asked.storage() == [VOLUME, CLAIM]
    assert (asked.operation("Create").state, asked.verbs()) == ("Succeeded", ["create"])


@table(
    "now, words",
    {
        "at first": ("2026-11-29T12:09:00Z", "is being created; 10 to"),
        "after a while": ("2026-11-29T12:29:00Z", "more than 10 minutes so far"),
        "after the same while": ("2026-11-29T12:11:00Z", "more than 10 minutes so far"),
        "after long": ("2026-11-29T15:00:00Z", "more than 2 hours so far"),
    },
)
def test_the_time_that_it_takes_is_said_in_a_few_steps(asked: Simulation, now: str, words: str) -> None:
    asked.answer()
    asked.at(now)
    assert words in asked.condition(STORAGE_READY).message


def test_nothing_is_asked_for_while_a_prerequisite_does_not_hold(new: Simulation) -> None:
    new.facts = NO_DRIVER
    new.at()
    assert (new.calls, new.verdict(STORAGE_READY)) == ([], ("False", "PrerequisitesNotMet"))
    assert (new.tier().phase, new.tier().instance) == ("Waiting", None)


def test_a_prerequisite_that_fails_later_asks_for_no_second_one(asked: Simulation) -> None:
    asked.answer()
    asked.facts = NO_DRIVER
    asked.at()
    assert (asked.verdict(STORAGE_READY), asked.verbs()) == (("False", "Provisioning"), ["create"])


def test_a_creation_that_failed_says_what_to_do_and_is_tried_again(asked: Simulation) -> None:
    asked.answer(**FULL)
    asked.at("2026-11-29T12:01:00Z")
    assert (asked.verdict(STORAGE_READY), asked.tier().phase) == (("False", "Stockout"), "Failed")
    for words in ("ResourceExhausted: The zone is full", "another zone"):
        assert words in asked.condition(STORAGE_READY).message
    asked.at("2026-11-29T12:01:30Z")
    assert asked.verbs() == ["create"]
    asked.at("2026-11-29T12:02:00Z")
    assert len({call.request for call in asked.calls}) == 2
    assert asked.operation("Create").attempt == 2


def test_an_edited_spec_is_tried_at_once(asked: Simulation) -> None:
    asked.answer(**FULL)
    asked.at()
    asked.edit(**_capacity(9_000))
    asked.at()
    assert [call.body["capacityGib"] for call in asked.calls] == ["18000", "9000"]


def test_a_request_of_a_process_that_died_is_repeated_with_its_id(asked: Simulation) -> None:
    asked.lose()
    asked.at()
    first, second = asked.calls
    assert first == second


def test_an_instance_that_was_made_and_is_gone_is_made_again(asked: Simulation) -> None:
    asked.answer(done=True)
    asked.at("2026-11-29T12:10:00Z")
    asked.at("2026-11-29T12:10:15Z")
    first, second = asked.calls
    assert first.request != second.request
    assert "is being created; 10 to" in asked.condition(STORAGE_READY).message, "its own time counts"
    asked.answer()
    asked.at("2026-11-29T12:11:00Z")
    asked.at("2026-11-29T12:12:00Z")
    assert len(asked.calls) == 2


def test_an_instance_whose_volume_is_there_is_not_made_again_behind_its_back() -> None:
    simulation = in_use(pool(**api()))
    simulation.instance = None
    simulation.at()
    assert simulation.calls == []
    assert simulation.verdict(STORAGE_READY) == ("False", "InstanceGone")
    assert "data is lost" in simulation.condition(STORAGE_READY).message


def test_nothing_is_asked_for_blindly(new: Simulation) -> None:
    new.error = UNSEEN.error
    new.at()
    assert (new.calls, new.verdict(STORAGE_READY)) == ([], ("False", "InstanceUnknown"))
    assert (new.storage(), new.tier().phase, new.tier().instance) == ([], "Waiting", None)


def test_a_creation_under_way_is_remembered_while_the_api_does_not_answer(asked: Simulation) -> None:
    asked.answer()
    asked.error = UNSEEN.error
    asked.at()
    assert asked.operation("Create").state == "Running"
    assert asked.tier().instance == asked.calls[0].instance


def test_an_instance_of_an_earlier_pool_is_taken_over(new: Simulation) -> None:
    new.instance = made(new.pool)
    new.at()
    assert (new.calls, new.storage()) == ([], [VOLUME, CLAIM])


def test_the_instance_of_another_is_left_alone(new: Simulation) -> None:
    new.instance = made(new.pool, labels={})
    new.at()
    assert (new.calls, new.storage()) == ([], [])
    assert (new.verdict(STORAGE_READY), new.tier().phase) == (("False", "InstanceNotOurs"), "Failed")


# An instance in use follows the spec, one change at a time, and holds up nobody.


BIGGER = _capacity(27_000)
NIGHT: dict[str, Any] = {"tiers": {"lustre": {"maintenanceWindow": {"day": "Sunday", "hour": 3}}}}


@pytest.fixture
def used() -> Simulation:
    return in_use(pool(**api()))


@pytest.fixture
def growing(used: Simulation) -> Simulation:
    """The spec asks for more, and the API has been asked."""
    used.edit(**BIGGER)
    used.at()
    return used


@pytest.fixture
def stuck(growing: Simulation) -> Simulation:
    """The growth has failed."""
    growing.answer(**FULL)
    growing.at()
    return growing


def test_it_grows_while_it_is_used(growing: Simulation) -> None:
    (call,) = growing.calls
    assert (call.verb, dict(call.body)) == ("update", {"capacityGib": "27000"})
    assert growing.verdict(STORAGE_READY) == ("True", "Resizing")
    assert (growing.tier().phase, growing.tier().capacity) == ("Resizing", "18000Gi")
    growing.answer()
    growing.instance = made(growing.pool, state="UPDATING")
    growing.at()
    assert growing.verdict(STORAGE_READY) == ("True", "Resizing")
    growing.answer(done=True)
    growing.instance = made(growing.pool, gib=27_000)
    growing.at()
    assert growing.verdict(STORAGE_READY) == ("True", "Bound")
    assert (growing.tier().phase, growing.tier().capacity) == ("Bound", "27000Gi")
    assert growing.only(VOLUME)["spec"]["capacity"] == {"storage": "27000Gi"}
    assert growing.verbs() == ["update"]


@table("gib", {"it never shrinks": 9_000, "it does not grow to a size that it cannot reach": 1_584_000})
def test_what_cannot_be_is_not_asked_for(used: Simulation, gib: int) -> None:
    used.edit(**_capacity(gib))
    used.at()
    assert used.verdict("CapacityValid")[0] == "False"
    assert (used.calls, used.verdict(STORAGE_READY)) == ([], ("True", "Bound"))


def test_a_growth_that_failed_is_tried_again_while_pods_go_on(stuck: Simulation) -> None:
    assert (stuck.verdict(STORAGE_READY), stuck.tier().phase) == (("True", "UpdateStockout"), "Bound")
    assert "The zone is full" in stuck.condition(STORAGE_READY).message
    stuck.at("2026-11-29T12:02:00Z")
    assert stuck.verbs() == ["update", "update"]


def test_a_growth_that_fails_again_and_again_is_one_event(stuck: Simulation) -> None:
    reported = stuck.condition(STORAGE_READY)
    for hour in (13, 14, 15):
        stuck.at(f"2026-11-29T{hour}:00:00Z")
        assert (stuck.operation("Update").state, stuck.condition(STORAGE_READY)) == ("Running", reported)
        stuck.answer(**FULL)
        stuck.at(f"2026-11-29T{hour}:10:00Z")
        assert stuck.tier().phase == "Bound"
    assert stuck.reasons().count("UpdateStockout") == 1
    assert stuck.verbs() == ["update"] * 4


def test_a_growth_that_succeeds_at_last_is_reported_as_any_other(stuck: Simulation) -> None:
    stuck.at("2026-11-29T13:00:00Z")
    stuck.answer(done=True)
    stuck.instance = made(stuck.pool, gib=27_000)
    stuck.at("2026-11-29T14:00:00Z")
    assert stuck.verdict(STORAGE_READY) == ("True", "Bound")


def test_a_growth_that_is_given_up_is_forgotten(stuck: Simulation) -> None:
    stuck.edit(**_capacity(18_000))
    stuck.at("2026-11-29T13:00:00Z")
    assert (stuck.verdict(STORAGE_READY), stuck.verbs()) == (("True", "Bound"), ["update"])


def test_a_growth_that_fails_does_not_hold_up_settings(stuck: Simulation) -> None:
    stuck.edit(**NIGHT)
    stuck.at()
    assert _bodies(stuck)[-1] == {"labels", "maintenancePolicy"}


def test_settings_follow_the_spec(used: Simulation) -> None:
    used.edit(**NIGHT)
    used.at()
    assert _bodies(used) == [{"labels", "maintenancePolicy"}]
    assert (used.verdict(STORAGE_READY), used.tier().phase) == (("True", "Updating"), "Bound")
    used.answer(done=True)
    used.instance = made(used.pool)
    used.at()
    assert (used.verdict(STORAGE_READY), used.verbs()) == (("True", "Bound"), ["update"])


def test_one_change_at_a_time(used: Simulation) -> None:
    used.edit(**BIGGER)
    used.edit(**NIGHT)
    used.at()
    used.answer()
    used.at()
    assert _bodies(used) == [{"labels", "maintenancePolicy"}]
    used.answer(done=True)
    used.instance = made(used.pool)
    used.at()
    assert _bodies(used)[1:] == [{"capacityGib"}]


def test_nothing_changes_while_the_instance_is_under_maintenance(used: Simulation) -> None:
    used.instance = made(used.pool, state="UPGRADING")
    used.edit(**BIGGER)
    used.at()
    assert (used.calls, used.verdict(STORAGE_READY)) == ([], ("False", "InstanceUpgrading"))


def test_the_same_growth_of_a_namesake_made_later_is_asked_for(growing: Simulation) -> None:
    growing.answer(done=True)
    growing.instance = made(growing.pool, gib=27_000)
    growing.at()
    growing.instance = replace(growing.instance, created="2026-11-30T11:00:00Z", capacity=18_000 * GIB)
    growing.at()
    first, second = growing.calls
    assert first.request != second.request


def test_a_growth_whose_request_was_lost_does_not_hold_up_the_next_one(growing: Simulation) -> None:
    growing.lose()
    growing.edit(**_capacity(36_000))
    growing.at()
    assert [call.body["capacityGib"] for call in growing.calls] == ["27000", "36000"]
