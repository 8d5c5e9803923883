"""A volume that lost its claim, or a claim that lost its volume, is bound again."""

from typing import Any

import pytest

from unit.builders import pool
from unit.instances import existing
from unit.plan.lustre.tiers import Tier, bound

RELEASED = {"status": {"phase": "Released"}}


def _claim_ref(tier: Tier) -> Any:
    return next(one for one in tier.at().applies if one["kind"] == "PersistentVolume")["spec"]["claimRef"]


def _identity(tier: Tier) -> Any:
    return next(one for one in tier.at().applies if one["kind"] == "PersistentVolume")["metadata"]


@pytest.fixture
def tier() -> Tier:
    return bound(pool(**existing()))


def test_the_claim_that_is_gone_is_taken_out_of_a_released_volume_for_the_next(tier: Tier) -> None:
    tier.drop("PersistentVolumeClaim")
    tier.change("PersistentVolume", **RELEASED)
    assert "uid" not in _claim_ref(tier), "not before there is one"
    identity = _identity(tier)
    assert tier.only("PersistentVolume")["spec"]["claimRef"]["uid"] == ""
    assert (identity["uid"], identity["resourceVersion"]) == ("PersistentVolume-uid", "10")


def test_once_is_enough(tier: Tier) -> None:
    tier.drop("PersistentVolumeClaim")
    tier.change("PersistentVolume", **RELEASED)
    tier.at()
    tier.at()
    assert "uid" not in _claim_ref(tier)
    tier.change("PersistentVolume", status={"phase": "Available"})
    assert "uid" not in _claim_ref(tier)


def test_a_volume_that_is_bound_is_left_to_kubernetes(tier: Tier) -> None:
    tier.change("PersistentVolumeClaim", metadata={"uid": "another"})
    assert "uid" not in _claim_ref(tier)
    assert "resourceVersion" not in _identity(tier)


def test_a_claim_whose_volume_was_deleted_gets_it_back(tier: Tier) -> None:
    tier.drop("PersistentVolume")
    tier.change("PersistentVolumeClaim", status={"phase": "Lost"})
    assert _claim_ref(tier)["uid"] == "PersistentVolumeClaim-uid"
    assert tier.told == ("False", "VolumeLost")


def test_a_claim_that_its_volume_has_forgotten_gets_it_back(tier: Tier) -> None:
    tier.change("PersistentVolume", spec={"claimRef": {"uid": None}}, status={"phase": "Available"})
    tier.change("PersistentVolumeClaim", status={"phase": "Lost"})
    identity = _identity(tier)
    assert identity["resourceVersion"] == "10"
    assert tier.only("PersistentVolume")["spec"]["claimRef"]["uid"] == "PersistentVolumeClaim-uid"


def test_the_digest_of_what_was_applied_stays_the_same(tier: Tier) -> None:
    before = tier.only("PersistentVolume")["metadata"]["annotations"]
    tier.drop("PersistentVolumeClaim")
    tier.change("PersistentVolume", **RELEASED)
    tier.at()
    assert _identity(tier)["annotations"] == before
