"""Deletion of the shared tier: of a pool that is deleted, and of one whose spec has no such tier any more."""

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

# The driver's volumes, which it deletes with their instances.

CSI = deleted(deletionPolicy="Delete")
BOUND = claim(pool())
GOING = live(BOUND, metadata={"deletionTimestamp": NOW})
INSTANCE = "projects/p/locations/z/instances/pv-1"
REPORTED = deleted(
    status={"tiers": [{"name": "lustre", "phase": "Bound", "instance": INSTANCE}]}, deletionPolicy="Delete"
)
DRIVEN = Volume(
    name="pv-1",
    uid="volume-uid",
    handle="p/z/pv-1",
    storage_class="class",
    phase="Bound",
    reclaim="Retain",
    claim=("team-a", BOUND["metadata"]["name"]),
    claim_uid=BOUND["metadata"]["uid"],
)
RELEASED = replace(DRIVEN, phase="Released")


def _delete(of: KVCachePool, *children: Any, volumes: tuple[Volume, ...] = (), **seen: Any) -> Step:
    known = Volumes({one.name: one for one in volumes})
    return delete_tier(context(of, *children, facts=replace(facts(), volumes=known), **seen))


@table(
    "of, children, volume, switched",
    {
        "with its claim": (CSI, [BOUND], DRIVEN, True),
        "of a claim that goes by other hands, with its namespace": (CSI, [GOING], DRIVEN, True),
        "of a claim that has gone by other hands": (REPORTED, [], RELEASED, True),
        "that has not been seen yet": (CSI, [BOUND], None, True),
        "only once": (CSI, [BOUND], replace(DRIVEN, reclaim="Delete"), False),
        "not what an earlier pool of that name has retained": (CSI, [], RELEASED, False),
        "not what is bound to a namesake of the claim": (
            CSI,
            [BOUND],
            replace(DRIVEN, claim_uid="other"),
            False,
        ),
        "not what is not the driver's": (CSI, [BOUND], replace(DRIVEN, storage_class=""), False),
        "not of a claim that has none": (CSI, [claim(pool(), "Pending")], None, False),
        "not of a claim that is going, because that was written before": (CSI, [GOING], None, False),
        "not of a claim whose volume is gone": (
            CSI,
            [claim(pool(), "Lost", spec={"volumeName": "pv-1"})],
            None,
            False,
        ),
    },
)
def test_the_driver_may_delete_the_volume(
    of: KVCachePool, children: list[Any], volume: Volume | None, switched: bool
) -> None:
    step = _delete(of, *children, volumes=(volume,) if volume else ())
    written = [(one["kind"], one["metadata"], one["spec"]) for one in step.part.applies]
    policy = {"persistentVolumeReclaimPolicy": "Delete"}
    assert written == ([(VOLUME, {"name": "pv-1"}, policy)] if switched else [])
    assert [ref.kind for ref in step.part.deletes] == ([CLAIM] if children and GOING not in children else [])


def test_a_volume_that_no_claim_took_up_is_given_to_none() -> None:
    free = replace(DRIVEN, phase="Available", claim_uid="", reclaim="Delete")
    (switch,) = _delete(REPORTED, volumes=(free,)).part.applies
    assert switch["spec"] == {"persistentVolumeReclaimPolicy": "Delete", "claimRef": {"uid": "pool-uid"}}
    assert _delete(REPORTED, volumes=(replace(free, phase="Released"),)).part.applies == ()
    assert _delete(REPORTED, volumes=(replace(free, deleting=True),)).part.applies == ()


@table(
    "children, volume, seen, words",
    {
        "a volume with its instance": (
            [],
            replace(RELEASED, reclaim="Delete"),
            {},
            f"PersistentVolume pv-1 with instance {INSTANCE}",
        ),
        "a volume that the driver cannot delete, with its message": (
            [],
            replace(DRIVEN, phase="Failed", reclaim="Delete", message="it has snapshots"),
            {},
            "which the driver could not delete: it has snapshots",
        ),
        "a claim with the Pods that keep it": (
            [GOING],
            replace(DRIVEN, reclaim="Delete"),
            {"holders": ("a", "b")},
            f"{BOUND['metadata']['name']}, which Pods a, b use",
        ),
    },
)
def test_what_is_waited_for(children: list[Any], volume: Volume, seen: dict[str, Any], words: str) -> None:
    step = _delete(CSI, *children, volumes=(volume,), **seen)
    (waits,) = step.waits
    assert words in waits
    assert step.part.deletes == ()


@pytest.mark.parametrize("policy", ["Delete", "Retain"])
def test_a_claim_whose_instance_is_being_made_is_waited_for(policy: str) -> None:
    waiting = claim(pool(), "Pending", metadata={"creationTimestamp": NOW})
    message = "rpc error: code = DeadlineExceeded desc = not ready, current state: CREATING"
    event = Event(CLAIM, "claim", "ProvisioningFailed", message, last=NOW)
    world = replace(observed(waiting), claim_events=(event,))
    planned = plan(deleted(deletionPolicy=policy), world, NOW)
    assert (planned.finalizer, planned.deletes) == (True, ())
    assert planned.status is not None
    assert "for which an instance is being made" in planned.status.conditions[0].message


def test_the_volume_of_an_instance_whose_claim_others_deleted_is_waited_for() -> None:
    status = {"tiers": [{"name": "lustre", "phase": "Provisioning", "instance": INSTANCE}]}
    of = deleted(status=status, deletionPolicy="Delete")
    step = delete_tier(context(of, facts=replace(facts(), lustre=instance(name=INSTANCE))))
    assert step.waits == (f"the volume that the driver makes of instance {INSTANCE}",)


# A shared tier that has left the spec of a pool that lives on.

NO_TIER: dict[str, Any] = {"tiers": {"lustre": None}}
DELETE: dict[str, Any] = {"deletionPolicy": "Delete"}


def _left(changes: dict[str, Any], **more: Any) -> Simulation:
    """A tier that was in use, and that no engine mounts any more."""
    of = pool(**{**changes, **more})
    simulation = in_use(of, instance().instance if changes == existing() else None)
    simulation.edit(**NO_TIER)
    simulation.at()
    return simulation


@table("changes", {"an existing instance": existing(), "kvtier's own": api()})
def test_everything_stays_under_retain(changes: dict[str, Any]) -> None:
    simulation = _left(changes)
    simulation.at()
    assert (simulation.storage(), simulation.calls) == ([VOLUME, CLAIM], [])


def test_an_instance_of_kvtier_s_that_stays_is_remembered() -> None:
    simulation = _left(api())
    assert (simulation.tier().phase, simulation.tier().instance) == ("Retained", made(pool(**api())).name)
    assert not [one for one in simulation.pool.status.conditions if one.type == "StorageReady"]


def test_nothing_goes_while_an_engine_mounts_it() -> None:
    simulation = in_use(pool(**api(), **DELETE))
    simulation.edit(**NO_TIER)
    assert [ref.kind for ref in simulation.at().deletes if ref.kind in (CLAIM, VOLUME)] == []
    assert (simulation.storage(), simulation.calls) == ([VOLUME, CLAIM], [])
    assert simulation.tier().phase == "Deleting"


def test_claim_instance_and_volume_go_one_after_the_other() -> None:
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


def test_of_an_existing_instance_only_the_objects_go() -> None:
    simulation = _left(existing(), **DELETE)
    simulation.until(lambda: not simulation.storage())
    simulation.at()
    assert [tier.name for tier in simulation.pool.status.tiers] == ["cpu"]
    assert simulation.calls == []


def test_an_instance_that_is_just_being_made_goes_too() -> None:
    simulation = Simulation(pool(**api(), **DELETE))
    simulation.at()
    simulation.edit(**NO_TIER)
    simulation.at()
    assert (simulation.tier().phase, simulation.verbs()) == ("Deleting", ["create"]), "not before an answer"
    simulation.answer()
    simulation.instance = made(pool(**api()), state="CREATING", address="")
    simulation.at()
    assert simulation.verbs() == ["create", "delete"]


def test_an_instance_that_is_another_s_by_its_labels_is_left_alone() -> None:
    simulation = Simulation(pool(**api(), **DELETE))
    simulation.at()
    simulation.answer(done=True)
    simulation.instance = made(simulation.pool, labels={"kvtier-pool": "other"})
    simulation.edit(**NO_TIER)
    simulation.at()
    assert [tier.name for tier in simulation.pool.status.tiers] == ["cpu"]
    assert simulation.verbs() == ["create"]


def test_a_tier_that_comes_back_and_goes_again_goes_again() -> None:
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


def test_nothing_goes_blindly() -> None:
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


def test_the_claim_of_the_driver_goes_under_delete_with_its_volume() -> None:
    planned = plan(pool(**NO_TIER, **DELETE), observed(BOUND), NOW)
    (switch,) = [one for one in planned.applies if one["kind"] == VOLUME]
    assert switch["metadata"] == {"name": "pv-1"}
    assert [ref.kind for ref in planned.deletes] == [CLAIM]


def test_a_pool_whose_claim_was_deleted_first_still_knows_its_instance() -> None:
    """The namespace controller deletes claims and pools in any order."""
    alive = pool(status=REPORTED.status.model_dump(by_alias=True, exclude_none=True), **DELETE)
    for volumes, known in ({DRIVEN.name: DRIVEN}, INSTANCE), ({}, None):
        world = observed(facts=replace(facts(), volumes=Volumes(volumes)))
        status = plan(alive, world, NOW).status
        assert status is not None
        assert [tier.instance for tier in status.tiers if tier.name == "lustre"] == [known]
