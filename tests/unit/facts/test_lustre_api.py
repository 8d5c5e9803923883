"""Facts of a Lustre instance and its operations: a short wait, and an explanation of failures."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import pytest

from kvtier.checks import network
from kvtier.facts.lustre_api import LustreReader
from kvtier.facts.model import GKECluster, LustreFacts, Operation
from kvtier.gcp import clients
from testbed.google_api import Drop, Fault, Hold, Reply
from testbed.lustre.client import LustreProject
from testbed.lustre.documents import instance, refusal
from testbed.lustre.operations import HELD
from unit.builders import NETWORK, context, facts, pool
from unit.google import AWAY, HOME, LOCATION, REQUEST, Clock, reached
from unit.instances import existing

NO_OPERATIONS: Mapping[str, str] = MappingProxyType({})


async def read(
    reader: LustreReader, name: str = HOME, operations: Mapping[str, str] = NO_OPERATIONS
) -> LustreFacts:
    found = await reader.read(name, operations)
    assert found is not None
    return found


async def state(reader: LustreReader, name: str = HOME) -> str:
    found = (await read(reader, name)).instance
    return found.state if found else ""


async def size(reader: LustreReader) -> int:
    """In GiB."""
    found = (await read(reader)).instance
    return found.capacity >> 30 if found else 0


async def test_a_pool_without_an_instance_costs_no_request(
    reader: LustreReader, project: LustreProject
) -> None:
    assert await reader.read(None, {}) is None
    assert not project.calls()


async def test_an_instance_is_read_by_its_full_name(reader: LustreReader) -> None:
    found = (await read(reader)).instance
    assert found is not None
    assert (found.name, found.state, found.capacity) == (HOME, "ACTIVE", 9000 << 30)


async def test_a_missing_instance_is_not_an_error(reader: LustreReader, project: LustreProject) -> None:
    project.remove("home")
    assert await read(reader) == LustreFacts()


@pytest.mark.parametrize(
    ("fault", "advice"),
    [
        (refusal("INVALID_ARGUMENT"), "Recreate the pool with correct values in spec.tiers.lustre."),
        (
            refusal("UNAUTHENTICATED"),
            "service account roles/lustre.viewer, or roles/lustre.admin where kvtier creates instances or",
        ),
        (
            refusal("PERMISSION_DENIED"),
            "grant kvtier's service account (Workload Identity) roles/lustre.viewer",
        ),
        (refusal("PERMISSION_DENIED"), "In project p, enable lustre.googleapis.com"),
        (refusal("RESOURCE_EXHAUSTED"), "quota was exceeded"),
        (refusal("INTERNAL"), "returned 500"),
        (refusal("UNAVAILABLE"), "No action needed; kvtier retries."),
        (Reply(200, b"<html>sign in</html>"), "Check proxies and KVTIER_LUSTRE_ENDPOINT. kvtier retries."),
        (Reply(404, b"<html>no such page</html>"), "that is not from the Lustre API"),
        (Drop(), "Check egress, DNS, proxies and KVTIER_LUSTRE_ENDPOINT. kvtier retries."),
    ],
)
async def test_a_failure_says_what_to_do_and_is_stable(
    reader: LustreReader, project: LustreProject, clock: Clock, fault: Fault, advice: str
) -> None:
    project.fail(fault, times=-1)
    first = await read(reader)
    assert first.error is not None
    assert first.instance is None
    assert advice in first.error
    assert HOME in first.error
    seen = replace(facts(gke=GKECluster(network=NETWORK)), lustre=first)
    condition = network.check(context(pool(**existing()), facts=seen))
    assert (condition.status, condition.reason) == ("Unknown", "InstanceNotSeen")
    assert condition.message == first.error
    clock.now += 15
    assert await read(reader) == first
    assert len(project.calls()) == 2


@pytest.mark.usefixtures("short_reads")
async def test_a_missing_response_says_what_to_do(reader: LustreReader, project: LustreProject) -> None:
    project.fail(Hold(), times=-1)
    assert "Check egress, DNS, proxies and KVTIER_LUSTRE_ENDPOINT." in ((await read(reader)).error or "")


async def test_a_failure_is_logged_once(
    reader: LustreReader, project: LustreProject, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    project.fail(refusal("PERMISSION_DENIED"), times=2)
    for _ in range(2):
        assert (await read(reader)).error
        clock.now += 15
    assert await state(reader) == "ACTIVE"
    assert [record.message for record in caplog.records if record.name.startswith("kvtier")] == [
        f"The Lustre API denied access to {HOME}: Permission 'lustre.instances.get' denied on resource (or it may not "
        "exist). In project p, enable lustre.googleapis.com, and grant kvtier's service account (Workload Identity) "
        "roles/lustre.viewer, or roles/lustre.admin where kvtier creates instances or copies data."
    ]


async def test_an_active_instance_is_cached_for_four_minutes(
    reader: LustreReader, project: LustreProject, clock: Clock
) -> None:
    await read(reader)
    clock.now += 239
    await read(reader)
    assert len(project.calls()) == 1
    clock.now += 1
    project.put("home", instance(18000))
    assert await size(reader) == 18000


@pytest.mark.parametrize(
    ("fault", "known"),
    [
        (refusal("UNAUTHENTICATED"), True),
        (refusal("UNAVAILABLE"), True),
        (Drop(), True),
        (refusal("PERMISSION_DENIED"), False),
        (refusal("INVALID_ARGUMENT"), False),
    ],
)
async def test_an_answer_stays_valid_during_an_outage_but_not_after_a_refusal(
    reader: LustreReader, project: LustreProject, clock: Clock, fault: Fault, known: bool
) -> None:
    before = await read(reader)
    project.fail(fault)
    clock.now += 240
    assert (await read(reader) == before) is known


async def test_a_hundred_pools_share_one_request_that_does_not_delay_another(
    reader: LustreReader, project: LustreProject
) -> None:
    hold = project.fail(Hold(), instance="home", times=-1)
    asking = [asyncio.create_task(state(reader)) for _ in range(100)]
    await reached(hold)
    assert await state(reader, AWAY) == "ACTIVE"
    project.heal()
    assert await asyncio.gather(*asking) == ["ACTIVE"] * 100
    assert len(project.calls("get", instance="home")) == 1


async def test_a_slow_response_is_used_by_the_next_read_also_for_the_first_read(
    reader: LustreReader, project: LustreProject
) -> None:
    reader.patience = 0.0
    hold = project.fail(Hold(), times=-1)
    found = [await read(reader) for _ in range(3)]
    assert found == [LustreFacts(error=f"The Lustre API has not returned {HOME} yet.", pending=True)] * 3
    await reached(hold)
    project.heal()
    reader.patience = None
    assert await state(reader) == "ACTIVE", "a command waits until the API responds"
    assert len(project.calls()) == 1


async def grow(gib: int) -> str:
    """Name of the operation."""
    return str((await clients.start_operation("update", HOME, REQUEST, {"capacityGib": str(gib)})).name)


async def test_an_operation_is_done_only_after_the_instance_was_read_again(
    reader: LustreReader, project: LustreProject, clock: Clock
) -> None:
    project.configure(update_seconds=HELD)
    name = await grow(18000)
    running = await read(reader, HOME, {REQUEST: name})
    assert running.operations == {REQUEST: Operation(name)}
    project.finish(name)
    clock.now += 14
    assert await read(reader, HOME, {REQUEST: name}) == running
    project.fail(Drop(), "get")
    clock.now += 1
    assert await read(reader, HOME, {REQUEST: name}) == running
    clock.now += 15
    over = await read(reader, HOME, {REQUEST: name})
    assert over.operations == {REQUEST: Operation(name, done=True)}
    assert await size(reader) == 18000


async def test_a_finished_operation_is_not_read_again(
    reader: LustreReader, project: LustreProject, clock: Clock
) -> None:
    name = await grow(18000)
    for _ in range(3):
        assert (await read(reader, HOME, {REQUEST: name})).operations[REQUEST].done
        clock.now += 240
    assert len(project.calls("get_operation")) == 1


async def test_a_failed_operation_has_its_code(reader: LustreReader, project: LustreProject) -> None:
    project.end_operations("update", "RESOURCE_EXHAUSTED", "no   room")
    name = await grow(18000)
    found = await read(reader, HOME, {REQUEST: name})
    assert found.operations[REQUEST] == Operation(name, True, "ResourceExhausted", "no room")


async def test_an_operation_that_the_api_does_not_know_has_ended(reader: LustreReader) -> None:
    found = (await read(reader, HOME, {REQUEST: f"{LOCATION}/operations/o"})).operations[REQUEST]
    assert (found.done, found.code) == (True, "NotFound")


@pytest.mark.parametrize(
    ("fault", "message"), [(refusal("PERMISSION_DENIED"), "roles/lustre.viewer"), (Drop(), "")]
)
async def test_an_operation_that_could_not_be_read_stays_the_same_and_says_what_to_do(
    reader: LustreReader, project: LustreProject, clock: Clock, fault: Fault, message: str
) -> None:
    name = await grow(18000)
    project.fail(fault, "get_operation")
    found = (await read(reader, HOME, {REQUEST: name})).operations[REQUEST]
    assert (found.name, found.done) == (name, False)
    assert message in found.message
    assert bool(found.message) is bool(message)
    clock.now += 15
    assert (await read(reader)).operations[REQUEST].done


async def test_the_instance_is_read_at_once_after_a_request(
    reader: LustreReader, project: LustreProject
) -> None:
    await read(reader)
    project.configure(update_seconds=HELD)
    reader.note(HOME, REQUEST, Operation())
    assert (await read(reader)).operations == {REQUEST: Operation()}
    assert len(project.calls("get")) == 1
    name = await grow(18000)
    reader.note(HOME, REQUEST, Operation(name))
    assert await state(reader) == "UPDATING"
    assert (await read(reader)).operations == {REQUEST: Operation(name)}


async def test_an_answer_from_before_a_request_is_read_again(
    reader: LustreReader, project: LustreProject
) -> None:
    project.configure(update_seconds=HELD)
    hold = project.fail(Hold(), "get", carried_out=True)
    asking = asyncio.create_task(state(reader))
    await reached(hold)
    reader.note(HOME, REQUEST, Operation(await grow(18000)))
    project.heal()
    assert await asking == "UPDATING"
    assert len(project.calls("get")) == 2
