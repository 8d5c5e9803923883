"""A PersistentVolume is bound again after its PVC was deleted, so that a recreated pool finds its data."""

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
    provisioned=True,
    version="41",
)
FREED = replace(KEPT, phase="Available", claim_uid="")
RESERVED = claim(POOL, "Pending", spec={"volumeName": "pvc-1"})


@table(
    "volumes",
    {
        "as it was kept": (KEPT,),
        "that was freed before its PVC was created": (FREED,),
        "that is the largest of several": (replace(KEPT, name="pvc-0", capacity=9_000 << 30), KEPT),
    },
)
def test_a_recreated_pool_binds_the_persistent_volume(volumes: tuple[Volume, ...]) -> None:
    part = planned(look(POOL, None, volumes=volumes))
    assert kinds(part) == BOTH, "it is freed only for a PVC that exists"
    assert wanted_claim(part)["volumeName"] == "pvc-1"
    assert request(part) == "27000Gi", "the capacity of the PersistentVolume, not more"


@table(
    "changes",
    {
        "of another PVC": {"claim": ("team-b", NAME)},
        "of another StorageClass": {"storage_class": "other"},
        "that the driver did not create": {"provisioned": False},
        "that is bound": {"phase": "Bound"},
        "that the driver could not delete": {"phase": "Failed"},
        "with reclaim policy Delete": {"reclaim": "Delete"},
        "that is being deleted": {"deleting": True},
        "that is reserved for another PVC, by its uid": {"phase": "Available"},
    },
)
def test_the_driver_creates_a_new_one_despite_a_persistent_volume(changes: dict[str, Any]) -> None:
    part = planned(look(POOL, None, volumes=(replace(KEPT, **changes),)))
    assert kinds(part) == BOTH
    assert "volumeName" not in wanted_claim(part)


def test_no_persistent_volume_is_bound_while_a_prerequisite_is_not_met() -> None:
    assert planned(look(POOL, None, volumes=(KEPT,)), CapacityValid="False").applies == ()


def test_the_persistent_volume_is_freed_after_its_pvc_exists() -> None:
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
def test_kvtier_does_not_change_a_persistent_volume_that_is(volumes: tuple[Volume, ...]) -> None:
    part = planned(look(POOL, RESERVED, volumes=volumes))
    assert kinds(part) == BOTH
    assert wanted_claim(part)["volumeName"] == "pvc-1", "the API server refuses to remove a name that was set"


def test_kvtier_does_not_name_the_persistent_volume_that_kubernetes_chose() -> None:
    assert "volumeName" not in wanted_claim(planned(look(POOL, claim(POOL))))


@table(
    "found, size",
    {
        "not before its PVC exists": (None, "27000Gi"),
        "once it is bound": (claim(POOL, capacity="27000Gi", spec={"volumeName": "pvc-1"}), "36000Gi"),
    },
)
def test_a_persistent_volume_that_was_bound_again_is_resized(found: Any, size: str) -> None:
    assert request(planned(look(of_size("36000Gi"), found, volumes=(KEPT,)))) == size
