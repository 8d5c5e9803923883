"""Deletion of the Lustre tier: of a deleted pool, and of a pool whose spec no longer has the tier."""

from dataclasses import replace
from typing import Any

import pytest

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Event
from kvtier.facts.volumes import Volume, Volumes
from kvtier.plan.lustre.delete import Step, delete_tier
from kvtier.plan.model import Plan
from kvtier.plan.plan import plan
from unit.builders import NOW, claim, context, deleted, facts, live, observed, pool
from unit.instances import UNSEEN, api, existing, instance
from unit.simulation import CLAIM, VOLUME, Simulation, in_use, made
from unit.tables import table

# PersistentVolumes of the driver, which deletes them with their instances.

CSI = deleted(deletionPolicy="Delete")
BOUND = claim(pool())
GOING = live(BOUND, metadata={"deletionTimestamp": NOW})
INSTANCE = "projects/p/locations/z/instances/pvc-1"
REPORTED = deleted(
    status={"tiers": [{"name": "lustre", "phase": "Bound", "instance": INSTANCE}]}, deletionPolicy="Delete"
)
DRIVEN = Volume(
    name="pv-1",
    uid="volume-uid",
    handle="p/z/pvc-1",
    storage_class=BOUND["spec"]["storageClassName"],
    phase="Bound",
    reclaim="Retain",
    claim=("team-a", BOUND["metadata"]["name"]),
    claim_uid=BOUND["metadata"]["uid"],
    provisioned=True,
    version="7",
)
RELEASED = replace(DRIVEN, phase="Released")


def _delete(of: KVCachePool, *children: Any, volumes: tuple[Volume, ...] = (), **seen: Any) -> Step:
    known = Volumes({one.name: one for one in volumes}, frozenset({"pv-1"} - {one.name for one in volumes}))
    return delete_tier(context(of, *children, facts=replace(facts(), volumes=known), **seen))


@table(
    "of, children, volume, switched",
    {
        "with its PVC": (CSI, [BOUND], DRIVEN, True),
        "of a PVC that others delete with its namespace": (CSI, [GOING], DRIVEN, True),
        "of a PVC that others deleted": (REPORTED, [], RELEASED, True),
        "only once": (CSI, [BOUND], replace(DRIVEN, reclaim="Delete"), False),
        "not one that an earlier pool of the same name retained": (CSI, [], RELEASED, False),
        "not one that is bound to another PVC of the same name": (
            CSI,
            [BOUND],
            replace(DRIVEN, claim_uid="other"),
            False,
        ),
        "not one without a StorageClass": (CSI, [BOUND], replace(DRIVEN, storage_class=""), False),
        "not one of another StorageClass": (CSI, [BOUND], replace(DRIVEN, storage_class="theirs"), False),
        "not one that the driver did not create": (CSI, [BOUND], replace(DRIVEN, provisioned=False), False),
        "not of an unbound PVC": (CSI, [claim(pool(), "Pending")], None, False),
        "not of a PVC whose PersistentVolume was deleted": (
            CSI,
            [claim(pool(), "Lost", spec={"volumeName": "pv-1"})],
            None,
            False,
        ),
    },
)
def test_kvtier_lets_the_driver_delete_the_volume(
    of: KVCachePool, children: list[Any], volume: Volume | None, switched: bool
) -> None:
    step = _delete(of, *children, volumes=(volume,) if volume else ())
    written = [(one["kind"], one["metadata"], one["spec"]) for one in step.part.applies]
    policy = {"persistentVolumeReclaimPolicy": "Delete"}
    metadata = {"name": "pv-1", "uid": "volume-uid", "resourceVersion": "7"}
    assert written == ([(VOLUME, metadata, policy)] if switched else [])
    assert [ref.kind for ref in step.part.deletes] == ([CLAIM] if children and GOING not in children else [])


def test_an_available_volume_is_reserved_for_a_pvc_that_does_not_exist() -> None:
    free = replace(DRIVEN, phase="Available", claim_uid="", reclaim="Delete")
    (switch,) = _delete(REPORTED, volumes=(free,)).part.applies
    assert switch["spec"] == {"persistentVolumeReclaimPolicy": "Delete", "claimRef": {"uid": "pool-uid"}}
    assert _delete(REPORTED, volumes=(replace(free, phase="Released"),)).part.applies == ()
    assert _delete(REPORTED, volumes=(replace(free, deleting=True),)).part.applies == ()


@table(
    "children, volume, seen, words",
    {
        "a PersistentVolume with its instance": (
            [],
            replace(RELEASED, reclaim="Delete"),
            {},
            f"delete PersistentVolume pv-1 with instance {INSTANCE}. Details: kubectl describe pv pv-1",
        ),
        "a PersistentVolume that the driver cannot delete, with its message": (
            [],
            replace(DRIVEN, phase="Failed", reclaim="Delete", message="it has snapshots"),
            {},
            "The CSI driver could not delete PersistentVolume pv-1: it has snapshots. Details: kubectl",
        ),
        "a PVC with the Pods that use it": (
            [GOING],
            replace(DRIVEN, reclaim="Delete"),
            {"holders": ("a", "b")},
            f"the deletion of PVC {BOUND['metadata']['name']}. Delete the Pods that use it: a, b.",
        ),
    },
)
def test_the_deletion_waits_for(
    children: list[Any], volume: Volume, seen: dict[str, Any], words: str
) -> None:
    step = _delete(CSI, *children, volumes=(volume,), **seen)
    (waits,) = step.waits
    assert words in waits
    assert step.part.deletes == ()
    known = replace(facts(), volumes=Volumes({volume.name: volume}))
    status = plan(CSI, replace(observed(*children, facts=known), **seen), NOW).status
    assert status is not None
    assert words in status.conditions[0].message


@pytest.mark.parametrize("policy", ["Delete", "Retain"])
def test_the_deletion_waits_until_the_instance_of_a_pvc_is_created(policy: str) -> None:
    waiting = claim(pool(), "Pending", metadata={"creationTimestamp": NOW})
    message = "rpc error: code = DeadlineExceeded desc = not ready, current state: CREATING"
    event = Event(CLAIM, "claim", "ProvisioningFailed", message, last=NOW)
    world = replace(observed(waiting), claim_events=(event,))
    planned = plan(deleted(deletionPolicy=policy), world, NOW)
    assert (planned.finalizer, planned.deletes) == (True, ())
    assert planned.status is not None
    assert planned.status.conditions[0].message == (
        f"The CSI driver is creating an instance for PVC {BOUND['metadata']['name']}. kvtier deletes the PVC "
        "afterwards."
    )


def test_the_deletion_waits_for_the_volume_of_an_instance_whose_pvc_others_deleted() -> None:
    status = {"tiers": [{"name": "lustre", "phase": "Provisioning", "instance": INSTANCE}]}
    of = deleted(status=status, deletionPolicy="Delete")
    planned = plan(of, observed(facts=replace(facts(), lustre=instance(name=INSTANCE))), NOW).status
    assert planned is not None
    assert planned.conditions[0].message == (
        f"kvtier waits for the CSI driver to create the PersistentVolume of instance {INSTANCE}, and then deletes both."
    )


# A Lustre tier that was removed from the spec of a pool.

NO_TIER: dict[str, Any] = {"tiers": {"lustre": None}}
DELETE: dict[str, Any] = {"deletionPolicy": "Delete"}


def _left(changes: dict[str, Any], **more: Any) -> Simulation:
    """A tier that was in use, and that no engine mounts now."""
    of = pool(**{**changes, **more})
    simulation = in_use(of, instance().instance if changes == existing() else None)
    simulation.edit(**NO_TIER)
    simulation.at()
    return simulation


@table("changes", {"an existing instance": existing(), "an instance of kvtier": api()})
def test_retain_keeps_all_objects(changes: dict[str, Any]) -> None:
    simulation = _left(changes)
    simulation.at()
    assert (simulation.storage(), simulation.calls) == ([VOLUME, CLAIM], [])


def test_the_status_keeps_a_retained_instance() -> None:
    simulation = _left(api())
    assert (simulation.tier().phase, simulation.tier().instance) == ("Retained", made(pool(**api())).name)
    assert not [one for one in simulation.pool.status.conditions if one.type == "StorageReady"]


def test_nothing_is_deleted_while_an_engine_mounts_the_tier() -> None:
    simulation = in_use(pool(**api(), **DELETE))
    simulation.edit(**NO_TIER)
    assert [ref.kind for ref in simulation.at().deletes if ref.kind in (CLAIM, VOLUME)] == []
    assert (simulation.storage(), simulation.calls) == ([VOLUME, CLAIM], [])
    assert simulation.tier().phase == "Deleting"


def test_pvc_instance_and_volume_are_deleted_one_after_the_other() -> None:
    simulation, name = _left(api(), **DELETE), made(pool(**api())).name
    simulation.at()
    assert simulation.storage() == [VOLUME]
    simulation.at()
    (call,) = simulation.calls
    assert (call.verb, call.instance, simulation.storage()) == ("delete", name, [VOLUME])
    simulation.answer()
    simulation.at()
    assert (simulation.tier().phase, simulation.tier().instance) == ("Deleting", name)
    simulation.answer(done=True)
    simulation.instance = None
    simulation.at()
    assert simulation.storage() == []
    simulation.at()
    assert [tier.name for tier in simulation.pool.status.tiers] == ["cpu"]
    assert simulation.verbs() == ["delete"]


def test_only_the_objects_of_an_existing_instance_are_deleted() -> None:
    simulation = _left(existing(), **DELETE)
    simulation.until(lambda: not simulation.storage())
    simulation.at()
    assert [tier.name for tier in simulation.pool.status.tiers] == ["cpu"]
    assert simulation.calls == []


def test_an_instance_that_is_being_created_is_deleted_too() -> None:
    simulation = Simulation(pool(**api(), **DELETE))
    simulation.at()
    simulation.edit(**NO_TIER)
    simulation.at()
    assert (simulation.tier().phase, simulation.verbs()) == ("Deleting", ["create"]), "not before a response"
    simulation.answer()
    simulation.instance = made(pool(**api()), state="CREATING", address="")
    simulation.at()
    assert simulation.verbs() == ["create", "delete"]


def test_an_instance_with_the_labels_of_another_pool_is_kept() -> None:
    simulation = Simulation(pool(**api(), **DELETE))
    simulation.at()
    simulation.answer(done=True)
    simulation.instance = made(simulation.pool, labels={"kvtier-pool": "other"})
    simulation.edit(**NO_TIER)
    simulation.at()
    assert [tier.name for tier in simulation.pool.status.tiers] == ["cpu"]
    assert simulation.verbs() == ["create"]


def test_a_tier_that_is_added_and_removed_again_is_deleted_again() -> None:
    of = pool(**api(), **DELETE)
    simulation = _left(api(), **DELETE)
    simulation.until(lambda: simulation.verbs() == ["delete"])
    simulation.answer(done=True)
    simulation.instance = None
    simulation.at()
    simulation.edit(tiers=of.spec.tiers.model_dump(by_alias=True, exclude_none=True))
    simulation.at()
    simulation.instance = made(of, created="2026-12-01T00:00:00Z")
    simulation.answer(done=True)
    simulation.at()
    simulation.edit(**NO_TIER)
    simulation.until(lambda: simulation.verbs() == ["delete", "create", "delete"])
    assert len({call.request for call in simulation.calls}) == 3


def test_nothing_is_deleted_while_the_instance_is_unknown() -> None:
    simulation = _left(api(), **DELETE)
    simulation.error = UNSEEN.error
    simulation.at()
    simulation.at()
    assert (simulation.storage(), simulation.calls) == ([VOLUME], [])
    assert simulation.tier().phase == "Deleting"


def test_a_pool_that_never_had_a_tier_reports_nothing() -> None:
    simulation = Simulation(pool(**NO_TIER))
    assert simulation.at() != Plan()
    assert [tier.name for tier in simulation.pool.status.tiers] == ["cpu"]
    assert "StorageReady" not in [one.type for one in simulation.pool.status.conditions]


def test_with_delete_a_pvc_of_the_driver_is_deleted_with_its_volume() -> None:
    planned = plan(pool(**NO_TIER, **DELETE), observed(BOUND), NOW)
    (switch,) = [one for one in planned.applies if one["kind"] == VOLUME]
    assert switch["metadata"]["name"] == "pv-1"
    assert [ref.kind for ref in planned.deletes] == [CLAIM]


def test_a_pool_keeps_its_instance_in_the_status_after_its_pvc_was_deleted() -> None:
    """The namespace controller deletes PVCs and pools in any order."""
    alive = pool(status=REPORTED.status.model_dump(by_alias=True, exclude_none=True), **DELETE)
    for volumes, known in ({DRIVEN.name: DRIVEN}, INSTANCE), ({}, None):
        world = observed(facts=replace(facts(), volumes=Volumes(volumes)))
        status = plan(alive, world, NOW).status
        assert status is not None
        assert [tier.instance for tier in status.tiers if tier.name == "lustre"] == [known]
