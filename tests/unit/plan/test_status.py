"""The status: Ready and the phase from all else, tiers, refusals, and when to look again."""

from dataclasses import replace
from typing import Any

import pytest

from kvtier.api.conditions import Condition, false, find, true
from kvtier.api.kinds import CHILD_KINDS
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool, OperationStatus, PoolStatus
from kvtier.facts.model import Instance, LustreFacts
from kvtier.plan.model import Failure, Part
from kvtier.plan.status import Verdicts, phase, pool_status, ready, refresh_after, with_failures
from unit.builders import NOW, checks, context, facts, pool, with_status
from unit.tables import table
from unit.verdicts import assert_verdict

CREATING = false("StorageReady", Reason.CREATING, "the claim is being made")
PROVISIONING = false("StorageReady", Reason.PROVISIONING, "tens of minutes")
HELD = false("StorageReady", Reason.PREREQUISITES_NOT_MET, "nothing is created")
LOST = false("StorageReady", Reason.VOLUME_LOST, "restore it")
STARTING = false("ModelsReady", Reason.STARTING, "0/1")
WAITING = false("ModelsReady", Reason.WAITING, "engines are not started")
STUCK = false("ModelsReady", Reason.NOT_PROGRESSING, "exceeded quota")
NO_NODE = false("NodePoolReady", Reason.NO_MATCHING_NODE, "no node has it")
UNPLANNED = false("MaintenanceScheduled", Reason.NONE_SCHEDULED, "none is announced")


def _verdicts(statuses: dict[str, str], *changes: Condition, strict: bool = False) -> Verdicts:
    fine = [true(type_, Reason.ASSUMED) for type_ in ("StorageReady", "NodePoolReady", "ModelsReady")]
    return Verdicts(checks(**statuses), {one.type: one for one in (*fine, *changes)}, strict)


FINE = _verdicts({})
UNFIT = _verdicts({"ZoneMatched": "False"}, HELD, WAITING)
UNSEEN = _verdicts({"NetworkMatched": "Unknown"})
STRICT = _verdicts({"NetworkMatched": "Unknown"}, strict=True)
TWO_FAULTS = _verdicts({"CapacityValid": "False", "GKEVersionSupported": "False"}, HELD)
ALL_MISSING = _verdicts({}, STARTING, NO_NODE, PROVISIONING)


@table(
    "verdicts, reason, words",
    {
        "nothing is missing": (FINE, "AllReady", "every tier and model is ready"),
        "what serving does not depend on is not missed": (_verdicts({}, UNPLANNED), "AllReady", ""),
        "a prerequisite comes before what it holds up": (UNFIT, "ZoneMatchedReason", "ZoneMatched: why"),
        "the first of several prerequisites is named": (TWO_FAULTS, "GKEVersionSupportedReason", ""),
        "a prerequisite that fails later is named though all runs": (
            _verdicts({"CapacityValid": "False"}),
            "CapacityValidReason",
            "",
        ),
        "what cannot be seen is not missed": (UNSEEN, "AllReady", ""),
        "a strict pool misses it": (STRICT, "NetworkMatchedReason", ""),
        "storage comes before nodes and models": (
            ALL_MISSING,
            "Provisioning",
            "StorageReady: tens of minutes",
        ),
        "nodes come before models": (
            _verdicts({}, STARTING, NO_NODE),
            "NoMatchingNode",
            "NodePoolReady: no node has it",
        ),
    },
)
def test_ready(verdicts: Verdicts, reason: str, words: str) -> None:
    status = str(reason == "AllReady")
    assert_verdict(ready(verdicts, opportunistic=False), "Ready", status, reason, words)


WITHOUT = "engines serve without the shared tier"


@table(
    "verdicts, verdict, words",
    {
        "without its shared tier, and says so": (
            _verdicts({}, PROVISIONING),
            ("True", "WithoutSharedTier"),
            WITHOUT,
        ),
        "even if a prerequisite of that tier fails": (
            _verdicts({"LustreDriverEnabled": "False"}, HELD),
            ("True", "WithoutSharedTier"),
            WITHOUT,
        ),
        "with its shared tier like any other": (FINE, ("True", "AllReady"), ""),
        "not without its models": (
            _verdicts({}, PROVISIONING, STARTING),
            ("False", "Starting"),
            "ModelsReady: 0/1",
        ),
    },
)
def test_an_opportunistic_pool_is_ready(verdicts: Verdicts, verdict: tuple[str, str], words: str) -> None:
    assert_verdict(ready(verdicts, opportunistic=True), "Ready", *verdict, words)


@pytest.mark.parametrize(("opportunistic", "reason"), [(True, "WithoutSharedTier"), (False, "AllReady")])
def test_only_an_opportunistic_pool_leaves_a_tier_that_is_well(opportunistic: bool, reason: str) -> None:
    assert ready(FINE, opportunistic, tier_left=True).reason == reason


FAULT = _verdicts({"ZoneMatched": "False"})


@table(
    "verdicts, has_served, expected",
    {
        "nothing is missing": (FINE, False, "Ready"),
        "the claim is being made": (_verdicts({}, CREATING, WAITING), False, "Provisioning"),
        "the instance is being made": (_verdicts({}, PROVISIONING, WAITING), False, "Provisioning"),
        "engines are starting": (_verdicts({}, STARTING), False, "Starting"),
        "engines are starting again": (_verdicts({}, STARTING), True, "Starting"),
        "a prerequisite does not hold": (UNFIT, False, "Blocked"),
        "a prerequisite of a pool that served does not hold": (FAULT, True, "Degraded"),
        "a prerequisite of a strict pool cannot be seen": (STRICT, False, "Blocked"),
        "something is wrong that waiting does not mend": (_verdicts({}, LOST), False, "Blocked"),
        "no node is there": (_verdicts({}, NO_NODE, WAITING), False, "Blocked"),
        "engines do not start": (_verdicts({}, STUCK), False, "Blocked"),
        "engines of a pool that served do not start": (_verdicts({}, STUCK), True, "Degraded"),
    },
)
def test_phase(verdicts: Verdicts, has_served: bool, expected: str) -> None:
    assert phase(verdicts, ready(verdicts, opportunistic=False), has_served) == expected


def test_a_pool_without_storage_needs_none() -> None:
    storageless = Verdicts(checks(), {"ModelsReady": true("ModelsReady", Reason.ALL_READY)})
    assert ready(storageless, opportunistic=True).reason == "AllReady"
    starting = Verdicts(checks(), {"ModelsReady": STARTING})
    assert phase(starting, ready(starting, opportunistic=False), False) == "Starting"


# The rest of the status.


def _status(of: KVCachePool, **statuses: str) -> PoolStatus:
    """That of a pool for which nothing was planned."""
    return pool_status(context(of), checks(**statuses), Part(), tier_left=False)


NEVER_READY = {"models": [{"name": "llama", "readyReplicas": 0}]}
ONCE_READY = {"models": [{"name": "llama", "readyReplicas": 1}]}
READY = {"conditions": [{"type": "Ready", "status": "True", "reason": "AllReady"}]}


@table(
    "before, expected",
    {
        "blocks a pool that is new": ({}, "Blocked"),
        "blocks one whose engines were never ready": (NEVER_READY, "Blocked"),
        "degrades one with engines that were ready": (ONCE_READY, "Degraded"),
        "degrades one that was ready": (READY, "Degraded"),
    },
)
def test_a_prerequisite_that_does_not_hold(before: dict[str, Any], expected: str) -> None:
    assert _status(pool(status=before), LustreDriverEnabled="False").phase == expected


BUCKET, SSD = {"objectStorage": {"bucket": "blocks"}}, {"localSSD": {"capacity": "1Ti"}}


@table(
    "tiers, files, bucket",
    {
        "Lustre": ({}, True, False),
        "Local SSD": ({"lustre": None, **SSD}, True, False),
        "a bucket": ({"lustre": None, **BUCKET}, False, True),
        "both": ({"lustre": None, **SSD, **BUCKET}, True, True),
    },
)
def test_that_nothing_is_evicted_is_said_of(tiers: dict[str, Any], files: bool, bucket: bool) -> None:
    eviction = find(_status(pool(tiers=tiers)).conditions, "EvictionHealthy")
    assert eviction is not None
    assert_verdict(eviction, "EvictionHealthy", "Unknown", "NotManaged", "kvtier does not evict yet: old ")
    assert ("files on Local SSD and Lustre" in eviction.message) is files
    assert ("by a lifecycle rule of the bucket" in eviction.message) is bucket


# Refused writes.

TYPES = ("Ready", "StorageReady", "TierWritable", "NodePoolReady", "ModelsReady")


def _before(of_phase: str) -> PoolStatus:
    conditions = [true(type_, Reason.ASSUMED) for type_ in TYPES]
    return PoolStatus(observed_generation=3, phase=of_phase, conditions=conditions)


def _by_type(status: PoolStatus) -> dict[str, Condition]:
    return {condition.type: condition for condition in status.conditions}


def _failure(kind: str, message: str = "exceeded quota") -> Failure:
    return Failure(kind, "x", "Forbidden", message)


CONCERNS = {
    "StorageClass": "StorageReady",
    "PersistentVolumeClaim": "StorageReady",
    "PersistentVolume": "StorageReady",
    "Job": "TierWritable",
    "ComputeClass": "NodePoolReady",
    "Deployment": "ModelsReady",
    "Service": "ModelsReady",
}


@pytest.mark.parametrize("kind", [child.kind for child in CHILD_KINDS])
def test_a_refused_write_turns_its_concern_and_ready_false(kind: str) -> None:
    concern = CONCERNS[kind]
    found = _by_type(with_failures(_before("Starting"), [_failure(kind)], PoolStatus(), NOW))
    assert {name for name, condition in found.items() if condition.status == "False"} == {concern, "Ready"}
    assert found[concern].reason == found["Ready"].reason == "Forbidden"
    assert found[concern].message == f"{kind} x: exceeded quota"
    assert found["Ready"].message == f"{concern}: {kind} x: exceeded quota"
    assert found[concern].observed_generation == 3
    assert found[concern].last_transition_time == NOW


def test_the_first_refusal_of_a_concern_speaks_for_it() -> None:
    failures = [_failure("Deployment", "one"), _failure("Service", "two"), _failure("ComputeClass", "three")]
    found = _by_type(with_failures(_before("Starting"), failures, PoolStatus(), NOW))
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
def test_the_phase_after_a_refusal(before: str, after: str) -> None:
    assert with_failures(_before(before), [_failure("Service")], PoolStatus(), NOW).phase == after


def test_without_refusals_the_status_is_what_it_was() -> None:
    status = _before("Ready")
    assert with_failures(status, [], PoolStatus(), NOW) is status


def test_a_refusal_that_goes_on_keeps_its_transition_time() -> None:
    first = with_failures(_before("Starting"), [_failure("Service")], PoolStatus(), "2026-11-29T10:00:00Z")
    again = with_failures(_before("Starting"), [_failure("Service")], first, NOW)
    assert _by_type(again)["ModelsReady"].last_transition_time == "2026-11-29T10:00:00Z"


# When facts that no watch reports are read again.

NAMED = {"cluster": {"project": "p1", "location": "us-central1", "name": "c1"}}
INSTANCE = Instance("n", "ACTIVE", 18000 << 30, 1000, "kv", "n")


@table(
    "changes, statuses, seconds",
    {
        "a pool that asks nobody waits for events": ({}, {}, None),
        "a missing Secret is looked for soon": ({}, {"CredentialsPresent": "False"}, 10.0),
        "a missing Secret comes before the GKE API": (NAMED, {"CredentialsPresent": "False"}, 10.0),
        "a missing ConfigMap is looked for soon": ({}, {"ModelConfigValid": "False"}, 10.0),
        "one that cannot be read is not waited for": ({}, {"ModelConfigValid": "Unknown"}, None),
        "the GKE API is asked every few minutes": (NAMED, {}, 300.0),
        "it is asked sooner while it has no answer": (NAMED, {"NetworkMatched": "Unknown"}, 60.0),
        "it is asked sooner while the answer is no": (NAMED, {"NetworkMatched": "False"}, 60.0),
        "a Secret that cannot be read is not waited for": ({}, {"CredentialsPresent": "Unknown"}, None),
    },
)
def test_refresh(changes: dict[str, Any], statuses: dict[str, str], seconds: float | None) -> None:
    assert refresh_after(context(pool(**changes)), checks(**statuses)) == seconds


@table(
    "lustre, running, seconds",
    {
        "an instance that is well is looked at every few minutes": (LustreFacts(INSTANCE), False, 300.0),
        "one that moves is looked at sooner": (
            LustreFacts(replace(INSTANCE, state="UPGRADING")),
            False,
            60.0,
        ),
        "one that is not there yet is looked for": (LustreFacts(), False, 60.0),
        "an operation is followed": (LustreFacts(INSTANCE), True, 15.0),
        "an API that does not answer is asked again": (LustreFacts(None, "no answer"), False, 300.0),
        "an instance that nobody knows is not looked for": (None, True, None),
    },
)
def test_the_lustre_api_is_asked_about(
    lustre: LustreFacts | None, running: bool, seconds: float | None
) -> None:
    operation = OperationStatus(kind="Export", subject="x", state="Running", request_id="r", start_time=NOW)
    of = with_status(pool(), PoolStatus(operations=[operation] if running else []))
    assert refresh_after(context(of, facts=replace(facts(), lustre=lustre)), checks()) == seconds


def test_a_pool_without_lustre_looks_for_no_instance() -> None:
    seen = replace(facts(), lustre=LustreFacts(INSTANCE))
    assert refresh_after(context(pool(tiers={"lustre": None}), facts=seen), checks()) is None
