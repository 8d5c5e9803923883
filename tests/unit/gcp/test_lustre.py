"""Requests and responses of the real client of the Lustre API."""

import json
from typing import Any

import pytest

from kvtier.gcp import clients, errors
from testbed.gke import NETWORK
from testbed.google_api import Reply
from testbed.lustre.client import Failure, LustreProject
from testbed.lustre.documents import instance
from testbed.lustre.operations import HELD
from unit.google import HOME, LOCATION, REQUEST

COPY = {"uri": "gs://bucket/prefix/", "path": "/kv"}


async def test_all_fields_of_an_instance_are_read(project: LustreProject) -> None:
    project.put("home", instance(18000, throughput=500, labels={"a": "b"}))
    found = await clients.get_instance(HOME)
    assert (found.name, found.state.name, found.capacity_gib) == (HOME, "ACTIVE", 18000)
    assert (found.network, dict(found.labels)) == (NETWORK, {"a": "b"})
    assert found.mount_point.endswith("@tcp:/kvcache")


async def test_an_instance_is_created_with_all_fields(project: LustreProject) -> None:
    body = instance(472000, dynamic=True, labels={"kvtier-pool": "x"}, kmsKey=None) | {
        "accessRulesOptions": {"defaultSquashMode": "NO_SQUASH"},
        "maintenancePolicy": {
            "weeklyMaintenanceWindows": [{"dayOfWeek": "SUNDAY", "startTime": {"hours": 3}}]
        },
    }
    operation = await clients.start_operation("create", HOME, REQUEST, body)
    (call,) = project.calls("create")
    assert (call.query["instanceId"], call.query["requestId"]) == ("home", REQUEST)
    assert call.body["capacityGib"] == "472000"
    assert call.body["maintenancePolicy"]["weeklyMaintenanceWindows"][0]["startTime"] == {"hours": 3}
    assert project.instances()[HOME]["labels"] == {"kvtier-pool": "x"}
    assert operation.name == project.operations()[0]["name"]


async def test_an_update_changes_only_the_fields_of_its_body(project: LustreProject) -> None:
    project.put("home", instance(9000, labels={"a": "b"}, description="old"))
    await clients.start_operation("update", HOME, REQUEST, {"capacityGib": "18000", "labels": {"c": "d"}})
    (call,) = project.calls("update")
    assert (call.query["updateMask"], call.query["requestId"]) == ("capacityGib,labels", REQUEST)
    changed = project.instances()[HOME]
    assert (changed["capacityGib"], changed["labels"], changed["description"]) == ("18000", {"c": "d"}, "old")


async def test_an_update_can_remove_a_field(project: LustreProject) -> None:
    project.put("home", instance(description="old"))
    await clients.start_operation("update", HOME, REQUEST, {"description": None})
    assert not project.instances()[HOME].get("description")


async def test_an_instance_is_deleted_without_force(project: LustreProject) -> None:
    project.put("home")
    await clients.start_operation("delete", HOME, REQUEST, {})
    (call,) = project.calls("delete")
    assert call.query["requestId"] == REQUEST
    assert "force" not in call.query
    assert not project.instances()


@pytest.mark.parametrize("verb", ["import", "export"])
async def test_a_copy_has_source_and_target_and_reports_progress(
    project: LustreProject, verb: clients.Verb
) -> None:
    project.put("home")
    project.mkdir("home", "/kv")
    project.configure(import_seconds=HELD, export_seconds=HELD)
    project.configure(objects=100, object_bytes=10, skipped=4)
    project.cannot_move(Failure(count=2))
    name = (await clients.start_operation(verb, HOME, REQUEST, COPY)).name
    (call,) = project.calls(verb)
    assert call.body["gcsPath"] == {"uri": "gs://bucket/prefix/"}
    assert call.body["lustrePath"] == {"path": "/kv"}
    assert call.body["requestId"] == REQUEST
    project.advance(name, 0.5)
    counters = clients.transfer(await clients.get_operation(name)).counters
    assert (counters.found_objects_count, counters.objects_failed_count) == (100, 1)


async def test_other_operations_are_not_copies(project: LustreProject) -> None:
    operation = await clients.start_operation("create", HOME, REQUEST, instance())
    assert clients.transfer(operation) is None


async def test_a_repeated_request_is_the_same_operation(project: LustreProject) -> None:
    first = await clients.start_operation("create", HOME, REQUEST, instance())
    assert (await clients.start_operation("create", HOME, REQUEST, instance())).name == first.name
    assert len(project.operations()) == 1


@pytest.mark.parametrize(
    "body", [{"capacityGib": "many"}, {"unheardOf": 1}, {"labels": 5}, {"capacity_gib": 9000}]
)
async def test_an_invalid_body_is_refused_without_a_request(
    project: LustreProject, body: dict[str, Any]
) -> None:
    with pytest.raises(errors.GoogleError) as caught:
        await clients.start_operation("update", HOME, REQUEST, body)
    assert caught.value.status == "InvalidArgument"
    assert not project.calls()


async def test_unknown_fields_and_values_of_an_instance_are_ignored(project: LustreProject) -> None:
    future = {"name": HOME, "state": "DREAMING", "quantum": {"qubits": 7}, "capacityGib": "9000"}
    project.fail(Reply(200, json.dumps(future).encode()), "get")
    assert (await clients.get_instance(HOME)).capacity_gib == 9000


async def test_unknown_fields_and_types_of_an_operation_are_ignored(project: LustreProject) -> None:
    kind = "type.googleapis.com/google.cloud.lustre.v1."
    future = {
        "name": f"{LOCATION}/operations/o",
        "done": True,
        "metadata": {"@type": f"{kind}OperationMetadata", "verb": "create", "mood": "fine"},
        "response": {"@type": f"{kind}Unheard", "name": HOME},
        "error": {"code": 8, "message": "no", "details": [{"@type": f"{kind}Unheard"}]},
        "priority": 3,
    }
    project.fail(Reply(200, json.dumps(future).encode()), "get_operation")
    found = await clients.get_operation(future["name"])  # type: ignore[arg-type]
    assert (found.done, found.error.code) == (True, 8)


@pytest.mark.parametrize("body", [b"{}", b"[]"])
async def test_a_response_without_a_name_is_an_error(project: LustreProject, body: bytes) -> None:
    project.fail(Reply(200, body), times=-1)
    for call in (
        clients.get_instance(HOME),
        clients.get_operation(f"{LOCATION}/operations/o"),
        clients.start_operation("create", HOME, REQUEST, instance()),
    ):
        with pytest.raises(errors.BadAnswerError):
            await call
