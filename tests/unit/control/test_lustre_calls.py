"""Requests to the Lustre API: each is sent once, none is waited for long, and all are reported to the reader."""

import asyncio
from typing import Any

import pytest

from kvtier.control.applier import LustreCaller
from kvtier.facts.lustre_api import LustreReader
from kvtier.facts.model import LustreFacts, Operation
from kvtier.plan.model import Call
from testbed.google_api import Drop, Fault, Hold
from testbed.lustre.client import LustreProject
from testbed.lustre.documents import instance, refusal
from testbed.lustre.operations import HELD
from testbed.lustre.server import LustreAPI
from testbed.waiting import eventually
from unit.google import HOME, LOCATION, REQUEST, reached

CREATE = Call("create", HOME, REQUEST, instance())


@pytest.fixture
def reader() -> LustreReader:
    return LustreReader(patience=60.0)


@pytest.fixture
def caller(lustre_api: LustreAPI, reader: LustreReader) -> LustreCaller:
    return LustreCaller(reader, patience=60.0)


async def facts(reader: LustreReader, name: str = HOME) -> LustreFacts:
    found = await reader.read(name)
    assert found is not None
    return found


async def answer(reader: LustreReader) -> Operation:
    return (await facts(reader)).operations[REQUEST]


async def answered(reader: LustreReader) -> None:
    """Return when the request is no longer in progress."""
    await asyncio.to_thread(eventually, lambda: reader.operation(HOME, REQUEST) != Operation())


async def test_a_request_is_sent_and_its_operation_is_known_at_once(
    caller: LustreCaller, reader: LustreReader, project: LustreProject
) -> None:
    project.configure(create_seconds=HELD)
    assert await caller.carry_out([CREATE])
    (operation,) = project.operations()
    found = await facts(reader)
    assert found.operations == {REQUEST: Operation(operation["name"])}
    assert found.instance is not None
    assert found.instance.state == "CREATING"


async def test_no_calls_send_no_request(caller: LustreCaller, project: LustreProject) -> None:
    assert not await caller.carry_out([])
    assert not project.calls()


@pytest.mark.parametrize(
    ("verb", "body"),
    [
        ("update", {"capacityGib": "18000"}),
        ("delete", {}),
        ("import", {"uri": "gs://bucket/", "path": "/"}),
        ("export", {"uri": "gs://bucket/a/", "path": "/"}),
    ],
)
async def test_every_verb_is_carried_out(
    caller: LustreCaller, reader: LustreReader, project: LustreProject, verb: Any, body: dict[str, str]
) -> None:
    project.put("home")
    assert await caller.carry_out([Call(verb, HOME, REQUEST, body)])
    assert [call.kind for call in project.calls()] == [verb]
    assert (await answer(reader)).done


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("ALREADY_EXISTS", "AlreadyExists"),
        ("ABORTED", "Aborted"),
        ("NOT_FOUND", "NotFound"),
        ("PERMISSION_DENIED", "PermissionDenied"),
        ("RESOURCE_EXHAUSTED", "ResourceExhausted"),
        ("FAILED_PRECONDITION", "FailedPrecondition"),
        ("INVALID_ARGUMENT", "InvalidArgument"),
    ],
)
async def test_a_refused_request_is_not_repeated(
    caller: LustreCaller, reader: LustreReader, project: LustreProject, status: str, code: str
) -> None:
    project.fail(refusal(status, "in Google's words"), "create", times=-1)
    assert await caller.carry_out([CREATE])
    assert await answer(reader) == Operation(done=True, code=code, message="in Google's words")
    assert not await caller.carry_out([CREATE])
    assert len(project.calls("create")) == 1


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (Drop(), "Unavailable"),
        (refusal("UNAVAILABLE"), "Unavailable"),
        (refusal("INTERNAL"), "Internal"),
        (refusal("UNAUTHENTICATED"), "Unauthenticated"),
    ],
)
async def test_a_request_without_an_answer_is_repeated_and_starts_one_operation(
    caller: LustreCaller, reader: LustreReader, project: LustreProject, fault: Fault, code: str
) -> None:
    project.fail(fault, "create", carried_out=True)
    assert await caller.carry_out([CREATE])
    assert (await answer(reader)).code == code
    assert await caller.carry_out([CREATE])
    (operation,) = project.operations()
    assert (await answer(reader)).name == operation["name"]


@pytest.mark.usefixtures("short_reads")
async def test_a_request_that_times_out_has_no_answer(
    caller: LustreCaller, reader: LustreReader, project: LustreProject
) -> None:
    project.fail(Hold(), "create", times=-1)
    await caller.carry_out([CREATE])
    found = await answer(reader)
    assert (found.done, found.code, found.name) == (True, "DeadlineExceeded", "")


async def test_a_request_that_has_started_its_operation_is_never_repeated(
    caller: LustreCaller, reader: LustreReader, project: LustreProject
) -> None:
    project.configure(create_seconds=HELD)
    await caller.carry_out([CREATE])
    assert not await caller.carry_out([CREATE])
    project.finish(project.operations()[0]["name"])
    assert not await caller.carry_out([CREATE])
    assert len(project.calls("create")) == 1


async def test_a_request_in_progress_is_not_repeated(
    caller: LustreCaller, reader: LustreReader, project: LustreProject
) -> None:
    caller.patience = 0.0
    hold = project.fail(Hold(), "create")
    assert await caller.carry_out([CREATE])
    assert await answer(reader) == Operation()
    caller.patience = 60.0
    assert not await caller.carry_out([CREATE])
    await reached(hold)
    project.heal()
    await answered(reader)
    assert (await answer(reader)).name
    assert len(project.calls("create")) == 1


async def test_hanging_requests_do_not_delay_others(
    caller: LustreCaller, reader: LustreReader, project: LustreProject
) -> None:
    caller.patience = 0.01
    project.put("home")
    hold = project.fail(Hold(), "create", times=-1)
    calls = [
        Call("create", f"{LOCATION}/instances/i{n}", f"{n}f8e1a34-6b3d-4c8e-9f0a-0d6a4b1c2d3e", instance())
        for n in range(8)
    ]
    workers = [asyncio.create_task(caller.carry_out([call])) for call in calls]
    assert await asyncio.gather(*workers) == [True] * 8
    await reached(hold, 8)
    found = await facts(reader)
    assert found.instance is not None
    assert await caller.carry_out([Call("update", HOME, REQUEST, {"capacityGib": "18000"})])


async def test_a_refusal_stops_neither_other_requests_nor_a_new_attempt(
    caller: LustreCaller, project: LustreProject
) -> None:
    project.fail(refusal("RESOURCE_EXHAUSTED"), "create")
    missing = Call("delete", f"{LOCATION}/instances/missing", REQUEST.replace("8f", "7f"))
    again = Call("create", HOME, REQUEST.replace("8f", "9f"), CREATE.body)
    assert await caller.carry_out([missing, CREATE])
    assert await caller.carry_out([CREATE, again])
    assert [call.query["requestId"] for call in project.calls("create")] == [REQUEST, again.request]
    assert len(project.operations()) == 1


async def test_a_request_survives_the_cancellation_of_its_waiter(
    caller: LustreCaller, reader: LustreReader, project: LustreProject
) -> None:
    hold = project.fail(Hold(), "create")
    worker = asyncio.create_task(caller.carry_out([CREATE]))
    await reached(hold)
    worker.cancel()
    with pytest.raises(asyncio.CancelledError):
        await worker
    project.heal()
    await answered(reader)
    assert (await answer(reader)).name
