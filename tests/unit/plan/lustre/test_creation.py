"""The creation of an instance through the Lustre API, step by step."""

from typing import Any

import pytest

from unit.builders import pool
from unit.instances import api
from unit.plan.lustre.tiers import Tier, made, unseen
from unit.tables import table

FAILED: dict[str, Any] = {"done": True, "code": "ResourceExhausted", "message": "The zone is full"}


@pytest.fixture
def tier() -> Tier:
    return Tier(pool(**api()))


def test_an_instance_that_does_not_exist_is_asked_for_once(tier: Tier) -> None:
    tier.at()
    (call,) = tier.calls
    assert (call.verb, call.instance) == ("create", made(tier.pool).name)
    assert call.body["capacityGib"] == "18000"
    tier.at()
    assert len(tier.calls) == 1
    assert tier.told == ("False", "Provisioning")
    assert (tier.tier.phase, tier.tier.instance) == ("Provisioning", call.instance)
    assert tier.kinds() == []


def test_it_becomes_volume_and_claim_when_it_is_there(tier: Tier) -> None:
    tier.at()
    tier.instance = made(tier.pool, state="CREATING", address="")
    tier.answer()
    tier.at()
    assert (tier.told, tier.kinds()) == (("False", "Provisioning"), [])
    tier.instance = made(tier.pool)
    tier.answer(done=True)
    tier.at()
    assert tier.kinds() == ["PersistentVolume", "PersistentVolumeClaim"]
    assert tier.operation("Create").state == "Succeeded"
    assert tier.asked() == ["create"]


@table(
    "now, words",
    {
        "at first": ("2026-11-29T12:09:00Z", "is being created; 10 to"),
        "after a while": ("2026-11-29T12:29:00Z", "more than 10 minutes by now"),
        "after the same while": ("2026-11-29T12:11:00Z", "more than 10 minutes by now"),
        "after long": ("2026-11-29T15:00:00Z", "more than 2 hours by now"),
    },
)
def test_the_time_is_told_in_a_few_steps(tier: Tier, now: str, words: str) -> None:
    tier.at()
    tier.answer()
    tier.at(now)
    assert words in tier.condition.message


def test_nothing_is_asked_for_while_a_prerequisite_does_not_hold(tier: Tier) -> None:
    tier.statuses = {"CapacityValid": "False"}
    tier.at()
    assert tier.calls == []
    assert tier.told == ("False", "PrerequisitesNotMet")
    assert tier.tier.phase == "Waiting"
    assert tier.tier.instance is None


def test_a_creation_that_failed_is_told_of_with_what_to_do_and_tried_again(tier: Tier) -> None:
    tier.at()
    tier.answer(**FAILED)
    tier.at("2026-11-29T12:01:00Z")
    assert tier.told == ("False", "Stockout")
    assert "ResourceExhausted: The zone is full" in tier.condition.message
    assert "another zone" in tier.condition.message
    assert tier.tier.phase == "Failed"
    tier.at("2026-11-29T12:01:30Z")
    assert len(tier.calls) == 1
    tier.at("2026-11-29T12:02:00Z")
    assert len({call.request for call in tier.calls}) == 2
    assert tier.operation("Create").attempt == 2


def test_an_edited_spec_is_tried_at_once(tier: Tier) -> None:
    tier.at()
    tier.answer(**FAILED)
    tier.at()
    tier.edit(tiers={"lustre": {"capacity": "9000Gi"}})
    tier.at()
    assert [call.body["capacityGib"] for call in tier.calls] == ["18000", "9000"]


def test_a_request_of_a_process_that_died_is_repeated_with_its_id(tier: Tier) -> None:
    tier.at()
    tier.lose()
    tier.at()
    first, second = tier.calls
    assert first == second


def test_an_instance_that_was_made_and_is_gone_is_made_again(tier: Tier) -> None:
    tier.at()
    tier.answer(done=True)
    tier.at("2026-11-29T12:10:00Z")
    tier.at("2026-11-29T12:10:15Z")
    first, second = tier.calls
    assert first.request != second.request
    tier.answer()
    tier.at("2026-11-29T12:11:00Z")
    tier.at("2026-11-29T12:12:00Z")
    assert len(tier.calls) == 2


def test_an_instance_whose_volume_is_there_is_not_made_again_behind_its_back(tier: Tier) -> None:
    tier.instance = made(tier.pool)
    tier.at()
    tier.bind()
    tier.instance = None
    tier.at()
    assert tier.calls == []
    assert tier.told == ("False", "InstanceGone")
    assert "data is lost" in tier.condition.message


def test_nothing_is_asked_for_blindly(tier: Tier) -> None:
    unseen(tier).at()
    assert tier.calls == []
    assert tier.told == ("False", "InstanceUnknown")


def test_a_creation_under_way_is_remembered_while_the_api_does_not_tell(tier: Tier) -> None:
    tier.at()
    tier.answer()
    unseen(tier).at()
    assert tier.operation("Create").state == "Running"
    assert tier.tier.instance == tier.calls[0].instance


def test_a_prerequisite_that_fails_meanwhile_asks_for_no_second_one(tier: Tier) -> None:
    tier.at()
    tier.answer()
    tier.statuses = {"ZoneMatched": "False"}
    tier.at()
    assert tier.told == ("False", "Provisioning")
    assert len(tier.calls) == 1


def test_an_instance_of_an_earlier_pool_is_taken_over() -> None:
    tier = Tier(pool(**api()))
    tier.instance = made(tier.pool)
    tier.at()
    assert tier.calls == []
    assert tier.kinds() == ["PersistentVolume", "PersistentVolumeClaim"]


def test_a_stranger_is_left_alone(tier: Tier) -> None:
    tier.instance = made(tier.pool, labels={})
    tier.at()
    assert (tier.calls, tier.kinds()) == ([], [])
    assert tier.told == ("False", "InstanceNotOurs")
