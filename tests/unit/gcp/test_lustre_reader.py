"""Facts of a Lustre instance: asked for once, remembered, never waited for long, explained when they cannot be had."""

import asyncio

import pytest

from kvtier.facts.lustre_api import LustreReader
from kvtier.facts.model import LustreFacts
from testbed.google_faults import Drop, Fault, Hold, Reply
from testbed.lustre_client import LustreProject
from testbed.lustre_documents import instance, refusal
from unit.gcp.clock import Clock
from unit.gcp.reading import AWAY, HOME, met, read, size, state


async def test_a_pool_without_an_instance_costs_no_request(
    reader: LustreReader, project: LustreProject
) -> None:
    assert await reader.read(None, {}) is None
    assert await reader.ask(None) is None
    assert not project.calls()


async def test_an_instance_is_told_by_its_full_name(reader: LustreReader) -> None:
    found = (await read(reader)).instance
    assert found is not None
    assert (found.name, found.state, found.capacity) == (HOME, "ACTIVE", 9000 << 30)


async def test_an_instance_that_does_not_exist_is_no_error(
    reader: LustreReader, project: LustreProject
) -> None:
    project.remove("home")
    assert await read(reader) == LustreFacts()


@pytest.mark.parametrize(
    ("fault", "advice"),
    [
        (refusal("INVALID_ARGUMENT"), "correct spec.tiers.lustre"),
        (refusal("UNAUTHENTICATED"), "Workload Identity, with roles/lustre.viewer, or roles/lustre.admin"),
        (refusal("PERMISSION_DENIED"), "grant roles/lustre.viewer"),
        (refusal("PERMISSION_DENIED"), "in project p to kvtier's service account"),
        (refusal("RESOURCE_EXHAUSTED"), "no quota left"),
        (refusal("INTERNAL"), "answered 500"),
        (refusal("UNAVAILABLE"), "it is asked again"),
        (Reply(200, b"<html>sign in</html>"), "check proxies and KVTIER_LUSTRE_ENDPOINT"),
        (Reply(404, b"<html>no such page</html>"), "is not the Lustre API"),
        (Drop(), "let kvtier reach it"),
    ],
)
async def test_a_failure_is_a_sentence_that_says_what_to_do_and_never_changes(
    reader: LustreReader, project: LustreProject, clock: Clock, fault: Fault, advice: str
) -> None:
    project.fail(fault, times=-1)
    first = await read(reader)
    assert first.error is not None
    assert first.instance is None
    assert advice in first.error
    assert HOME in first.error
    clock.now += 15
    assert await read(reader) == first
    assert len(project.calls()) == 2


@pytest.mark.usefixtures("short_reads")
async def test_silence_is_such_a_sentence_too(
    reader: LustreReader, project: LustreProject, clock: Clock
) -> None:
    project.fail(Hold(), times=-1)
    first = await read(reader)
    assert "let kvtier reach it" in (first.error or "")
    clock.now += 15
    assert await read(reader) == first


async def test_a_failure_is_logged_once(
    reader: LustreReader, project: LustreProject, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    project.fail(refusal("PERMISSION_DENIED"), times=2)
    for _ in range(2):
        assert (await read(reader)).error
        clock.now += 15
    assert await state(reader) == "ACTIVE"
    assert [record.message for record in caplog.records if record.name.startswith("kvtier")] == [
        f"the Lustre API refuses to show {HOME} (Permission 'lustre.instances.get' denied on resource (or it may "
        "not exist).): grant roles/lustre.viewer, or roles/lustre.admin where kvtier makes instances or copies "
        "data in project p to kvtier's service account (Workload Identity), and enable lustre.googleapis.com there"
    ]


async def test_an_active_instance_is_remembered_for_four_minutes(
    reader: LustreReader, project: LustreProject, clock: Clock
) -> None:
    await read(reader)
    clock.now += 239
    await read(reader)
    assert len(project.calls()) == 1
    clock.now += 1
    project.put("home", instance(18000))
    assert await size(reader) == 18000


@pytest.mark.parametrize("word", ["CREATING", "UPDATING", "DELETING", "UPGRADING", "SUSPENDED"])
async def test_an_instance_that_is_not_active_is_asked_for_again_soon(
    reader: LustreReader, project: LustreProject, clock: Clock, word: str
) -> None:
    project.set_state("home", word)
    assert await state(reader) == word
    project.set_state("home", "")
    clock.now += 14
    assert await state(reader) == word
    clock.now += 1
    assert await state(reader) == "ACTIVE"


@pytest.mark.parametrize("fault", [refusal("UNAUTHENTICATED"), refusal("UNAVAILABLE"), Drop()])
async def test_an_outage_does_not_undo_what_is_known_for_an_hour(
    reader: LustreReader, project: LustreProject, clock: Clock, fault: Fault
) -> None:
    known = await read(reader)
    project.fail(fault, times=-1)
    clock.now += 3599
    assert await read(reader) == known
    clock.now += 15
    assert (await read(reader)).error


async def test_after_an_outage_the_api_is_asked_again_soon(
    reader: LustreReader, project: LustreProject, clock: Clock
) -> None:
    await read(reader)
    project.fail(Drop())
    clock.now += 240
    assert await state(reader) == "ACTIVE"
    project.put("home", instance(18000))
    clock.now += 15
    assert await size(reader) == 18000


async def test_an_instance_that_is_gone_is_not_remembered(
    reader: LustreReader, project: LustreProject, clock: Clock
) -> None:
    await read(reader)
    project.remove("home")
    clock.now += 240
    assert await read(reader) == LustreFacts()


async def test_a_refusal_about_the_instance_undoes_what_was_known(
    reader: LustreReader, project: LustreProject, clock: Clock
) -> None:
    await read(reader)
    project.fail(refusal("PERMISSION_DENIED"))
    clock.now += 240
    assert (await read(reader)).error


async def test_in_an_outage_nobody_says_that_an_instance_does_not_exist(
    reader: LustreReader, project: LustreProject, clock: Clock
) -> None:
    project.remove("home")
    await read(reader)
    project.fail(Drop())
    clock.now += 15
    assert (await read(reader)).error


async def test_a_hundred_pools_that_ask_at_the_same_time_share_one_request(
    reader: LustreReader, project: LustreProject
) -> None:
    hold = project.fail(Hold(), "get")
    asking = [asyncio.create_task(read(reader)) for _ in range(100)]
    await met(hold)
    project.heal()
    answers = await asyncio.gather(*asking)
    assert len({facts.instance.state for facts in answers if facts.instance}) == 1
    assert len(project.calls("get")) == 1


async def test_a_shared_failure_is_one_request_too(reader: LustreReader, project: LustreProject) -> None:
    project.fail(refusal("UNAVAILABLE"), times=-1)
    answers = await asyncio.gather(*(read(reader) for _ in range(100)))
    assert len({facts.error for facts in answers}) == len(project.calls()) == 1


async def test_a_silent_api_about_one_instance_does_not_hold_up_another(
    reader: LustreReader, project: LustreProject
) -> None:
    hold = project.fail(Hold(), instance="home", times=-1)
    stuck = asyncio.create_task(read(reader))
    await met(hold)
    assert await state(reader, AWAY) == "ACTIVE"
    assert not stuck.done()
    project.heal()
    assert (await stuck).instance


async def test_the_first_answer_is_left_to_the_next_reader_too(
    reader: LustreReader, project: LustreProject
) -> None:
    asking = f"the Lustre API is being asked about {HOME}"
    reader.patience = 0.0
    hold = project.fail(Hold(), times=-1)
    assert [await read(reader) for _ in range(3)] == [LustreFacts(error=asking)] * 3
    await met(hold)
    project.heal()
    reader.patience = 60.0
    assert await state(reader) == "ACTIVE"
    assert len(project.calls()) == 1


async def test_a_slow_answer_leaves_what_is_known(
    reader: LustreReader, project: LustreProject, clock: Clock
) -> None:
    known = await read(reader)
    reader.patience = 0.0
    project.set_state("home", "SUSPENDED")
    project.fail(Hold(), times=-1)
    clock.now += 240
    assert [await read(reader) for _ in range(3)] == [known] * 3
    project.heal()
    reader.patience = 60.0
    assert await state(reader) == "SUSPENDED"


async def test_a_command_waits_for_the_first_answer(reader: LustreReader, project: LustreProject) -> None:
    reader.patience = 0.0
    facts = await reader.ask(HOME)
    assert facts is not None
    assert facts.instance is not None


async def test_a_reader_that_is_cancelled_does_not_take_the_answer_from_others(
    reader: LustreReader, project: LustreProject
) -> None:
    hold = project.fail(Hold())
    first, second = asyncio.create_task(read(reader)), asyncio.create_task(read(reader))
    await met(hold)
    first.cancel()
    project.heal()
    assert (await second).instance
    assert first.cancelled()
    assert len(project.calls()) == 1


async def test_what_is_forgotten_is_asked_for_again(reader: LustreReader, project: LustreProject) -> None:
    await read(reader)
    project.set_state("home", "SUSPENDED")
    reader.forget(HOME)
    assert await state(reader) == "SUSPENDED"
