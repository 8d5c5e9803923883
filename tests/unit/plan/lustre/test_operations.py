"""Operations of the Lustre API, followed from request to end, whatever gets lost on the way."""

import uuid
from dataclasses import replace
from typing import Any

import pytest

from kvtier.facts.model import Counters, LustreFacts, Operation
from kvtier.facts.operations import Kind, operations_of
from kvtier.plan.lustre.operations import POLL_SECONDS, Followed, follow
from unit.builders import NOW
from unit.plan.lustre.following import INSTANCE, LATER, NAME, NEXT, NIGHT, Process
from unit.tables import table

MINUTE = "2026-11-29T12:01:00Z"


@pytest.fixture
def process() -> Process:
    return Process()


def test_nothing_is_done_without_a_wish(process: Process) -> None:
    assert process.at(wish=None) == Followed()


def test_a_wish_is_asked_for(process: Process) -> None:
    found = process.at()
    assert found.call is not None
    assert (found.call.verb, found.call.instance, found.call.body) == ("export", INSTANCE, NIGHT.body)
    assert str(uuid.UUID(found.call.request)) == process.status.request_id
    assert (process.status.state, process.status.attempt, process.status.name) == ("Running", 1, None)
    assert (process.status.start_time, process.status.progress_time) == (NOW, NOW)
    assert found.again == POLL_SECONDS


@pytest.mark.parametrize("kind", ["Create", "Update", "Import", "Export", "Delete"])
def test_every_kind_has_its_verb(kind: Kind) -> None:
    found = Process().at(wish=replace(NIGHT, kind=kind), kind=kind)
    assert [call.verb for call in found.calls] == [kind.lower()]


def test_kinds_do_not_get_in_each_others_way(process: Process) -> None:
    process.at()
    seen = operations_of(process.pool, LustreFacts(), NOW)
    found = follow(seen, "Import", replace(NIGHT, kind="Import"))
    assert found.call is not None
    assert found.call.request != process.status.request_id


@table(
    "fields, state, code",
    {
        "one under way runs": ({}, "Running", None),
        "one that ends well has succeeded": ({"done": True}, "Succeeded", None),
        "a transfer without failures has succeeded": (
            {"done": True, "counters": Counters(found=3, copied=2, skipped=1)},
            "Succeeded",
            None,
        ),
        "one that ends with an error has failed": ({"done": True, "code": "Internal"}, "Failed", "Internal"),
        "a transfer of which objects failed has failed": (
            {"done": True, "counters": Counters(found=3, copied=2, failed=1)},
            "Failed",
            "ObjectsFailed",
        ),
        "objects that fail meanwhile do not end it": ({"counters": Counters(failed=1)}, "Running", None),
    },
)
def test_how_it_stands(process: Process, fields: dict[str, Any], state: str, code: str | None) -> None:
    process.at()
    process.answer(**fields)
    found = process.at(MINUTE)
    assert (process.status.state, process.status.code, process.status.name) == (state, code, NAME)
    assert found.call is None


def test_counters_are_told(process: Process) -> None:
    process.at()
    process.answer(counters=Counters(9, 4, 3, 2, 900, 400, 300, 200))
    process.at(MINUTE)
    copied = process.status.transfer
    assert copied is not None
    assert (copied.objects_found, copied.objects_copied, copied.objects_skipped) == (9, 4, 3)
    assert (copied.objects_failed, copied.bytes_found, copied.bytes_copied) == (2, 900, 400)


def test_the_time_of_progress_moves_only_with_progress(process: Process) -> None:
    process.at()
    process.answer(counters=Counters(found=3, copied=1))
    process.at(MINUTE)
    assert process.status.progress_time == MINUTE
    process.at("2026-11-29T12:02:00Z")
    assert process.status.progress_time == MINUTE
    process.answer(counters=Counters(found=3, copied=2))
    process.at("2026-11-29T12:03:00Z")
    assert process.status.progress_time == "2026-11-29T12:03:00Z"
    assert process.status.start_time == NOW


@table(
    "answer",
    {
        "while it runs": Operation(NAME),
        "while its request is under way": Operation(),
        "after it has succeeded": Operation(NAME, done=True),
        "after it has failed": Operation(NAME, done=True, code="Internal", message="no"),
        "after it was refused": Operation(done=True, code="InvalidArgument", message="no"),
    },
)
def test_a_second_look_changes_nothing(process: Process, answer: Operation) -> None:
    process.at()
    process.answers[process.status.request_id] = answer
    process.at("2026-11-29T12:00:10Z")
    before = process.status
    found = process.at("2026-11-29T12:00:20Z")
    assert process.status == before
    assert found.call is None


def test_what_is_done_is_not_done_again(process: Process) -> None:
    process.at()
    process.answer(done=True)
    assert process.at(MINUTE).again is None
    process.answers.clear()
    found = process.at("2027-11-29T12:00:00Z")
    assert (found.call, found.again) == (None, None)
    assert process.status.state == "Succeeded"


def test_an_answer_that_comes_late_does_not_reopen_what_is_over(process: Process) -> None:
    process.at()
    process.answer(done=True)
    process.at(MINUTE)
    process.answer()
    process.at(LATER)
    assert process.status.state == "Succeeded"


def test_what_nobody_wishes_for_any_more_is_followed_to_its_end(process: Process) -> None:
    process.at()
    process.answer()
    found = process.at(MINUTE, wish=None)
    assert (process.status.state, found.again, found.call) == ("Running", POLL_SECONDS, None)
    process.answer(done=True)
    found = process.at(LATER, wish=None)
    assert (process.status.state, found.again) == ("Succeeded", None)


def test_a_failure_that_nobody_wishes_to_mend_is_only_reported(process: Process) -> None:
    process.at()
    process.answer(done=True, code="Internal")
    process.at(MINUTE, wish=None)
    found = process.at(LATER, wish=None)
    assert (process.status.state, found.call, found.again) == ("Failed", None, None)


def test_a_new_wish_waits_for_the_one_that_runs(process: Process) -> None:
    process.at()
    process.answer()
    assert process.at(MINUTE, NEXT).call is None
    assert process.status.subject == NIGHT.subject
    process.answer(done=True)
    found = process.at(LATER, NEXT)
    assert found.call is not None
    assert (process.status.subject, process.status.state, process.status.attempt) == (
        NEXT.subject,
        "Running",
        1,
    )
    assert (process.status.name, process.status.transfer) == (None, None)


def test_a_new_wish_does_not_wait_for_the_retry_of_another(process: Process) -> None:
    process.at()
    process.answer(done=True, code="Internal")
    found = process.at("2026-11-29T12:00:01Z", NEXT)
    assert found.call is not None
    assert (process.status.subject, process.status.attempt, process.status.code) == (NEXT.subject, 1, None)


def test_the_wish_before_last_is_another_request(process: Process) -> None:
    requests = []
    for wish in (NIGHT, NEXT, NIGHT):
        found = process.at(wish=wish)
        assert found.call is not None, "an old answer was taken for a new one"
        requests.append(found.call.request)
        process.answer(done=True)
        process.at(wish=wish)
    assert len(set(requests)) == 3
