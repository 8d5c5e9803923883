"""A volume that has outlived its claim is bound again."""

from dataclasses import replace
from typing import Any

from kvtier.api.identity import storage_class_name
from kvtier.context import build
from kvtier.facts.model import Observed
from kvtier.facts.volumes import Volume, Volumes
from kvtier.plan.children import claim_name
from kvtier.plan.lustre.csi import plan_csi
from kvtier.plan.model import Part
from unit.builders import NOW, checks, claim, facts, observed, pool
from unit.tables import table

POOL = pool()
LUSTRE = POOL.spec.tiers.lustre
assert LUSTRE is not None
CLASS, GIB = storage_class_name(POOL, LUSTRE), 1 << 30
KEPT = Volume(
    name="pvc-1",
    uid="volume-uid",
    handle="my-project/us-central1-a/pvc-1",
    storage_class=CLASS,
    phase="Released",
    capacity=27_000 * GIB,
    reclaim="Retain",
    claim=("team-a", claim_name(POOL)),
    claim_uid="gone",
    version="41",
)


def _world(*volumes: Volume, children: tuple[Any, ...] = ()) -> Observed:
    known = Volumes({one.name: one for one in volumes})
    return observed(*children, facts=replace(facts(), volumes=known))


def _plan(world: Observed, **statuses: str) -> Part:
    assert LUSTRE is not None
    return plan_csi(build(POOL, world, NOW), LUSTRE, checks(**statuses))


def _claim(part: Part) -> Any:
    return next(one for one in part.applies if one["kind"] == "PersistentVolumeClaim")


def test_a_pool_that_comes_back_finds_its_data() -> None:
    _, wanted = _plan(_world(KEPT)).applies
    assert wanted["spec"]["volumeName"] == "pvc-1"
    assert wanted["spec"]["resources"]["requests"] == {"storage": "27000Gi"}, "no more than is there"


@table(
    "changes",
    {
        "of another claim": {"claim": ("team-b", claim_name(POOL))},
        "of another class": {"storage_class": "other"},
        "that is bound": {"phase": "Bound"},
        "that the driver could not delete": {"phase": "Failed"},
        "that is about to be deleted": {"reclaim": "Delete"},
        "that is going": {"deleting": True},
        "that is free for another claim, by its uid": {"phase": "Available"},
    },
)
def test_the_driver_makes_a_new_one_beside_a_volume(changes: dict[str, Any]) -> None:
    part = _plan(_world(replace(KEPT, **changes)))
    assert [one["kind"] for one in part.applies] == ["StorageClass", "PersistentVolumeClaim"]
    assert "volumeName" not in _claim(part)["spec"]


def test_of_several_the_largest_comes_back() -> None:
    small = replace(KEPT, name="pvc-0", capacity=9_000 * GIB)
    assert _claim(_plan(_world(small, KEPT)))["spec"]["volumeName"] == "pvc-1"


def test_nothing_is_touched_while_a_prerequisite_does_not_hold() -> None:
    assert _plan(_world(KEPT), CapacityValid="False").applies == ()


RESERVED = claim(POOL, "Pending", spec={"volumeName": "pvc-1"})


def test_the_volume_is_freed_for_the_claim_once_that_is_there() -> None:
    freed, _, _ = _plan(_world(KEPT, children=(RESERVED,))).applies
    assert freed["metadata"] == {"name": "pvc-1", "uid": "volume-uid", "resourceVersion": "41"}
    assert freed["spec"] == {"claimRef": {"uid": "", "resourceVersion": ""}}


@table(
    "volume",
    {
        "freed": replace(KEPT, claim_uid=""),
        "free": replace(KEPT, phase="Available", claim_uid=""),
        "bound": replace(KEPT, phase="Bound", claim_uid="PersistentVolumeClaim-uid"),
    },
)
def test_a_volume_is_freed_once(volume: Volume) -> None:
    part = _plan(_world(volume, children=(RESERVED,)))
    assert [one["kind"] for one in part.applies] == ["StorageClass", "PersistentVolumeClaim"]
    assert _claim(part)["spec"]["volumeName"] == "pvc-1", "what kvtier has set it may not take away"


def test_a_volume_that_was_freed_before_its_claim_could_be_made_still_comes_back() -> None:
    part = _plan(_world(replace(KEPT, phase="Available", claim_uid="")))
    assert _claim(part)["spec"]["volumeName"] == "pvc-1"


def test_the_volume_that_kubernetes_has_chosen_is_kubernetes_s_to_name() -> None:
    part = _plan(_world(children=(claim(POOL),)))
    assert "volumeName" not in _claim(part)["spec"]


def test_a_volume_that_came_back_grows_once_it_is_bound() -> None:
    big = pool(tiers={"lustre": {"capacity": "36000Gi"}})
    lustre = big.spec.tiers.lustre
    assert lustre is not None
    waiting = plan_csi(build(big, _world(KEPT), NOW), lustre, checks())
    assert _claim(waiting)["spec"]["resources"]["requests"] == {"storage": "27000Gi"}
    live = claim(POOL, capacity="27000Gi", spec={"volumeName": "pvc-1"})
    growing = plan_csi(build(big, _world(KEPT, children=(live,)), NOW), lustre, checks())
    assert _claim(growing)["spec"]["resources"]["requests"] == {"storage": "36000Gi"}
