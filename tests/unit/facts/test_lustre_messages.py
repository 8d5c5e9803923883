"""Google's messages about Managed Lustre, as facts."""

from typing import Any

import pytest
from google.cloud import lustre_v1
from google.longrunning.operations_pb2 import Operation as Message
from google.protobuf.json_format import ParseDict

from kvtier.facts import lustre_api as messages
from kvtier.facts.model import Counters, Instance, Operation, Window

NAME = "projects/p/locations/us-central1-a/instances/kv"
OPERATION = "projects/p/locations/us-central1-a/operations/o"
NETWORK = "projects/p/global/networks/n"
TYPES = "type.googleapis.com/google.cloud.lustre.v1."


def instance(**fields: Any) -> Instance:
    document = {"name": NAME} | fields
    raw = ParseDict(document, lustre_v1.Instance.pb(lustre_v1.Instance()), ignore_unknown_fields=True)
    return messages.instance_from(lustre_v1.Instance.wrap(raw), NAME)


def operation(**fields: Any) -> Operation:
    return messages.operation_from(ParseDict({"name": OPERATION} | fields, Message()), OPERATION)


def copying(kind: str = "ImportDataMetadata", **fields: Any) -> Operation:
    return operation(metadata={"@type": TYPES + kind, "operationMetadata": fields})


def failures(code: str, count: int, *entries: Any) -> Any:
    logged = [{"uri": uri, "errorDetails": list(details)} for uri, *details in entries]
    return {"errorCode": code, "errorCount": count, "errorLogEntries": logged}


def test_every_field_of_an_instance_is_read() -> None:
    assert instance(
        filesystem="kvcache",
        capacityGib="18000",
        network=NETWORK,
        state="ACTIVE",
        mountPoint="10.1.2.3@tcp:/kvcache",
        createTime="2026-11-29T12:00:00.5Z",
        labels={"a": "b"},
        perUnitStorageThroughput="500",
        gkeSupportEnabled=True,
        stateReason="because",
        upcomingMaintenanceSchedule={"startTime": "2026-12-06T02:00:00Z", "endTime": "2026-12-06T03:00:00Z"},
    ) == Instance(
        name=NAME,
        state="ACTIVE",
        capacity=18000 << 30,
        throughput=500,
        filesystem="kvcache",
        network=NETWORK,
        address="10.1.2.3",
        reason="because",
        created="2026-11-29T12:00:00.500Z",
        labels={"a": "b"},
        legacy_port=True,
        window=Window("2026-12-06T02:00:00Z", "2026-12-06T03:00:00Z"),
    )


def test_missing_fields_are_empty() -> None:
    assert instance() == Instance(NAME, "STATE_UNSPECIFIED", 0, 0, "", "")


@pytest.mark.parametrize("state", lustre_v1.Instance.State)
def test_a_state_is_read_as_its_name(state: Any) -> None:
    assert instance(state=int(state)).state == instance(state=state.name).state == state.name


@pytest.mark.parametrize(("state", "found"), [(99, "99"), ("DREAMING", "STATE_UNSPECIFIED")])
def test_an_unknown_state_is_not_read_as_another_state(state: Any, found: str) -> None:
    assert instance(state=state).state == found


@pytest.mark.parametrize(("mode", "throughput"), [("DEFAULT_CACHE", 0), ("DISABLED", 250)])
def test_the_dynamic_tier_has_no_throughput(mode: str, throughput: int) -> None:
    found = instance(perUnitStorageThroughput="250", dynamicTierOptions={"mode": mode})
    assert found.throughput == throughput


def test_maintenance_without_a_start_is_not_scheduled() -> None:
    assert instance(upcomingMaintenanceSchedule={}).window is None


def test_times_are_converted_to_utc() -> None:
    assert instance(createTime="2026-11-29T12:00:00+02:00").created == "2026-11-29T10:00:00Z"


def test_an_operation_runs_until_it_is_done() -> None:
    assert operation() == operation(done=False) == Operation(OPERATION)
    assert operation(done=True) == Operation(OPERATION, done=True)


@pytest.mark.parametrize(
    ("number", "code"),
    [(1, "Cancelled"), (5, "NotFound"), (8, "ResourceExhausted"), (10, "Aborted"), (99, "Unknown")],
)
def test_a_failed_operation_has_a_code_and_a_message(number: int, code: str) -> None:
    failed = operation(done=True, error={"code": number, "message": "no\n  room"})
    assert failed == Operation(OPERATION, done=True, code=code, message="no room")


def test_an_error_without_a_code_is_ignored() -> None:
    assert operation(done=True, error={"code": 0}) == Operation(OPERATION, done=True)


def test_long_messages_are_cut() -> None:
    assert len(operation(done=True, error={"code": 13, "message": "word " * 20_000}).message) == 300


@pytest.mark.parametrize("kind", ["ImportDataMetadata", "ExportDataMetadata"])
def test_the_counters_of_a_copy_are_read(kind: str) -> None:
    counters = {
        "foundObjectsCount": "1",
        "objectsCopiedCount": "2",
        "objectsSkippedCount": "3",
        "objectsFailedCount": "4",
        "bytesFoundCount": "5",
        "bytesCopiedCount": "6",
        "bytesSkippedCount": "7",
        "bytesFailedCount": "8",
    }
    assert copying(kind, counters=counters).counters == Counters(1, 2, 3, 4, 5, 6)


def test_a_copy_that_has_not_started_has_counters_of_zero() -> None:
    assert operation(metadata={"@type": TYPES + "ImportDataMetadata"}).counters == Counters()


def test_other_operations_have_no_counters() -> None:
    assert operation(metadata={"@type": TYPES + "OperationMetadata", "verb": "create"}).counters is None


def test_the_first_three_errors_of_a_copy_are_read() -> None:
    summaries = [
        failures("NOT_FOUND", 2, ("gs://b/1", "gone", "for good"), ("gs://b/2",)),
        failures("PERMISSION_DENIED", 7),
        failures("NOT_FOUND", 1, ("gs://b/3", "gone")),
    ]
    assert copying(errorSummaries=summaries).problems == (
        "gs://b/1: gone; for good",
        "gs://b/2: NotFound",
        "7 objects: PermissionDenied",
    )
