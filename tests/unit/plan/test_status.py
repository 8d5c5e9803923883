"""The status: Ready and the phase from all conditions, tiers, refused writes, and when to read facts again."""

from dataclasses import replace
from typing import Any

import pytest

from kvtier.api.conditions import Condition, false, find, true, unknown
from kvtier.api.kinds import CHILD_KINDS
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool, OperationStatus, PoolStatus
from kvtier.facts.model import Instance, LustreFacts
from kvtier.plan.model import Failure, Part
from kvtier.plan.status import Verdicts, phase, pool_status, ready, refresh_after, with_failures
from unit.builders import NOW, checks, context, facts, pool, with_status
from unit.tables import table
from unit.verdicts import assert_verdict

CREATING = false("StorageReady", Reason.CREATING, "kvtier creates the PVC")
PROVISIONING = false("StorageReady", Reason.PROVISIONING, "tens of minutes")
HELD = false("StorageReady", Reason.PREREQUISITES_NOT_MET, "nothing is created")
LOST = false("StorageReady", Reason.VOLUME_LOST, "restore it")
STARTING = false("ModelsReady", Reason.STARTING, "0/1")
WAITING = false("ModelsReady", Reason.WAITING, "engines do not start")
STUCK = false("ModelsReady", Reason.NOT_PROGRESSING, "exceeded quota")
NO_NODE = false("NodePoolReady", Reason.NO_MATCHING_NODE, "no node matches")
UNPLANNED = false("MaintenanceScheduled", Reason.NONE_SCHEDULED, "none is scheduled")


def _verdicts(statuses: dict[str, str], *changes: Condition, strict: bool = False) -> Verdicts:
    fine = [true(type_, Reason.ASSUMED) for type_ in ("StorageReady", "NodePoolReady", "ModelsReady")]
    return Verdicts(
        checks(**statuses), {one.type: one for one in (*fine, *changes)}, pool(strict=strict).spec
    )


FINE = _verdicts({})
UNFIT = _verdicts({"ZoneMatched": "False"}, HELD, WAITING)
UNSEEN = _verdicts({"NetworkMatched": "Unknown"})
STRICT = _verdicts({"NetworkMatched": "Unknown"}, strict=True)
TWO_FAULTS = _verdicts({"CapacityValid": "False", "GKEVersionSupported": "False"}, HELD)
ALL_MISSING = _verdicts({}, STARTING, NO_NODE, PROVISIONING)


@table(
    "verdicts, reason, words",
    {
        "nothing is missing": (FINE, "AllReady", "All tiers and models are ready."),
        "conditions that serving does not depend on are ignored": (_verdicts({}, UNPLANNED), "AllReady", ""),
        "a prerequisite comes before what it blocks": (UNFIT, "ZoneMatchedReason", "ZoneMatched: why"),
        "the first of several prerequisites is named": (TWO_FAULTS, "GKEVersionSupportedReason", ""),
        "a prerequisite that fails later is named although engines run": (
            _verdicts({"CapacityValid": "False"}),
            "CapacityValidReason",
            "",
        ),
        "an unknown prerequisite is ignored": (UNSEEN, "AllReady", ""),
        "except in a strict pool": (STRICT, "NetworkMatchedReason", ""),
        "storage comes before nodes and models": (
            ALL_MISSING,
            "Provisioning",
            "StorageReady: tens of minutes",
        ),
        "nodes come before models": (
            _verdicts({}, STARTING, NO_NODE),
            "NoMatchingNode",
            "NodePoolReady: no node matches",
        ),
    },
)
def test_ready(verdicts: Verdicts, reason: str, words: str) -> None:
    status = str(reason == "AllReady")
    assert_verdict(ready(verdicts, opportunistic=False), "Ready", status, reason, words)


WITHOUT = "Engines serve without the Lustre tier."


@table(
    "verdicts, verdict, words",
    {
        "without its Lustre tier": (
            _verdicts({}, PROVISIONING),
            ("True", "WithoutSharedTier"),
            WITHOUT,
        ),
        "also if a prerequisite of the tier fails": (
            _verdicts({"LustreDriverEnabled": "False"}, HELD),
            ("True", "WithoutSharedTier"),
            WITHOUT,
        ),
        "with its Lustre tier like any other pool": (FINE, ("True", "AllReady"), ""),
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
def test_only_an_opportunistic_pool_can_be_ready_without_a_usable_tier(
    opportunistic: bool, reason: str
) -> None:
    assert ready(FINE, opportunistic, tier_left=True).reason == reason


FAULT = _verdicts({"ZoneMatched": "False"})


@table(
    "verdicts, has_served, expected",
    {
        "nothing is missing": (FINE, False, "Ready"),
        "the PVC is being created": (_verdicts({}, CREATING, WAITING), False, "Provisioning"),
        "the instance is being created": (_verdicts({}, PROVISIONING, WAITING), False, "Provisioning"),
        "engines are starting": (_verdicts({}, STARTING), False, "Starting"),
        "engines are starting again": (_verdicts({}, STARTING), True, "Starting"),
        "a prerequisite fails": (UNFIT, False, "Blocked"),
        "a prerequisite of a pool that served fails": (FAULT, True, "Degraded"),
        "a prerequisite of a strict pool is unknown": (STRICT, False, "Blocked"),
        "a failure needs an action": (_verdicts({}, LOST), False, "Blocked"),
        "no node exists": (_verdicts({}, NO_NODE, WAITING), False, "Blocked"),
        "engines do not start": (_verdicts({}, STUCK), False, "Blocked"),
        "engines of a pool that served do not start": (_verdicts({}, STUCK), True, "Degraded"),
    },
)
def test_phase(verdicts: Verdicts, has_served: bool, expected: str) -> None:
    assert phase(verdicts, ready(verdicts, opportunistic=False), has_served) == expected


def test_a_pool_without_storage_does_not_wait_for_storage() -> None:
    storageless = Verdicts(checks(), {"ModelsReady": true("ModelsReady", Reason.ALL_READY)}, pool().spec)
    assert ready(storageless, opportunistic=True).reason == "AllReady"
    starting = Verdicts(checks(), {"ModelsReady": STARTING}, pool().spec)
    assert phase(starting, ready(starting, opportunistic=False), False) == "Starting"


# The rest of the status.


def _status(of: KVCachePool, **statuses: str) -> PoolStatus:
    """The status of a pool with an empty plan."""
    return pool_status(context(of), checks(**statuses), Part(), tier_left=False)


NEVER_READY = {"models": [{"name": "llama", "readyReplicas": 0}]}
ONCE_READY = {"models": [{"name": "llama", "readyReplicas": 1}]}
READY = {"conditions": [{"type": "Ready", "status": "True", "reason": "AllReady"}]}


@table(
    "before, expected",
    {
        "blocks a new pool": ({}, "Blocked"),
        "blocks a pool whose engines were never ready": (NEVER_READY, "Blocked"),
        "degrades a pool whose engines were ready": (ONCE_READY, "Degraded"),
        "degrades a pool that was ready": (READY, "Degraded"),
    },
)
def test_a_failed_prerequisite(before: dict[str, Any], expected: str) -> None:
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
def test_missing_eviction_is_reported_for(tiers: dict[str, Any], files: bool, bucket: bool) -> None:
    eviction = find(_status(pool(tiers=tiers)).conditions, "EvictionHealthy")
    assert eviction is not None
    assert_verdict(
        eviction, "EvictionHealthy", "Unknown", "NotManaged", "kvtier does not delete old cache data yet. "
    )
    assert ("Delete old cache files on Lustre yourself before it fills up." in eviction.message) is files
    assert (
        "Set a lifecycle rule on the bucket of objectStorage to delete old objects." in eviction.message
    ) is bucket


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
    assert (
        found[concern].message
        == f"kvtier could not create, update or delete {kind} x, and retries: exceeded quota."
    )
    assert found["Ready"].message == f"{concern}: {found[concern].message}"
    assert found[concern].observed_generation == 3
    assert found[concern].last_transition_time == NOW


def test_a_condition_reports_the_first_refused_write_of_its_concern() -> None:
    failures = [_failure("Deployment", "one"), _failure("Service", "two"), _failure("ComputeClass", "three")]
    found = _by_type(with_failures(_before("Starting"), failures, PoolStatus(), NOW))
    assert "one" in found["ModelsReady"].message
    assert "three" in found["NodePoolReady"].message
    assert "one" in found["Ready"].message


@table(
    "before, after",
    {
        "a pool that was ready is degraded": ("Ready", "Degraded"),
        "a degraded pool stays degraded": ("Degraded", "Degraded"),
        "a pool that starts is blocked": ("Starting", "Blocked"),
        "a pool that provisions is blocked": ("Provisioning", "Blocked"),
    },
)
def test_the_phase_after_a_refusal(before: str, after: str) -> None:
    assert with_failures(_before(before), [_failure("Service")], PoolStatus(), NOW).phase == after


def test_without_refused_writes_the_status_does_not_change() -> None:
    status = _before("Ready")
    assert with_failures(status, [], PoolStatus(), NOW) is status


def test_a_repeated_refusal_keeps_its_transition_time() -> None:
    first = with_failures(_before("Starting"), [_failure("Service")], PoolStatus(), "2026-11-29T10:00:00Z")
    again = with_failures(_before("Starting"), [_failure("Service")], first, NOW)
    assert _by_type(again)["ModelsReady"].last_transition_time == "2026-11-29T10:00:00Z"


# When facts without a watch are read again.

NAMED = {"cluster": {"project": "p1", "location": "us-central1", "name": "c1"}}
INSTANCE = Instance("n", "ACTIVE", 18000 << 30, 1000, "kv", "n")


@table(
    "changes, statuses, seconds",
    {
        "a pool without such facts waits for events": ({}, {}, None),
        "a missing Secret is read again soon": ({}, {"CredentialsPresent": "False"}, 10.0),
        "a missing Secret comes before the GKE API": (NAMED, {"CredentialsPresent": "False"}, 10.0),
        "a missing ConfigMap is read again soon": ({}, {"ModelConfigValid": "False"}, 10.0),
        "a ConfigMap that kvtier cannot read is not read again": ({}, {"ModelConfigValid": "Unknown"}, None),
        "the GKE API is read every few minutes": (NAMED, {}, 300.0),
        "sooner while a condition is Unknown": (NAMED, {"NetworkMatched": "Unknown"}, 60.0),
        "sooner while a condition is False": (NAMED, {"NetworkMatched": "False"}, 60.0),
        "a Secret that kvtier cannot read is not read again": ({}, {"CredentialsPresent": "Unknown"}, None),
    },
)
def test_refresh(changes: dict[str, Any], statuses: dict[str, str], seconds: float | None) -> None:
    assert refresh_after(context(pool(**changes)), checks(**statuses)) == seconds


def test_the_gke_api_is_read_every_few_minutes_while_the_user_vouches_for_the_network() -> None:
    accepted = {"acknowledgedConditions": [{"type": "NetworkMatched", "reason": "OtherNetwork"}]}
    found = {**checks(), "NetworkMatched": unknown("NetworkMatched", Reason.OTHER_NETWORK, "why")}
    assert refresh_after(context(pool(**NAMED, **accepted)), found) == 300.0
    assert refresh_after(context(pool(**NAMED)), found) == 60.0


@table(
    "lustre, running, seconds",
    {
        "an ACTIVE instance is read every few minutes": (LustreFacts(INSTANCE), False, 300.0),
        "an instance in another state is read sooner": (
            LustreFacts(replace(INSTANCE, state="UPGRADING")),
            False,
            60.0,
        ),
        "an instance that does not exist yet is read soon": (LustreFacts(), False, 60.0),
        "a running operation is read often": (LustreFacts(INSTANCE), True, 15.0),
        "an API that does not respond is read again": (LustreFacts(None, "no answer"), False, 300.0),
        "an unknown instance is not read": (None, True, None),
    },
)
def test_the_lustre_api_is_read(lustre: LustreFacts | None, running: bool, seconds: float | None) -> None:
    operation = OperationStatus(kind="Export", subject="x", state="Running", request_id="r", start_time=NOW)
    of = with_status(pool(), PoolStatus(operations=[operation] if running else []))
    assert refresh_after(context(of, facts=replace(facts(), lustre=lustre)), checks()) == seconds


def test_a_pool_without_lustre_reads_no_instance() -> None:
    seen = replace(facts(), lustre=LustreFacts(INSTANCE))
    assert refresh_after(context(pool(tiers={"lustre": None}), facts=seen), checks()) is None
