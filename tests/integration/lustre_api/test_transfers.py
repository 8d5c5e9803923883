"""Imports and exports behave for Google's own client as in the real service."""

import uuid
from typing import Any

import pytest
from google.api_core.exceptions import Cancelled, PermissionDenied
from google.cloud import lustre_v1

from integration.lustre_api.calls import NAME, PROJECT, done, get, get_operation, refused, update
from testbed.lustre.client import Failure, LustreProject, google_client
from testbed.lustre.operations import HELD
from testbed.lustre.server import LustreAPI

BUCKET = "gs://caches/kv/"
MIB = 1 << 20


@pytest.fixture
def lustre(project: LustreProject) -> LustreProject:
    """A project with an instance. Transfers run until the test ends them."""
    project.put("cache")
    project.configure(import_seconds=HELD, export_seconds=HELD, objects=1000, object_bytes=MIB)
    return project


def imports(client: Any, uri: str = BUCKET, path: str = "/", request_id: str = "", name: str = NAME) -> Any:
    request = {
        "name": name,
        "gcs_path": {"uri": uri},
        "lustre_path": {"path": path},
        "request_id": request_id,
    }
    return client.import_data(lustre_v1.ImportDataRequest(**request))


def exports(client: Any, uri: str = BUCKET, path: str = "/kv", request_id: str = "") -> Any:
    request = {
        "name": NAME,
        "gcs_path": {"uri": uri},
        "lustre_path": {"path": path},
        "request_id": request_id,
    }
    return client.export_data(lustre_v1.ExportDataRequest(**request))


def metadata(client: Any, operation: Any, type_: Any = lustre_v1.ImportDataMetadata) -> Any:
    """The present metadata of an operation, in its documented type."""
    told = type_()
    assert get_operation(client, operation).metadata.Unpack(type_.pb(told))
    return told


def counters(client: Any, operation: Any) -> tuple[int, int, int, int]:
    """Objects found, copied, skipped and failed."""
    told = metadata(client, operation).operation_metadata.counters
    return (
        told.found_objects_count,
        told.objects_copied_count,
        told.objects_skipped_count,
        told.objects_failed_count,
    )


def test_an_import_counts_what_it_moves_and_ends(client: Any, lustre: LustreProject) -> None:
    lustre.configure(skipped=10)
    operation = imports(client)
    assert not operation.operation.done
    assert counters(client, operation) == (0, 0, 0, 0)
    lustre.advance(operation.operation.name, 0.25)
    assert counters(client, operation) == (500, 250, 2, 0)
    lustre.finish(operation.operation.name)
    assert counters(client, operation) == (1000, 1000, 10, 0)
    assert done(operation) == lustre_v1.ImportDataResponse()
    told = metadata(client, operation)
    moved = told.operation_metadata
    assert (told.target, moved.transfer_type.name) == (NAME, "IMPORT")
    assert (moved.source_gcs_path.uri, moved.destination_lustre_path.path) == (BUCKET, "/")
    assert moved.counters.bytes_copied_count == 1000 * MIB
    assert told.create_time <= told.end_time


def test_an_export_copies_in_the_other_direction(client: Any, lustre: LustreProject) -> None:
    operation = exports(client)
    lustre.finish(operation.operation.name)
    assert done(operation) == lustre_v1.ExportDataResponse()
    told = metadata(client, operation, lustre_v1.ExportDataMetadata)
    moved = told.operation_metadata
    assert (told.verb, moved.transfer_type.name) == ("export", "EXPORT")
    assert (moved.source_lustre_path.path, moved.destination_gcs_path.uri) == ("/kv", BUCKET)


def test_a_transfer_with_a_duration_progresses_with_time(client: Any, lustre: LustreProject) -> None:
    lustre.configure(import_seconds=1000, objects=10_000_000)
    operation = imports(client)
    first = counters(client, operation)
    assert 0 < first[0] < 10_000_000
    assert counters(client, operation)[1] > first[1]


def test_failed_objects_are_counted_and_at_most_five_are_named(client: Any, lustre: LustreProject) -> None:
    lustre.cannot_move(Failure("PERMISSION_DENIED", 40), Failure("NOT_FOUND", 2, ("gone",)))
    operation = imports(client)
    lustre.finish(operation.operation.name)
    assert counters(client, operation) == (1000, 958, 0, 42)
    denied, missing = metadata(client, operation).operation_metadata.error_summaries
    assert (denied.error_code, denied.error_count, len(denied.error_log_entries)) == (7, 40, 5)
    assert (missing.error_count, missing.error_log_entries[1].uri) == (2, f"{BUCKET}object-000001")
    assert list(missing.error_log_entries[0].error_details) == ["gone"]


def test_a_failed_transfer_keeps_its_counters(client: Any, lustre: LustreProject) -> None:
    lustre.end_operations("import", "PERMISSION_DENIED", "the service agent may not read the bucket")
    operation = imports(client)
    lustre.advance(operation.operation.name, 0.5)
    lustre.finish(operation.operation.name)
    with pytest.raises(PermissionDenied, match="service agent"):
        done(operation)
    assert counters(client, operation)[1] == 500


def test_a_cancelled_transfer_reports_cancelled(client: Any, lustre: LustreProject) -> None:
    operation = imports(client)
    client.cancel_operation({"name": operation.operation.name})
    with pytest.raises(Cancelled):
        done(operation)
    assert metadata(client, operation).requested_cancellation
    lustre.finish(imports(client).operation.name)


def test_a_transfer_excludes_other_transfers_and_changes(client: Any, lustre: LustreProject) -> None:
    operation = imports(client)
    for call in (
        lambda: imports(client),
        lambda: exports(client),
        lambda: update(client, capacity_gib=18000),
        lambda: client.delete_instance(name=NAME),
    ):
        assert refused(call)[:2] == (409, "ABORTED")
    assert get(client).state.name == "ACTIVE"
    lustre.finish(operation.operation.name)
    lustre.finish(exports(client).operation.name)


def test_a_repeated_transfer_returns_the_same_operation(client: Any, lustre: LustreProject) -> None:
    request_id = str(uuid.uuid4())
    operation = exports(client, request_id=request_id)
    assert exports(client, request_id=request_id).operation.name == operation.operation.name
    lustre.finish(operation.operation.name)
    assert exports(client, request_id=request_id).operation.done
    assert len(lustre.operations("cache")) == 1
    assert "was used" in refused(lambda: imports(client, request_id=request_id))[2]


@pytest.mark.parametrize(
    ("uri", "path", "word"),
    [
        ("gs://caches/kv", "/", "gcs_path"),
        ("s3://caches/", "/", "gcs_path"),
        ("", "/", "gcs_path"),
        (BUCKET, "kv", "start with /"),
        (BUCKET, "/missing", "does not exist"),
    ],
)
def test_invalid_paths_are_refused(
    client: Any, lustre: LustreProject, uri: str, path: str, word: str
) -> None:
    status, code, message = refused(lambda: imports(client, uri, path))
    assert (status, code) == (400, "INVALID_ARGUMENT")
    assert word in message


@pytest.mark.parametrize("uri", ["gs://caches", "gs://caches/", "gs://caches/a/b/"])
def test_a_bucket_needs_no_slash_but_a_path_in_it_does(client: Any, lustre: LustreProject, uri: str) -> None:
    lustre.finish(imports(client, uri).operation.name)


def test_an_import_needs_an_existing_directory(client: Any, lustre: LustreProject) -> None:
    lustre.mkdir("cache", "/kv/")
    lustre.finish(imports(client, path="/kv").operation.name)
    lustre.finish(imports(client, path="/kv/").operation.name)
    lustre.configure("cache", any_directory=True)
    lustre.finish(imports(client, path="/missing").operation.name)
    assert lustre.instances()[NAME]["directories"] == ["/", "/kv"]


def test_a_transfer_ends_with_its_instance(client: Any, lustre: LustreProject) -> None:
    operation = imports(client)
    lustre.remove("cache")
    assert get_operation(client, operation).error.code == 10


def test_settings_of_an_instance_override_those_of_its_project(
    client: Any, server: LustreAPI, lustre: LustreProject
) -> None:
    other = lustre.put("other")
    lustre.configure("other", objects=7, import_seconds=0)
    operation = imports(client, name=other)
    assert counters(client, operation)[0] == 7
    unlike = server.project(f"{PROJECT}-2")
    name = unlike.put("cache")
    operation = imports(google_client(server.url), name=name)
    assert get_operation(client, operation).done
