"""Operations of a Lustre instance: followed to their end, and never taken for over too early."""

import asyncio

from kvtier.facts.lustre_api import LustreReader
from kvtier.facts.model import Operation
from kvtier.gcp import lustre
from testbed.google_faults import Drop, Hold
from testbed.lustre_client import LustreProject
from testbed.lustre_documents import refusal
from testbed.lustre_service.operations import HELD
from unit.gcp.clock import Clock
from unit.gcp.reading import HOME, REQUEST, met, read


async def grow(gib: int) -> str:
    """Name of the operation."""
    return str((await lustre.start("update", HOME, REQUEST, {"capacityGib": str(gib)})).name)


async def test_an_operation_that_the_status_names_is_followed_to_its_end(
    reader: LustreReader, project: LustreProject, clock: Clock
) -> None:
    project.configure(update_seconds=HELD)
    name = await grow(18000)
    facts = await read(reader, HOME, {REQUEST: name})
    assert facts.operations == {REQUEST: Operation(name)}
    project.finish(name)
    clock.now += 14
    assert await read(reader, HOME, {REQUEST: name}) == facts
    clock.now += 1
    facts = await read(reader, HOME, {REQUEST: name})
    assert facts.operations == {REQUEST: Operation(name, done=True)}
    assert facts.instance is not None
    assert facts.instance.capacity == 18000 << 30


async def test_an_operation_is_over_only_once_the_instance_has_been_seen_after_it(
    reader: LustreReader, project: LustreProject, clock: Clock
) -> None:
    project.configure(update_seconds=HELD)
    name = await grow(18000)
    before = await read(reader, HOME, {REQUEST: name})
    project.finish(name)
    project.fail(Drop(), "get")
    clock.now += 15
    assert await read(reader, HOME, {REQUEST: name}) == before
    clock.now += 15
    assert (await read(reader, HOME, {REQUEST: name})).operations[REQUEST].done


async def test_a_finished_operation_is_not_asked_about_again(
    reader: LustreReader, project: LustreProject, clock: Clock
) -> None:
    name = await grow(18000)
    for _ in range(3):
        assert (await read(reader, HOME, {REQUEST: name})).operations[REQUEST].done
        clock.now += 240
    assert len(project.calls("get_operation")) == 1


async def test_an_operation_that_failed_tells_its_code(reader: LustreReader, project: LustreProject) -> None:
    project.end_operations("update", "RESOURCE_EXHAUSTED", "no   room")
    name = await grow(18000)
    facts = await read(reader, HOME, {REQUEST: name})
    assert facts.operations[REQUEST] == Operation(name, True, "ResourceExhausted", "no room")


async def test_an_operation_that_the_api_has_forgotten_has_ended(
    reader: LustreReader, project: LustreProject
) -> None:
    name = "projects/p/locations/us-central1-a/operations/o"
    found = (await read(reader, HOME, {REQUEST: name})).operations[REQUEST]
    assert (found.done, found.code) == (True, "NotFound")


async def test_an_operation_that_may_not_be_looked_at_says_so(
    reader: LustreReader, project: LustreProject, clock: Clock
) -> None:
    name = await grow(18000)
    project.fail(refusal("PERMISSION_DENIED"), "get_operation")
    found = (await read(reader, HOME, {REQUEST: name})).operations[REQUEST]
    assert not found.done
    assert "grant roles/lustre.viewer" in found.message
    clock.now += 15
    assert (await read(reader)).operations[REQUEST].done


async def test_an_outage_leaves_an_operation_as_it_was(
    reader: LustreReader, project: LustreProject, clock: Clock
) -> None:
    name = await grow(18000)
    project.fail(Drop(), "get_operation")
    assert (await read(reader, HOME, {REQUEST: name})).operations[REQUEST] == Operation(name)
    clock.now += 15
    assert (await read(reader)).operations[REQUEST].done


async def test_a_request_whose_operation_nobody_knows_is_not_made_up(reader: LustreReader) -> None:
    assert (await read(reader, HOME, {REQUEST: ""})).operations == {}


async def test_after_a_request_the_instance_is_asked_for_at_once(
    reader: LustreReader, project: LustreProject
) -> None:
    await read(reader)
    project.configure(update_seconds=HELD)
    reader.note(HOME, REQUEST, Operation())
    assert (await read(reader)).operations == {REQUEST: Operation()}
    assert len(project.calls("get")) == 1
    name = await grow(18000)
    reader.note(HOME, REQUEST, Operation(name))
    facts = await read(reader)
    assert facts.instance is not None
    assert (facts.instance.state, facts.operations[REQUEST]) == ("UPDATING", Operation(name))


async def test_an_answer_from_before_a_request_is_asked_for_once_more(
    reader: LustreReader, project: LustreProject
) -> None:
    project.configure(update_seconds=HELD)
    hold = project.fail(Hold(), "get", carried_out=True)
    asking = asyncio.create_task(read(reader))
    await met(hold)
    reader.note(HOME, REQUEST, Operation(await grow(18000)))
    project.heal()
    facts = await asking
    assert facts.instance is not None
    assert facts.instance.state == "UPDATING"
    assert len(project.calls("get")) == 2
