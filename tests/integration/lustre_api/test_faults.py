"""Faults that a test sets apply to requests of Google's client, only in its project. Lists are complete."""

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from google.api_core.exceptions import Forbidden, NotFound, ServiceUnavailable, Unknown
from google.cloud import lustre_v1
from requests.exceptions import ConnectionError as ConnectionBrokenError
from requests.exceptions import ReadTimeout

from integration.lustre_api.calls import NAME, PARENT, create, done, get, get_operation, refused, update
from testbed.google_api import Drop, Hold, Reply
from testbed.lustre.client import LustreProject, google_instance
from testbed.lustre.documents import refusal
from testbed.lustre.operations import HELD
from testbed.lustre.server import LustreAPI
from testbed.waiting import eventually


def test_any_error_can_be_returned_any_number_of_times(client: Any, project: LustreProject) -> None:
    project.put("cache")
    fault = project.fail(refusal("UNAVAILABLE"), "get", times=2)
    project.fail(Reply(418, b"<html>", "text/html"), "get")
    for _ in range(2):
        with pytest.raises(ServiceUnavailable, match="currently unavailable"):
            get(client)
    with pytest.raises(Exception, match="418"):
        get(client)
    assert get(client).state.name == "ACTIVE"
    assert fault.hits() == 2


def test_permission_is_denied_until_healed(client: Any, project: LustreProject) -> None:
    project.fail(refusal("PERMISSION_DENIED"), times=-1)
    for _ in range(3):
        with pytest.raises(Forbidden, match=r"lustre\.instances"):
            get(client)
    project.heal()
    with pytest.raises(NotFound):
        get(client)


@pytest.mark.parametrize("carried_out", [False, True])
def test_a_response_is_lost_before_or_after_the_request_takes_effect(
    client: Any, project: LustreProject, carried_out: bool
) -> None:
    project.fail(Drop(), "create", carried_out=carried_out)
    request_id = str(uuid.uuid4())
    with pytest.raises(ConnectionBrokenError):
        create(client, request_id=request_id)
    assert len(project.operations("cache")) == int(carried_out)
    done(create(client, request_id=request_id))
    assert len(project.operations("cache")) == 1


@pytest.mark.parametrize(("carried_out", "meanwhile"), [(False, 0), (True, 1)])
def test_a_held_request_is_answered_when_it_is_released(
    client: Any, project: LustreProject, carried_out: bool, meanwhile: int
) -> None:
    fault = project.fail(Hold(), "create", carried_out=carried_out)
    with ThreadPoolExecutor() as threads:
        answer = threads.submit(create, client)
        eventually(lambda: fault.hits() == 1)
        assert len(project.instances()) == meanwhile
        fault.release()
        done(answer.result())
    assert get(client).state.name == "ACTIVE"


def test_a_trickling_response_never_ends(client: Any, project: LustreProject) -> None:
    fault = project.fail(Hold(trickle=True), "get")
    with ThreadPoolExecutor() as threads:
        answer = threads.submit(get, client)
        eventually(lambda: fault.hits() == 1)
        fault.release()
        with pytest.raises(Exception, match=r"IncompleteRead|Connection broken|end prematurely"):
            answer.result()


def test_a_client_times_out_on_a_held_request(client: Any, project: LustreProject) -> None:
    project.fail(Hold(), "get")
    with pytest.raises(ReadTimeout):
        client.get_instance(name=NAME, timeout=0.1)


def test_faults_apply_to_one_project_or_one_instance(
    client: Any, server: LustreAPI, project: LustreProject
) -> None:
    other = server.project("p2").put("cache")
    project.put("cache")
    second = project.put("second")
    project.fail(refusal("INTERNAL"), times=-1, instance="cache")
    assert get(client, other)
    assert get(client, second)
    assert refused(lambda: get(client))[:2] == (500, "INTERNAL")


def test_a_fault_of_an_instance_applies_to_polls_of_its_operations(
    client: Any, project: LustreProject
) -> None:
    operation = create(client)
    project.fail(refusal("UNAVAILABLE"), "get_operation", instance="cache")
    with pytest.raises(ServiceUnavailable):
        get_operation(client, operation)
    assert [call.kind for call in project.calls(instance="cache")] == ["create", "get_operation"]


@pytest.mark.parametrize(
    ("verb", "start"),
    [
        ("update", lambda client: update(client, capacity_gib=18000)),
        ("delete", lambda client: client.delete_instance(name=NAME)),
    ],
)
def test_a_failed_change_leaves_the_instance_as_it_was(
    client: Any, project: LustreProject, verb: str, start: Callable[[Any], Any]
) -> None:
    project.put("cache")
    before = project.instances()[NAME]
    project.end_operations(verb, "UNKNOWN", "something broke")
    with pytest.raises(Unknown, match="something broke"):
        done(start(client))
    after = project.instances()[NAME]
    assert after == before | {"updateTime": after["updateTime"]}
    done(start(client))


def test_a_held_operation_can_be_made_to_fail(client: Any, project: LustreProject) -> None:
    project.configure(create_seconds=HELD)
    operation = create(client)
    project.finish(operation.operation.name, "UNKNOWN", "something broke")
    with pytest.raises(Unknown, match="something broke"):
        done(operation)
    assert project.instances() == {}


def test_instances_are_listed_by_location_and_page(client: Any, project: LustreProject) -> None:
    for number in range(3):
        project.put(f"i{number}")
    project.put("far", location="europe-west4-b")
    listed = client.list_instances({"parent": PARENT, "page_size": 2})
    assert [one.name.rpartition("/")[2] for one in listed] == ["i0", "i1", "i2"]
    everywhere = lustre_v1.ListInstancesRequest(parent="projects/p/locations/-", filter='name:"far"')
    assert len(list(client.list_instances(everywhere))) == 1
    project.configure(unreachable=["us-central1-c"])
    (page,) = client.list_instances(parent="projects/p/locations/-").pages
    assert list(page.unreachable) == ["projects/p/locations/us-central1-c"]
    assert list(client.list_instances(parent="projects/nobody/locations/-")) == []


def test_operations_are_found_by_a_filter(client: Any, project: LustreProject) -> None:
    done(create(client))
    update(client, description="x")
    wanted = f'metadata.apiVersion="v1" AND metadata.verb="create" AND metadata.target="{NAME}"'
    listed = client.list_operations({"name": PARENT, "filter": wanted})
    assert [one.done for one in listed.operations] == [True]
    assert len(client.list_operations({"name": PARENT}).operations) >= 2
    with pytest.raises(Exception, match="invalid filter"):
        client.list_operations({"name": PARENT, "filter": "metadata.verb is create"})


def test_an_unsupported_request_is_refused(client: Any, project: LustreProject) -> None:
    with pytest.raises(Exception, match="does not serve GET"):
        client.list_mirrors(parent=NAME)


def test_invalid_steering_is_refused(project: LustreProject) -> None:
    with pytest.raises(ValueError, match="no such settings"):
        project.act("configure", values={"colour": "blue"}, instance="")
    with pytest.raises(ValueError, match="not a number of seconds"):
        project.configure(create_seconds="for ever")
    with pytest.raises(ValueError, match="no such verb"):
        project.end_operations("make", "UNKNOWN", "")
    with pytest.raises(ValueError, match="no such kinds"):
        project.fail(Drop(), "fetch")
    with pytest.raises(ValueError, match="was not found"):
        project.set_state("missing", "ACTIVE")
    with pytest.raises(ValueError, match="no such action"):
        project.act("dance")


def test_reset_removes_settings_and_keeps_instances(client: Any, project: LustreProject) -> None:
    project.put("cache")
    project.configure(create_seconds=HELD, quota_gib=1)
    project.stockout()
    project.fail(Drop(), times=-1)
    project.reset()
    assert project.calls() == []
    done(create(client, google_instance(), name=f"{PARENT}/instances/second"))
    assert len(project.instances()) == 2
