"""A volume that has outlived its claim is bound again, so that a pool that comes back finds its data."""

from dataclasses import replace
from typing import Any

from kvtier.facts.volumes import Volume
from unit.builders import claim
from unit.plan.lustre.claims import (
    BOTH,
    CLASS_NAME,
    NAME,
    POOL,
    kinds,
    look,
    of_size,
    planned,
    request,
    wanted_claim,
)
from unit.tables import table

KEPT = Volume(
    name="pvc-1",
    uid="volume-uid",
    handle="my-project/us-central1-a/pvc-1",
    storage_class=CLASS_NAME,
    phase="Released",
    capacity=27_000 << 30,
    reclaim="Retain",
    claim=("team-a", NAME),
    claim_uid="gone",
    version="41",
)
FREED = replace(KEPT, phase="Available", claim_uid="")
RESERVED = claim(POOL, "Pending", spec={"volumeName": "pvc-1"})


@table(
    "volumes",
    {
        "as it was left": (KEPT,),
        "that was freed before its claim could be made": (FREED,),
        "that is the largest of several": (replace(KEPT, name="pvc-0", capacity=9_000 << 30), KEPT),
    },
)
def test_a_pool_that_comes_back_finds_the_volume(volumes: tuple[Volume, ...]) -> None:
    part = planned(look(POOL, None, volumes=volumes))
    assert kinds(part) == BOTH, "it is freed only for a claim that is there"
    assert wanted_claim(part)["volumeName"] == "pvc-1"
    assert request(part) == "27000Gi", "no more than is there"


@table(
    "changes",
    {
        "of another claim": {"claim": ("team-b", NAME)},
        "of another class": {"storage_class": "other"},
        "that is bound": {"phase": "Bound"},
        "that the driver could not delete": {"phase": "Failed"},
        "that is about to be deleted": {"reclaim": "Delete"},
        "that is going": {"deleting": True},
        "that is free for another claim, by its uid": {"phase": "Available"},
    },
)
def test_the_driver_makes_a_new_one_beside_a_volume(changes: dict[str, Any]) -> None:
    part = planned(look(POOL, None, volumes=(replace(KEPT, **changes),)))
    assert kinds(part) == BOTH
    assert "volumeName" not in wanted_claim(part)


def test_no_volume_is_taken_while_a_prerequisite_does_not_hold() -> None:
    assert planned(look(POOL, None, volumes=(KEPT,)), CapacityValid="False").applies == ()


def test_the_volume_is_freed_for_the_claim_once_that_is_there() -> None:
    freed, _, _ = planned(look(POOL, RESERVED, volumes=(KEPT,))).applies
    assert freed["metadata"] == {"name": "pvc-1", "uid": "volume-uid", "resourceVersion": "41"}
    assert freed["spec"] == {"claimRef": {"uid": "", "resourceVersion": ""}}


@table(
    "volumes",
    {
        "freed": (replace(KEPT, claim_uid=""),),
        "free": (FREED,),
        "bound": (replace(KEPT, phase="Bound", claim_uid="PersistentVolumeClaim-uid"),),
        "another one": (replace(KEPT, name="pvc-2"),),
    },
)
def test_a_volume_is_not_touched_that_is(volumes: tuple[Volume, ...]) -> None:
    part = planned(look(POOL, RESERVED, volumes=volumes))
    assert kinds(part) == BOTH
    assert wanted_claim(part)["volumeName"] == "pvc-1", "what kvtier has set it may not take away"


def test_the_volume_that_kubernetes_has_chosen_is_kubernetes_s_to_name() -> None:
    assert "volumeName" not in wanted_claim(planned(look(POOL, claim(POOL))))


@table(
    "found, size",
    {
        "not before its claim is there": (None, "27000Gi"),
        "once it is bound": (claim(POOL, capacity="27000Gi", spec={"volumeName": "pvc-1"}), "36000Gi"),
    },
)
def test_a_volume_that_came_back_grows(found: Any, size: str) -> None:
    assert request(planned(look(of_size("36000Gi"), found, volumes=(KEPT,)))) == size
