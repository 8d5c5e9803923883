"""PersistentVolume and PVC of an instance, how they are bound again, and the reported state of the tier."""

from dataclasses import replace
from typing import Any

import pytest

from kvtier.facts.model import Facts, LustreFacts
from kvtier.plan.lustre.volume import plan_static
from kvtier.plan.model import Part
from unit.builders import NOW, checks, context, facts, live, node, pool
from unit.instances import UNSEEN, api, by_hand, existing, instance
from unit.simulation import CLAIM, VOLUME, Simulation, in_use, made
from unit.tables import table

STORAGE_READY = "StorageReady"
BY_HAND, NAMED, API = pool(**by_hand()), pool(**existing()), pool(**api())
SHARED = instance().instance
GOING = {"metadata": {"deletionTimestamp": NOW}}
EITHER = {"an existing instance": NAMED, "kvtier's own": API}


def _used(of: Any) -> Simulation:
    return in_use(of, None if of is API else SHARED)


def _writes(simulation: Simulation) -> list[str]:
    """Kinds of the storage objects that the next reconciliation writes."""
    return [one["kind"] for one in simulation.at().applies if one["kind"] in (CLAIM, VOLUME)]


@pytest.fixture
def used() -> Simulation:
    return _used(NAMED)


def test_persistent_volume_and_pvc_are_created_from_the_instance_in_the_lustre_api() -> None:
    simulation = Simulation(NAMED, SHARED)
    simulation.at()
    volume, claim = simulation.only(VOLUME), simulation.only(CLAIM)
    spec = volume["spec"]
    assert spec["csi"]["volumeHandle"] == "my-project/us-central1-a/shared"
    assert spec["csi"]["volumeAttributes"] == {"ip": "10.0.0.4", "filesystem": "given"}
    assert spec["claimRef"] == {"namespace": "team-a", "name": claim["metadata"]["name"]}
    assert spec["capacity"] == claim["spec"]["resources"]["requests"] == {"storage": "18000Gi"}
    assert claim["spec"]["storageClassName"] == "", "Kubernetes would set the default class"
    assert "storageClassName" not in spec, "the API server does not keep an empty one"
    assert claim["spec"]["volumeName"] == volume["metadata"]["name"]
    assert "ownerReferences" not in {**volume["metadata"], **claim["metadata"]}
    assert (simulation.tier().phase, simulation.tier().capacity) == ("Provisioning", "18000Gi")


@table("of", EITHER)
def test_a_tier_in_use_is_not_written_again(of: Any) -> None:
    simulation = _used(of)
    before = dict(simulation.objects)
    simulation.at()
    assert (simulation.objects, simulation.calls) == (before, [])
    assert simulation.verdict(STORAGE_READY) == ("True", "Bound")
    tier = simulation.tier()
    assert (tier.phase, tier.capacity) == ("Bound", "18000Gi")
    assert simulation.instance is not None
    assert tier.instance == simulation.instance.name


def test_the_persistent_volume_follows_an_instance_that_others_resized(used: Simulation) -> None:
    used.instance = instance(27_000).instance
    used.at()
    assert used.only(VOLUME)["spec"]["capacity"] == {"storage": "27000Gi"}
    request = used.only(CLAIM)["spec"]["resources"]["requests"]
    assert request == {"storage": "18000Gi"}, "Kubernetes does not resize such a PVC"
    assert used.tier().capacity == "27000Gi"


def test_the_size_of_a_larger_instance_is_reported_once_it_is_bound() -> None:
    """If it were reported earlier, the capacity in the spec would be reported as too small."""

    def planned(*children: Any) -> Part:
        found = replace(facts(), lustre=LustreFacts(made(API, gib=27_000)))
        look = context(API, *children, facts=found)
        assert look.lustre.spec is not None
        return plan_static(look, look.lustre.spec, checks())

    wanted = planned().applies
    for phase, capacity in ("Pending", None), ("Bound", "27000Gi"):
        (tier,) = planned(*(live(one, status={"phase": phase}) for one in wanted)).tiers
        assert tier.capacity == capacity


NO_DRIVER, UNKNOWN_NETWORK = facts(lustre_driver=False), facts(node(BY_HAND))


@table(
    "world, made, reason, phase",
    {
        "nothing is created while one is not met": (NO_DRIVER, [], "PrerequisitesNotMet", "Waiting"),
        "an unknown one blocks nothing": (
            UNKNOWN_NETWORK,
            [VOLUME, CLAIM],
            "Creating",
            "Provisioning",
        ),
    },
)
def test_prerequisites(world: Facts, made: list[str], reason: str, phase: str) -> None:
    simulation = Simulation(BY_HAND, SHARED)
    simulation.facts = world
    simulation.at()
    assert simulation.verdict("NetworkMatched")[0] == "Unknown"
    assert simulation.storage() == made
    assert (simulation.condition(STORAGE_READY).reason, simulation.tier().phase) == (reason, phase)


def test_a_prerequisite_that_fails_later_does_not_affect_a_tier_in_use() -> None:
    simulation = _used(BY_HAND)
    simulation.facts = NO_DRIVER
    assert _writes(simulation) == []
    assert simulation.verdict(STORAGE_READY) == ("True", "Bound")


def test_nothing_is_created_for_an_unusable_instance() -> None:
    simulation = Simulation(NAMED, instance(state="SUSPENDED").instance)
    simulation.at()
    assert simulation.storage() == []
    assert simulation.verdict(STORAGE_READY) == ("False", "InstanceSuspended")
    assert simulation.tier().phase == "Failed"


@table(
    "state, reported, phase",
    {
        "that is stopped is reported": ("STOPPED", ("False", "InstanceStopped"), "Failed"),
        "in an unknown state does not count as failed": ("9", ("Unknown", "InstanceStateUnknown"), "Bound"),
    },
)
def test_an_instance_in_use(used: Simulation, state: str, reported: tuple[str, str], phase: str) -> None:
    used.instance = instance(state=state).instance
    used.at()
    assert used.storage() == [VOLUME, CLAIM], "its PersistentVolume is kept"
    assert (used.verdict(STORAGE_READY), used.tier().phase) == (reported, phase)


@table("of", EITHER)
def test_an_instance_in_use_that_cannot_be_read_changes_nothing(of: Any) -> None:
    simulation = _used(of)
    simulation.error = UNSEEN.error
    assert _writes(simulation) == []
    assert simulation.calls == []
    assert simulation.verdict(STORAGE_READY) == ("True", "Bound")
    assert (
        "is unknown. No valid credentials to read the instance" in simulation.condition(STORAGE_READY).message
    )
    tier = simulation.tier()
    assert (tier.phase, tier.capacity) == ("Bound", "18000Gi")
    assert tier.instance


@table("of", {**EITHER, "an instance described by hand": BY_HAND})
def test_nothing_is_created_before_the_lustre_api_responds(of: Any) -> None:
    simulation = Simulation(of)
    simulation.error, simulation.pending = "The Lustre API has not returned an instance yet.", True
    simulation.at()
    assert (simulation.storage(), simulation.calls) == ([], [])
    assert (simulation.verdict(STORAGE_READY), simulation.tier().phase) == (("False", "Waiting"), "Waiting")


@table("of", EITHER)
def test_the_status_is_kept_after_a_start_until_the_lustre_api_responds(of: Any) -> None:
    simulation = _used(of)
    before = simulation.condition(STORAGE_READY), simulation.tier()
    simulation.error, simulation.pending = "The Lustre API has not returned an instance yet.", True
    simulation.at()
    assert (simulation.condition(STORAGE_READY), simulation.tier()) == before


@table(
    "kind, spec, words",
    {
        "a PersistentVolume with another address": (
            VOLUME,
            {"csi": {"volumeAttributes": {"ip": "10.1.1.1"}}},
            "in ip,",
        ),
        "a PersistentVolume with another instance": (
            VOLUME,
            {"csi": {"volumeHandle": "a/b/c"}},
            "in volumeHandle,",
        ),
        "a PersistentVolume of another driver": (
            VOLUME,
            {"csi": None},
            "volumeHandle, driver, ip, filesystem",
        ),
        "a PersistentVolume in another zone": (VOLUME, {"nodeAffinity": None}, "in nodeAffinity,"),
        "a PVC of another PersistentVolume": (
            CLAIM,
            {"volumeName": "pvc-1", "storageClassName": "old"},
            "uses PersistentVolume pvc-1,",
        ),
    },
)
def test_objects_that_differ_in_immutable_fields_are_not_written(
    used: Simulation, kind: str, spec: dict[str, Any], words: str
) -> None:
    used.change(kind, spec=spec)
    assert _writes(used) == []
    reason = {VOLUME: "VolumeMismatch", CLAIM: "ClaimMismatch"}[kind]
    assert (used.verdict(STORAGE_READY), used.tier().phase) == (("False", reason), "Failed")
    assert words in used.condition(STORAGE_READY).message


def test_a_pvc_that_is_being_deleted_is_not_written(used: Simulation) -> None:
    used.change(CLAIM, **GOING)
    assert _writes(used) == [VOLUME]
    assert (used.verdict(STORAGE_READY), used.tier().phase) == (("False", "ClaimDeleted"), "Failed")


# A PersistentVolume without its PVC, or a PVC without its PersistentVolume, is bound again.


def _volume(simulation: Simulation) -> dict[str, Any]:
    """The PersistentVolume as the next reconciliation writes it."""
    (written,) = [one for one in simulation.at().applies if one["kind"] == VOLUME]
    return written


@pytest.fixture
def released(used: Simulation) -> Simulation:
    """The PVC was deleted."""
    used.drop(CLAIM)
    used.change(VOLUME, status={"phase": "Released"})
    return used


def test_a_released_persistent_volume_loses_the_uid_of_the_deleted_pvc(released: Simulation) -> None:
    annotations = released.only(VOLUME)["metadata"]["annotations"]
    assert "uid" not in _volume(released)["spec"]["claimRef"], "not before the new PVC exists"
    metadata = _volume(released)["metadata"]
    assert released.only(VOLUME)["spec"]["claimRef"]["uid"] == ""
    assert (metadata["uid"], metadata["resourceVersion"]) == ("PersistentVolume-uid", "10")
    assert metadata["annotations"] == annotations, "the digest of the applied manifest stays the same"
    for phase in ("Released", "Available"):
        released.change(VOLUME, status={"phase": phase})
        assert "uid" not in _volume(released)["spec"]["claimRef"], "it is written once"


def test_a_bound_persistent_volume_keeps_its_claim_ref(used: Simulation) -> None:
    used.change(CLAIM, metadata={"uid": "another"})
    volume = _volume(used)
    assert "uid" not in volume["spec"]["claimRef"]
    assert "resourceVersion" not in volume["metadata"]


def test_a_pvc_whose_persistent_volume_was_deleted_is_bound_again(used: Simulation) -> None:
    used.drop(VOLUME)
    used.change(CLAIM, status={"phase": "Lost"})
    assert _volume(used)["spec"]["claimRef"]["uid"] == "PersistentVolumeClaim-uid"
    assert used.verdict(STORAGE_READY) == ("False", "VolumeLost")
    assert "was deleted. kvtier recreates the PersistentVolume." in used.condition(STORAGE_READY).message


def test_a_pvc_whose_persistent_volume_lost_its_uid_is_bound_again(used: Simulation) -> None:
    used.change(VOLUME, spec={"claimRef": {"uid": None}}, status={"phase": "Available"})
    used.change(CLAIM, status={"phase": "Lost"})
    volume = _volume(used)
    assert volume["metadata"]["resourceVersion"] == "10"
    assert volume["spec"]["claimRef"]["uid"] == "PersistentVolumeClaim-uid"
    assert "uid" not in _volume(used)["spec"]["claimRef"], "it is written once"
