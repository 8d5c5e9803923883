"""The real client of the Lustre API ends every call in time: with what was asked for, or with a GoogleError."""

import json
from pathlib import Path
from typing import Any

import pytest

from kvtier.gcp import clients, errors
from testbed.gke import NETWORK
from testbed.google_api import Drop, Fault, Hold, Reply
from testbed.lustre.client import Failure, LustreProject
from testbed.lustre.documents import instance, refusal
from testbed.lustre.operations import HELD
from testbed.lustre.server import LustreAPI
from testbed.process import free_ports

NAME = "projects/p/locations/us-central1-a/instances/kv"
REQUEST = "8f8e1a34-6b3d-4c8e-9f0a-0d6a4b1c2d3e"
COPY = {"uri": "gs://bucket/prefix/", "path": "/kv"}

ASKING = {
    "get": lambda: clients.get_instance(NAME),
    "get_operation": lambda: clients.get_operation("projects/p/locations/us-central1-a/operations/o"),
    "create": lambda: clients.start_operation("create", NAME, REQUEST, instance()),
    "import": lambda: clients.start_operation("import", NAME, REQUEST, COPY),
}
every_call = pytest.mark.parametrize("kind", ASKING)


async def refused(kind: str = "get") -> errors.GoogleError:
    with pytest.raises(errors.GoogleError) as caught:
        await ASKING[kind]()
    return caught.value


async def test_the_document_of_an_instance_arrives_whole(project: LustreProject) -> None:
    project.put("kv", instance(18000, throughput=500, labels={"a": "b"}))
    found = await clients.get_instance(NAME)
    assert (found.name, found.state.name, found.capacity_gib) == (NAME, "ACTIVE", 18000)
    assert (found.network, dict(found.labels)) == (NETWORK, {"a": "b"})
    assert found.mount_point.endswith("@tcp:/kvcache")


async def test_an_instance_is_created_as_described(project: LustreProject) -> None:
    body = instance(472000, dynamic=True, labels={"kvtier-pool": "x"}, kmsKey=None) | {
        "accessRulesOptions": {"defaultSquashMode": "NO_SQUASH"},
        "maintenancePolicy": {
            "weeklyMaintenanceWindows": [{"dayOfWeek": "SUNDAY", "startTime": {"hours": 3}}]
        },
    }
    operation = await clients.start_operation("create", NAME, REQUEST, body)
    (call,) = project.calls("create")
    assert (call.query["instanceId"], call.query["requestId"]) == ("kv", REQUEST)
    assert call.body["capacityGib"] == "472000"
    assert call.body["maintenancePolicy"]["weeklyMaintenanceWindows"][0]["startTime"] == {"hours": 3}
    assert project.instances()[NAME]["labels"] == {"kvtier-pool": "x"}
    assert operation.name == project.operations()[0]["name"]


async def test_an_update_changes_just_the_fields_of_its_body(project: LustreProject) -> None:
    project.put("kv", instance(9000, labels={"a": "b"}, description="old"))
    await clients.start_operation("update", NAME, REQUEST, {"capacityGib": "18000", "labels": {"c": "d"}})
    (call,) = project.calls("update")
    assert (call.query["updateMask"], call.query["requestId"]) == ("capacityGib,labels", REQUEST)
    changed = project.instances()[NAME]
    assert (changed["capacityGib"], changed["labels"], changed["description"]) == ("18000", {"c": "d"}, "old")


async def test_an_update_can_take_a_field_away(project: LustreProject) -> None:
    project.put("kv", instance(description="old"))
    await clients.start_operation("update", NAME, REQUEST, {"description": None})
    assert not project.instances()[NAME].get("description")


async def test_an_instance_is_deleted_without_what_others_have_added_to_it(project: LustreProject) -> None:
    project.put("kv")
    await clients.start_operation("delete", NAME, REQUEST, {})
    (call,) = project.calls("delete")
    assert call.query["requestId"] == REQUEST
    assert "force" not in call.query
    assert not project.instances()


@pytest.mark.parametrize("verb", ["import", "export"])
async def test_a_copy_names_its_ends_and_tells_its_progress(
    project: LustreProject, verb: clients.Verb
) -> None:
    project.put("kv")
    project.mkdir("kv", "/kv")
    project.configure(import_seconds=HELD, export_seconds=HELD)
    project.configure(objects=100, object_bytes=10, skipped=4)
    project.cannot_move(Failure(count=2))
    name = (await clients.start_operation(verb, NAME, REQUEST, COPY)).name
    (call,) = project.calls(verb)
    assert call.body["gcsPath"] == {"uri": "gs://bucket/prefix/"}
    assert call.body["lustrePath"] == {"path": "/kv"}
    assert call.body["requestId"] == REQUEST
    project.advance(name, 0.5)
    counters = clients.transfer(await clients.get_operation(name)).counters
    assert (counters.found_objects_count, counters.objects_failed_count) == (100, 1)


async def test_other_operations_copy_nothing(project: LustreProject) -> None:
    operation = await clients.start_operation("create", NAME, REQUEST, instance())
    assert clients.transfer(operation) is None


async def test_a_repeated_request_is_the_same_operation(project: LustreProject) -> None:
    first = await clients.start_operation("create", NAME, REQUEST, instance())
    assert (await clients.start_operation("create", NAME, REQUEST, instance())).name == first.name
    assert len(project.operations()) == 1


@pytest.mark.parametrize(
    "body", [{"capacityGib": "many"}, {"unheardOf": 1}, {"labels": 5}, {"capacity_gib": 9000}]
)
async def test_a_body_that_the_client_cannot_say_is_refused_here(
    project: LustreProject, body: dict[str, Any]
) -> None:
    with pytest.raises(errors.GoogleError) as caught:
        await clients.start_operation("update", NAME, REQUEST, body)
    assert caught.value.status == "InvalidArgument"
    assert not project.calls()


async def test_fields_and_words_of_the_future_are_passed_over(project: LustreProject) -> None:
    future = {"name": NAME, "state": "DREAMING", "quantum": {"qubits": 7}, "capacityGib": "9000"}
    project.fail(Reply(200, json.dumps(future).encode()), "get")
    assert (await clients.get_instance(NAME)).capacity_gib == 9000


async def test_operations_of_the_future_are_read_as_well(project: LustreProject) -> None:
    kind = "type.googleapis.com/google.cloud.lustre.v1."
    future = {
        "name": "projects/p/locations/us-central1-a/operations/o",
        "done": True,
        "metadata": {"@type": f"{kind}OperationMetadata", "verb": "create", "mood": "fine"},
        "response": {"@type": f"{kind}Unheard", "name": NAME},
        "error": {"code": 8, "message": "no", "details": [{"@type": f"{kind}Unheard"}]},
        "priority": 3,
    }
    project.fail(Reply(200, json.dumps(future).encode()), "get_operation")
    found = await clients.get_operation(future["name"])  # type: ignore[arg-type]
    assert (found.done, found.error.code) == (True, 8)


@every_call
@pytest.mark.parametrize(
    ("status", "code", "name"),
    [
        ("INVALID_ARGUMENT", 400, "InvalidArgument"),
        ("FAILED_PRECONDITION", 400, "FailedPrecondition"),
        ("PERMISSION_DENIED", 403, "PermissionDenied"),
        ("NOT_FOUND", 404, "NotFound"),
        ("ALREADY_EXISTS", 409, "AlreadyExists"),
        ("ABORTED", 409, "Aborted"),
        ("RESOURCE_EXHAUSTED", 429, "ResourceExhausted"),
        ("INTERNAL", 500, "Internal"),
        ("UNAVAILABLE", 503, "Unavailable"),
        ("DEADLINE_EXCEEDED", 504, "DeadlineExceeded"),
    ],
)
async def test_a_refusal_keeps_its_codes_and_googles_words_and_is_not_repeated(
    project: LustreProject, kind: str, status: str, code: int, name: str
) -> None:
    project.fail(refusal(status, "in Google's words"), kind, times=-1)
    error = await refused(kind)
    assert (error.code, error.status, str(error)) == (code, name, "in Google's words")
    assert len(project.calls()) == 1


@every_call
async def test_credentials_that_google_does_not_take_are_named_as_the_cause(
    project: LustreProject, kind: str
) -> None:
    project.fail(refusal("UNAUTHENTICATED"), kind, times=-1)
    error = await refused(kind)
    assert isinstance(error, errors.NoCredentialsError)
    assert error.status == "Unauthenticated"


@every_call
@pytest.mark.parametrize(
    ("code", "status"),
    [(404, "Unimplemented"), (403, "PermissionDenied"), (503, "Unavailable"), (418, "Unknown")],
)
async def test_a_refusal_by_something_that_is_not_google_says_nothing_about_the_resource(
    project: LustreProject, kind: str, code: int, status: str
) -> None:
    project.fail(Reply(code, b"<html>\n  <b>no</b>\n</html>", "text/html"), kind)
    error = await refused(kind)
    assert (error.code, error.status, str(error)) == (code, status, "<html> <b>no</b> </html>")


@every_call
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>sign in</html>",
        b"null",
        b"3",
        b"{}",
        b"[]",
        b"\xff\xfe{",
        b'{"name": 5}',
        b'{"name": ',
        b'{"a":' * 50_000,
    ],
)
async def test_an_answer_that_cannot_be_read_is_an_error(
    project: LustreProject, kind: str, body: bytes
) -> None:
    project.fail(Reply(200, body), kind)
    assert isinstance(await refused(kind), errors.BadAnswerError)


@every_call
@pytest.mark.usefixtures("short_reads")
@pytest.mark.parametrize(("fault", "status"), [(Drop(), "Unavailable"), (Hold(), "DeadlineExceeded")])
async def test_silence_is_an_error_after_one_request(
    project: LustreProject, kind: str, fault: Fault, status: str
) -> None:
    project.fail(fault, kind, times=-1)
    error = await refused(kind)
    assert isinstance(error, errors.NoAnswerError)
    assert (error.code, error.status) == (0, status)
    assert len(project.calls()) == 1


@every_call
async def test_an_answer_that_never_ends_is_given_up(
    project: LustreProject, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await refused("get_operation")  # imports the client
    monkeypatch.setattr(clients, "TOTAL_SECONDS", 0.3)
    project.fail(Hold(trickle=True), kind)
    error = await refused(kind)
    assert (error.status, str(error)) == (
        "DeadlineExceeded",
        "no answer within 0.3 s, credentials included",
    )


async def test_a_refused_connection_is_an_error_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(clients.LUSTRE_ENDPOINT, f"http://127.0.0.1:{free_ports(1)[0]}")
    error = await refused("create")
    assert isinstance(error, errors.NoAnswerError)
    assert "Connection refused" in str(error)
    assert REQUEST not in str(error)


@every_call
async def test_without_credentials_nothing_is_asked(
    lustre_api: LustreAPI, kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("HOME", "CLOUDSDK_CONFIG"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    monkeypatch.setenv(clients.LUSTRE_ENDPOINT, lustre_api.url.replace("http:", "https:"))
    error = await refused(kind)
    assert isinstance(error, errors.NoCredentialsError)
    assert "credentials were not found" in str(error)
    assert not lustre_api.project("p").calls()
