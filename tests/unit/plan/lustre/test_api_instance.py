"""An instance that kvtier creates through the Lustre API: its creation, and updates when the spec changes."""

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
    """Before anything was created."""
    return Simulation(pool(**api()))


@pytest.fixture
def asked(new: Simulation) -> Simulation:
    """The creation of the instance was requested."""
    new.at()
    return new


def test_the_creation_of_an_instance_is_requested_once(asked: Simulation) -> None:
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


def test_persistent_volume_and_pvc_are_created_when_the_instance_is_ready(asked: Simulation) -> None:
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
        "at first": ("2026-11-29T12:09:00Z", "is being created. This usually takes 10 to"),
        "after 29 minutes": ("2026-11-29T12:29:00Z", "more than 10 minutes so far."),
        "after 11 minutes": ("2026-11-29T12:11:00Z", "more than 10 minutes so far."),
        "after 3 hours": ("2026-11-29T15:00:00Z", "more than 2 hours so far."),
    },
)
def test_the_elapsed_time_is_reported_in_few_steps(asked: Simulation, now: str, words: str) -> None:
    asked.answer()
    asked.at(now)
    assert words in asked.condition(STORAGE_READY).message


def test_nothing_is_requested_while_a_prerequisite_is_not_met(new: Simulation) -> None:
    new.facts = NO_DRIVER
    new.at()
    assert (new.calls, new.verdict(STORAGE_READY)) == ([], ("False", "PrerequisitesNotMet"))
    assert (new.tier().phase, new.tier().instance) == ("Waiting", None)


def test_a_prerequisite_that_fails_later_causes_no_second_request(asked: Simulation) -> None:
    asked.answer()
    asked.facts = NO_DRIVER
    asked.at()
    assert (asked.verdict(STORAGE_READY), asked.verbs()) == (("False", "Provisioning"), ["create"])


def test_a_failed_creation_is_reported_with_advice_and_retried(asked: Simulation) -> None:
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


def test_an_edited_spec_is_requested_immediately(asked: Simulation) -> None:
    asked.answer(**FULL)
    asked.at()
    asked.edit(**_capacity(9_000))
    asked.at()
    assert [call.body["capacityGib"] for call in asked.calls] == ["18000", "9000"]


def test_a_request_of_a_crashed_operator_is_repeated_with_its_id(asked: Simulation) -> None:
    asked.lose()
    asked.at()
    first, second = asked.calls
    assert first == second


def test_an_instance_that_was_created_and_deleted_is_recreated(asked: Simulation) -> None:
    asked.answer(done=True)
    asked.at("2026-11-29T12:10:00Z")
    asked.at("2026-11-29T12:10:15Z")
    first, second = asked.calls
    assert first.request != second.request
    assert "is being created. This usually takes 10 to" in asked.condition(STORAGE_READY).message, (
        "the time starts again"
    )
    asked.answer()
    asked.at("2026-11-29T12:11:00Z")
    asked.at("2026-11-29T12:12:00Z")
    assert len(asked.calls) == 2


def test_a_deleted_instance_is_not_recreated_while_its_persistent_volume_exists() -> None:
    simulation = in_use(pool(**api()))
    simulation.instance = None
    simulation.at()
    assert simulation.calls == []
    assert simulation.verdict(STORAGE_READY) == ("False", "InstanceGone")
    assert "was deleted, and its data is lost. " in simulation.condition(STORAGE_READY).message


def test_nothing_is_requested_while_the_instance_is_unknown(new: Simulation) -> None:
    new.error = UNSEEN.error
    new.at()
    assert (new.calls, new.verdict(STORAGE_READY)) == ([], ("False", "InstanceUnknown"))
    assert (new.storage(), new.tier().phase, new.tier().instance) == ([], "Waiting", None)


def test_a_creation_in_progress_stays_in_the_status_while_the_api_does_not_respond(asked: Simulation) -> None:
    asked.answer()
    asked.error = UNSEEN.error
    asked.at()
    assert asked.operation("Create").state == "Running"
    assert asked.tier().instance == asked.calls[0].instance


def test_the_instance_of_an_earlier_pool_is_used_again(new: Simulation) -> None:
    new.instance = made(new.pool)
    new.at()
    assert (new.calls, new.storage()) == ([], [VOLUME, CLAIM])


def test_the_instance_of_another_pool_is_not_used(new: Simulation) -> None:
    new.instance = made(new.pool, labels={})
    new.at()
    assert (new.calls, new.storage()) == ([], [])
    assert (new.verdict(STORAGE_READY), new.tier().phase) == (("False", "InstanceNotOurs"), "Failed")


# An instance in use is updated to the spec, one change at a time, and engines keep using it.


BIGGER = _capacity(27_000)
NIGHT: dict[str, Any] = {"tiers": {"lustre": {"maintenanceWindow": {"day": "Sunday", "hour": 3}}}}


@pytest.fixture
def used() -> Simulation:
    return in_use(pool(**api()))


@pytest.fixture
def growing(used: Simulation) -> Simulation:
    """The spec has a larger capacity, and the resize was requested."""
    used.edit(**BIGGER)
    used.at()
    return used


@pytest.fixture
def stuck(growing: Simulation) -> Simulation:
    """The resize has failed."""
    growing.answer(**FULL)
    growing.at()
    return growing


def test_an_instance_in_use_is_resized(growing: Simulation) -> None:
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


@table("gib", {"a smaller size": 9_000, "a size above the limit": 1_584_000})
def test_an_impossible_size_is_not_requested(used: Simulation, gib: int) -> None:
    used.edit(**_capacity(gib))
    used.at()
    assert used.verdict("CapacityValid")[0] == "False"
    assert (used.calls, used.verdict(STORAGE_READY)) == ([], ("True", "Bound"))


def test_a_failed_resize_is_retried_and_the_tier_stays_in_use(stuck: Simulation) -> None:
    assert (stuck.verdict(STORAGE_READY), stuck.tier().phase) == (("True", "UpdateStockout"), "Bound")
    words = "The zone is full. The zone has no free capacity for the larger size now. kvtier retries within 30 minutes."
    assert words in stuck.condition(STORAGE_READY).message
    stuck.at("2026-11-29T12:02:00Z")
    assert stuck.verbs() == ["update", "update"]


def test_a_resize_that_fails_repeatedly_gives_one_event(stuck: Simulation) -> None:
    reported = stuck.condition(STORAGE_READY)
    for hour in (13, 14, 15):
        stuck.at(f"2026-11-29T{hour}:00:00Z")
        assert (stuck.operation("Update").state, stuck.condition(STORAGE_READY)) == ("Running", reported)
        stuck.answer(**FULL)
        stuck.at(f"2026-11-29T{hour}:10:00Z")
        assert stuck.tier().phase == "Bound"
    assert stuck.reasons().count("UpdateStockout") == 1
    assert stuck.verbs() == ["update"] * 4


def test_a_resize_that_succeeds_after_failures_is_reported(stuck: Simulation) -> None:
    stuck.at("2026-11-29T13:00:00Z")
    stuck.answer(done=True)
    stuck.instance = made(stuck.pool, gib=27_000)
    stuck.at("2026-11-29T14:00:00Z")
    assert stuck.verdict(STORAGE_READY) == ("True", "Bound")


def test_a_cancelled_resize_is_not_reported(stuck: Simulation) -> None:
    stuck.edit(**_capacity(18_000))
    stuck.at("2026-11-29T13:00:00Z")
    assert (stuck.verdict(STORAGE_READY), stuck.verbs()) == (("True", "Bound"), ["update"])


def test_a_failed_resize_does_not_block_settings(stuck: Simulation) -> None:
    stuck.edit(**NIGHT)
    stuck.at()
    assert _bodies(stuck)[-1] == {"labels", "maintenancePolicy"}


def test_settings_are_updated_to_the_spec(used: Simulation) -> None:
    used.edit(**NIGHT)
    used.at()
    assert _bodies(used) == [{"labels", "maintenancePolicy"}]
    assert (used.verdict(STORAGE_READY), used.tier().phase) == (("True", "Updating"), "Bound")
    used.answer(done=True)
    used.instance = made(used.pool)
    used.at()
    assert (used.verdict(STORAGE_READY), used.verbs()) == (("True", "Bound"), ["update"])


def test_changes_are_requested_one_at_a_time(used: Simulation) -> None:
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


def test_nothing_is_requested_while_the_instance_is_under_maintenance(used: Simulation) -> None:
    used.instance = made(used.pool, state="UPGRADING")
    used.edit(**BIGGER)
    used.at()
    assert (used.calls, used.verdict(STORAGE_READY)) == ([], ("False", "InstanceUpgrading"))


def test_the_same_resize_of_a_recreated_instance_is_requested_again(growing: Simulation) -> None:
    growing.answer(done=True)
    growing.instance = made(growing.pool, gib=27_000)
    growing.at()
    growing.instance = replace(growing.instance, created="2026-11-30T11:00:00Z", capacity=18_000 * GIB)
    growing.at()
    first, second = growing.calls
    assert first.request != second.request


def test_a_lost_resize_request_does_not_block_the_next_one(growing: Simulation) -> None:
    growing.lose()
    growing.edit(**_capacity(36_000))
    growing.at()
    assert [call.body["capacityGib"] for call in growing.calls] == ["27000", "36000"]
