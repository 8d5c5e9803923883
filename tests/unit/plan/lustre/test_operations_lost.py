"""Requests and answers that get lost: nothing is asked for twice, nothing is forgotten."""

import pytest

from kvtier.facts.model import Operation
from kvtier.plan.lustre.operations import POLL_SECONDS, Followed
from unit.plan.lustre.following import LATER, NAME, NEXT, NIGHT, Process

MINUTE = "2026-11-29T12:01:00Z"


@pytest.fixture
def process() -> Process:
    return Process()


def test_a_process_that_dies_before_the_status_is_written_repeats_its_request(process: Process) -> None:
    first, second = process.dying(), process.at(MINUTE)
    assert first.call is not None
    assert first.call == second.call


def test_a_request_whose_status_was_not_written_is_found_again(process: Process) -> None:
    lost = process.dying()
    assert lost.call is not None
    process.answers[lost.call.request] = Operation(NAME)
    found = process.at(MINUTE)
    assert (found.call, found.again) == (None, POLL_SECONDS)
    assert (process.status.name, process.status.request_id) == (NAME, lost.call.request)


def test_a_request_that_no_answer_came_to_is_repeated_after_a_restart(process: Process) -> None:
    asked = process.at()
    found = process.at(LATER)
    assert found.call == asked.call
    assert (process.status.attempt, found.again) == (1, POLL_SECONDS)


def test_a_request_under_way_is_not_repeated(process: Process) -> None:
    process.at()
    process.answer("")
    found = process.at(MINUTE)
    assert (found.call, found.again, process.status.state) == (None, POLL_SECONDS, "Running")


def test_an_operation_with_a_name_is_followed_and_not_repeated_after_a_restart(process: Process) -> None:
    process.at()
    process.answer()
    process.at(MINUTE)
    process.answers.clear()
    found = process.at(LATER)
    assert (found.call, found.again, process.status.name) == (None, POLL_SECONDS, NAME)
    process.answer(done=True)
    process.at(LATER)
    assert process.status.state == "Succeeded"


def test_an_answer_without_the_name_does_not_lose_it(process: Process) -> None:
    process.at()
    process.answer()
    process.at(MINUTE)
    process.answer("")
    process.at(LATER)
    assert process.status.name == NAME


def test_an_api_that_does_not_answer_changes_nothing(process: Process) -> None:
    process.at()
    process.answer()
    process.at(MINUTE)
    before, process.blind = process.status, True
    assert process.at(LATER).call is None
    assert process.status == before


def test_a_lost_request_that_nobody_wants_any_more_is_forgotten(process: Process) -> None:
    process.at()
    assert process.at(LATER, wish=None) == Followed()


def test_a_lost_request_does_not_hold_up_the_next_wish(process: Process) -> None:
    lost = process.at()
    found = process.at(LATER, NEXT)
    assert lost.call is not None
    assert found.call is not None
    assert found.call.request != lost.call.request
    assert (process.status.subject, process.status.attempt) == (NEXT.subject, 1)


def test_another_process_may_ask_for_the_next_one_only_once_too(process: Process) -> None:
    process.at()
    process.answer(done=True)
    process.at(MINUTE)
    process.answers.clear()
    assert process.dying(wish=NEXT).call == process.dying(LATER, NEXT).call


def test_a_pool_of_the_same_name_makes_requests_of_its_own() -> None:
    first, second = Process(), Process()
    second.pool.metadata["uid"] = "another"
    calls = [one.at(wish=NIGHT).call for one in (first, second)]
    assert calls[0] is not None
    assert calls[1] is not None
    assert calls[0].request != calls[1].request
