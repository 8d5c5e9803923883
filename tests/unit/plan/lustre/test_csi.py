"""StorageClass and PVC of the shared tier: what kvtier writes, when it writes nothing, and what it reports."""

from typing import Any

import pytest

from kvtier.api.conditions import find
from kvtier.api.names import filesystem
from kvtier.api.v1alpha1 import KVCachePool, TierStatus
from kvtier.facts.model import Event
from kvtier.plan.model import Part
from kvtier.plan.plan import plan
from unit.builders import NOW, claim, context, live, manifest, observed, pool, requesting
from unit.plan.lustre.claims import (
    BOTH,
    CLASS,
    CLASS_NAME,
    GOING,
    NAME,
    POOL,
    STOCKOUT,
    instance,
    kinds,
    look,
    of_size,
    pending,
    planned,
    refused,
    request,
    wanted_claim,
)
from unit.simulation import Simulation
from unit.tables import table
from unit.verdicts import assert_verdict


def _tier(part: Part) -> TierStatus:
    (tier,) = part.tiers
    return tier


def _reason(part: Part) -> str:
    (condition,) = part.conditions
    return condition.reason


# The class


def test_the_class_has_the_parameters_of_the_lustre_driver() -> None:
    parameters = CLASS["parameters"]
    assert CLASS["provisioner"] == "lustre.csi.storage.gke.io"
    assert parameters["perUnitStorageThroughput"] == "1000"
    assert parameters["network"] == "projects/my-project/global/networks/default"
    assert parameters["filesystem"] == filesystem("team-a", "chat")
    assert {type(value) for value in parameters.values()} == {str}
    assert CLASS["allowedTopologies"][0]["matchLabelExpressions"] == [
        {"key": "topology.gke.io/zone", "values": ["us-central1-a"]}
    ]
    assert (CLASS["reclaimPolicy"], CLASS["allowVolumeExpansion"]) == ("Retain", True)


def test_a_file_system_name_from_the_spec_is_used() -> None:
    of = pool(tiers={"lustre": {"filesystem": "Scratch1"}})
    assert manifest(of, "StorageClass")["parameters"]["filesystem"] == "Scratch1"


@table(
    "lustre, same",
    {
        "another throughput is another class": ({"throughputPerTiB": 500}, False),
        "another network is another class": ({"network": "projects/my-project/global/networks/other"}, False),
        "another file system is another class": ({"filesystem": "other"}, False),
        "another zone is another class": ({"zone": "us-central1-b"}, False),
        "another capacity is the same class": ({"capacity": "27000Gi"}, True),
    },
)
def test_the_name_of_the_class_depends_on_its_parameters(lustre: dict[str, Any], same: bool) -> None:
    other = manifest(pool(tiers={"lustre": lustre}), "StorageClass")
    assert (other["metadata"]["name"] == CLASS_NAME) is same
    assert (other == manifest(POOL, "StorageClass")) is same


@pytest.mark.parametrize(
    "changes",
    [
        {"mode": "Opportunistic"},
        {"deletionPolicy": "Delete"},
        {"nodePool": {"zones": ["us-central1-a", "us-central1-b"]}},
        {"nodePool": {"provisioner": "Existing"}},
        {},
    ],
)
def test_no_pvc_waits_for_a_pod(changes: dict[str, Any]) -> None:
    assert manifest(pool(**changes), "StorageClass")["volumeBindingMode"] == "Immediate"


IMMUTABLE: dict[str, dict[str, Any]] = {
    "provisioner": {"provisioner": "other.example"},
    "parameters": {"parameters": {"perUnitStorageThroughput": "250"}},
    "reclaimPolicy": {"reclaimPolicy": "Delete"},
    "volumeBindingMode": {"volumeBindingMode": "WaitForFirstConsumer"},
}


@pytest.mark.parametrize("field", IMMUTABLE)
def test_a_class_that_differs_in_an_immutable_field_stops_every_write(field: str) -> None:
    part = planned(look(POOL, claim(POOL), class_=live(CLASS, **IMMUTABLE[field])))
    assert part.applies == ()
    assert _reason(part) == "StorageClassImmutable"
    why = f"differs from the spec in immutable fields: {field}. Delete it, and kvtier recreates it"
    assert why in part.conditions[0].message
    assert _tier(part).phase == "Failed"


def test_a_class_that_differs_in_a_mutable_field_is_written() -> None:
    assert kinds(planned(look(POOL, claim(POOL), class_=live(CLASS, allowVolumeExpansion=None)))) == BOTH


# The PVC


def test_the_class_is_written_before_its_pvc() -> None:
    part = planned(context(POOL))
    assert kinds(part) == BOTH
    assert wanted_claim(part)["storageClassName"] == part.applies[0]["metadata"]["name"]


def test_a_pool_without_lustre_has_no_storage_and_no_condition_about_it() -> None:
    found = plan(pool(tiers={"lustre": None}), observed(CLASS, claim(POOL)), NOW)
    assert not {"StorageClass", "PersistentVolumeClaim"} & {one["kind"] for one in found.applies}
    assert found.status is not None
    assert find(found.status.conditions, "StorageReady") is None
    assert [tier.name for tier in found.status.tiers] == ["cpu"]


def test_the_pvc_is_shared_by_all_pods_and_survives_its_pool() -> None:
    made = manifest(POOL, "PersistentVolumeClaim")
    assert made["spec"]["accessModes"] == ["ReadWriteMany"]
    assert "ownerReferences" not in made["metadata"]


GROWN = claim(POOL, spec=requesting("27000Gi"))
ANOTHER: dict[str, Any] = {"spec": {"storageClassName": "another-class"}}


@table(
    "want, found, verdict, words, tier",
    {
        "a missing PVC is created": (
            "18000Gi",
            None,
            "False Creating",
            f"PVC {NAME} is being created.",
            "Waiting, None of 18000Gi",
        ),
        "a PVC that waits for its instance": (
            "18000Gi",
            claim(POOL, "Pending"),
            "False Provisioning",
            "waits for its Lustre instance of 18000Gi. This usually takes 10 to 30 minutes",
            "Provisioning, None of 18000Gi",
        ),
        "a PVC without a phase waits too": (
            "18000Gi",
            claim(POOL, "Pending", status=None),
            "False Provisioning",
            "kubectl -n team-a describe pvc",
            "Provisioning, None of 18000Gi",
        ),
        "another capacity waits until the PVC is bound, because Kubernetes refuses it before": (
            "27000Gi",
            claim(POOL, "Pending"),
            "False Provisioning",
            "18000Gi",
            "Provisioning, None of 18000Gi",
        ),
        "a PVC whose PersistentVolume does not exist": (
            "18000Gi",
            claim(POOL, "Lost"),
            "False VolumeLost",
            "does not exist. Recreate the PersistentVolume from a backup, or delete the PVC",
            "Failed, None of 18000Gi",
        ),
        "a PVC that somebody deletes": (
            "18000Gi",
            claim(POOL, **GOING),
            "False ClaimDeleted",
            "is being deleted. Kubernetes removes it when no Pod uses it.",
            "Bound, 18000Gi of None",
        ),
        "a PVC of another class is not changed": (
            "18000Gi",
            claim(POOL, **ANOTHER),
            "False ClaimMismatch",
            "has StorageClass another-class, but this pool needs",
            "Failed, 18000Gi of None",
        ),
        "a larger capacity is requested, and Pods continue": (
            "27000Gi",
            claim(POOL),
            "True Resizing",
            "is being resized from 18000Gi to 27000Gi, which may take 90 minutes. Pods keep using it.",
            "Resizing, 18000Gi of 27000Gi",
        ),
        "a resize that is cancelled stays requested, because Kubernetes refuses to cancel it": (
            "18000Gi",
            GROWN,
            "True GrowthAbandoned",
            "is bound to 18000Gi, as the spec requests, but the PVC still requests 27000Gi",
            "Bound, 18000Gi of 27000Gi",
        ),
    },
)
def test_the_pvc_is_reported_as(want: str, found: Any, verdict: str, words: str, tier: str) -> None:
    part = planned(look(of_size(want), found))
    (condition,), state = part.conditions, _tier(part)
    assert (condition.type, f"{condition.status} {condition.reason}") == ("StorageReady", verdict)
    assert words in condition.message
    assert (state.name, f"{state.phase}, {state.capacity} of {request(part)}") == ("lustre", tier)


@table(
    "want, found, reason, tier",
    {
        "as large as the spec": ("18000Gi", claim(POOL), "Bound", "18000Gi of 18000Gi"),
        "larger than the spec": ("9000Gi", claim(POOL), "Bound", "18000Gi of 18000Gi"),
        "larger than requested": (
            "18000Gi",
            claim(POOL, capacity="18432Gi"),
            "Bound",
            "18432Gi of 18000Gi",
        ),
        "already resizing": ("27000Gi", GROWN, "Resizing", "18000Gi of 27000Gi"),
        "resizing to more than the spec": (
            "27000Gi",
            claim(POOL, spec=requesting("36000Gi")),
            "Resizing",
            "18000Gi of 27000Gi",
        ),
    },
)
def test_a_bound_pvc_that_is(want: str, found: Any, reason: str, tier: str) -> None:
    part = planned(look(of_size(want), found))
    (condition,), state = part.conditions, _tier(part)
    assert (condition.status, condition.reason, state.phase) == ("True", reason, reason)
    has = "being resized from" if reason == "Resizing" else "bound to"
    assert f"PVC {NAME} is {has} {state.capacity}" in condition.message
    assert f"{state.capacity} of {request(part)}" == tier


@pytest.mark.parametrize("size", ["18000Gi", f"{18000 * 1024}Mi", str(18000 * 2**30)])
def test_the_same_size_in_another_unit_is_the_same_size(size: str) -> None:
    part = planned(look(POOL, claim(POOL, capacity=size, spec=requesting(size))))
    assert (_reason(part), request(part)) == ("Bound", "18000Gi")


@table(
    "of, found, bound",
    {
        "a bound PVC is bound": (POOL, claim(POOL), True),
        "a PVC that is resizing is bound": (POOL, GROWN, True),
        "a PVC that waits is not": (POOL, claim(POOL, "Pending"), False),
        "a lost PVC is not": (POOL, claim(POOL, "Lost"), False),
        "a PVC that is being deleted is not": (POOL, claim(POOL, **GOING), False),
        "a PVC of another class is not": (POOL, claim(POOL, **ANOTHER), False),
        "a PVC that left the spec is not": (pool(tiers={"lustre": None}), claim(POOL), False),
        "no PVC is not": (POOL, None, False),
    },
)
def test_engines_may_mount_only_a_bound_pvc(of: KVCachePool, found: Any, bound: bool) -> None:
    seen = look(of, found).lustre
    assert seen.bound_claim is (seen.claim if bound else None)


@table(
    "holders, words",
    {
        "no known Pod": ((), "is being deleted. Kubernetes removes it when no Pod uses it."),
        "one": (("a",), "no Pod uses it. Pods that use it: a."),
        "many": (tuple("abcdefg"), "no Pod uses it. Pods that use it: a, b, c, d, e and 2 more."),
    },
)
def test_a_deleted_pvc_is_kept_by(holders: tuple[str, ...], words: str) -> None:
    part = planned(look(POOL, claim(POOL, **GOING), holders=holders))
    assert _reason(part) == "ClaimDeleted"
    assert part.conditions[0].message.endswith(words)


def test_the_instance_is_in_the_status_if_it_is_known() -> None:
    known = pool(cluster={"project": "p", "location": "us-central1", "name": "c"})
    name = "projects/p/locations/us-central1-a/instances/pvc-PersistentVolumeClaim-uid"
    assert _tier(planned(look(known, pending()))).instance == name
    assert _tier(planned(look(POOL, pending()))).instance is None


@table(
    "state, verdict",
    {
        "an active instance": ("ACTIVE", "True Bound"),
        "an instance that is resizing": ("UPDATING", "True Bound"),
        "a stopped instance": ("STOPPED", "False InstanceStopped"),
        "an instance whose key was deleted": ("SUSPENDED", "False InstanceSuspended"),
        "an unknown state": ("DREAMING", "Unknown InstanceStateUnknown"),
    },
)
def test_a_bound_pvc_has_the_verdict_of_its_instance(state: str, verdict: str) -> None:
    (condition,) = planned(look(POOL, claim(POOL), lustre=instance(state))).conditions
    assert f"{condition.status} {condition.reason}" == verdict


@table(
    "events, phase",
    {
        "progress": ([refused("DeadlineExceeded")], "Provisioning"),
        "no Event": ([], "Provisioning"),
        "a final failure": ([STOCKOUT], "Failed"),
    },
)
def test_the_phase_after(events: list[Event], phase: str) -> None:
    assert _tier(planned(look(POOL, pending(), *events))).phase == phase


@table(
    "found, seconds",
    {
        "soon, before any Event was read": (pending(0.05), 5),
        "often, during the first minutes": (pending(1), 15),
        "seldom, after an hour": (pending(61), 60),
        "seldom, while it is being deleted": (claim(POOL, **GOING), 60),
        "seldom, if it has another class and may be recreated": (pending(**ANOTHER), 60),
        "never, if it has another class and a PersistentVolume": (claim(POOL, **ANOTHER), None),
        "never, if it is bound": (claim(POOL), None),
    },
)
def test_the_events_of_a_pvc_are_read_again(found: Any, seconds: float | None) -> None:
    assert planned(look(POOL, found)).again == seconds


def test_engines_of_an_opportunistic_pool_start_while_its_pvc_waits() -> None:
    world = Simulation(pool(mode="Opportunistic"))
    world.at()
    world.at()
    assert world.verdict("StorageReady") == ("False", "Provisioning")
    assert "Deployment" in world.kinds()


# Prerequisites


@table(
    "strict, statuses",
    {
        "a prerequisite that is not met": (False, {"LustreDriverEnabled": "False"}),
        "a prerequisite that is unknown in a strict pool": (True, {"NetworkMatched": "Unknown"}),
        "several prerequisites, which are all named": (
            False,
            {"ZoneMatched": "False", "CapacityValid": "False"},
        ),
    },
)
def test_no_storage_is_created_with(strict: bool, statuses: dict[str, str]) -> None:
    part = planned(context(pool(strict=strict)), **statuses)
    assert (part.applies, _tier(part).phase) == ((), "Waiting")
    clauses = ", ".join(f"{type_} is {is_}" for type_, is_ in statuses.items())
    text = f"kvtier creates no storage while {clauses}."
    assert_verdict(part.conditions[0], "StorageReady", "False", "PrerequisitesNotMet", text)


@table(
    "statuses",
    {
        "an unknown prerequisite": {"NetworkMatched": "Unknown"},
        "a wrong node image, which concerns only engines": {"NodeImageSupported": "False"},
        "a missing token, which concerns only engines": {"CredentialsPresent": "False"},
    },
)
def test_storage_is_created_despite(statuses: dict[str, str]) -> None:
    assert kinds(planned(context(POOL), **statuses)) == BOTH


def test_an_existing_pvc_is_reported_but_not_changed_while_a_prerequisite_is_not_met() -> None:
    part = planned(look(of_size("9000Gi"), claim(POOL)), CapacityValid="False")
    assert part.applies == ()
    assert (_reason(part), _tier(part).capacity) == ("Bound", "18000Gi")
