"""Refused writes in the status."""

from kvtier.api.conditions import Condition, true
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import PoolStatus
from kvtier.plan.model import Failure
from kvtier.plan.status import with_failures
from unit.builders import NOW
from unit.tables import table

TYPES = ("Ready", "StorageReady", "NodePoolReady", "ModelsReady")


def _status(phase: str) -> PoolStatus:
    return PoolStatus(observed_generation=3, phase=phase, conditions=[true(t, Reason.ASSUMED) for t in TYPES])


def _by_type(status: PoolStatus) -> dict[str, Condition]:
    return {condition.type: condition for condition in status.conditions}


def _failure(kind: str, message: str = "exceeded quota") -> Failure:
    return Failure(kind, "x", "Forbidden", message)


@table(
    "kind, type_",
    {
        "a refused StorageClass concerns the storage": ("StorageClass", "StorageReady"),
        "a refused claim concerns the storage": ("PersistentVolumeClaim", "StorageReady"),
        "a refused volume concerns the storage": ("PersistentVolume", "StorageReady"),
        "a refused ComputeClass concerns the nodes": ("ComputeClass", "NodePoolReady"),
        "a refused Deployment concerns the models": ("Deployment", "ModelsReady"),
        "a refused Service concerns the models": ("Service", "ModelsReady"),
    },
)
def test_a_refusal_turns_its_concern_and_ready_false(kind: str, type_: str) -> None:
    found = _by_type(with_failures(_status("Starting"), [_failure(kind)], PoolStatus(), NOW))
    assert {name for name, condition in found.items() if condition.status == "False"} == {type_, "Ready"}
    assert found[type_].reason == found["Ready"].reason == "Forbidden"
    assert found[type_].message == f"{kind} x: exceeded quota"
    assert found["Ready"].message == f"{type_}: {kind} x: exceeded quota"
    assert found[type_].observed_generation == 3
    assert found[type_].last_transition_time == NOW


def test_the_first_refusal_of_a_concern_speaks_for_it() -> None:
    failures = [_failure("Deployment", "one"), _failure("Service", "two"), _failure("ComputeClass", "three")]
    found = _by_type(with_failures(_status("Starting"), failures, PoolStatus(), NOW))
    assert "one" in found["ModelsReady"].message
    assert "three" in found["NodePoolReady"].message
    assert "one" in found["Ready"].message


@table(
    "before, after",
    {
        "a pool that was ready is degraded": ("Ready", "Degraded"),
        "a degraded one stays so": ("Degraded", "Degraded"),
        "a pool that starts is blocked": ("Starting", "Blocked"),
        "one that provisions is blocked": ("Provisioning", "Blocked"),
    },
)
def test_phase(before: str, after: str) -> None:
    assert with_failures(_status(before), [_failure("Service")], PoolStatus(), NOW).phase == after


def test_without_refusals_the_status_is_what_it_was() -> None:
    status = _status("Ready")
    assert with_failures(status, [], PoolStatus(), NOW) is status


def test_a_refusal_that_goes_on_keeps_its_transition_time() -> None:
    first = with_failures(_status("Starting"), [_failure("Service")], PoolStatus(), "2026-11-29T10:00:00Z")
    again = with_failures(_status("Starting"), [_failure("Service")], first, NOW)
    assert _by_type(again)["ModelsReady"].last_transition_time == "2026-11-29T10:00:00Z"
