"""Operations that failed, or were refused: when they are tried again, and under which request id."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtier.api.v1alpha1 import OperationStatus, PoolStatus
from kvtier.pace import DEFAULT
from kvtier.plan.lustre.operations import UNANSWERED, retry_after
from unit.builders import NOW, pool, with_status
from unit.plan.lustre.following import LATER, NAME, NEXT, NIGHT, Process
from unit.tables import table

FAILED = OperationStatus(kind="Export", subject=NIGHT.subject, state="Failed", request_id="r", start_time=NOW)
REFUSALS = (
    "Aborted",
    "AlreadyExists",
    "FailedPrecondition",
    "InvalidArgument",
    "PermissionDenied",
    "ResourceExhausted",
)


@pytest.fixture
def process() -> Process:
    return Process()


def failed(**changes: Any) -> Process:
    """A process that finds this failure in the status."""
    status = PoolStatus(
        operations=[FAILED.model_copy(update={"progress_time": NOW, "code": "Internal", **changes})]
    )
    return Process(with_status(pool(), status))


def test_a_refusal_is_a_failure_without_a_name(process: Process) -> None:
    process.at()
    process.refuse("ResourceExhausted", "the zone is full")
    found = process.at("2026-11-29T12:00:05Z")
    assert (process.status.state, process.status.code) == ("Failed", "ResourceExhausted")
    assert (process.status.message, process.status.name) == ("the zone is full", None)
    assert (found.call, found.again) == (None, 60.0)


@table(
    "attempt, code, wait",
    {
        "the first time after a minute": (1, "Internal", 60.0),
        "the second time after two": (2, "Internal", 120.0),
        "the fifth time after a quarter of an hour": (5, "ResourceExhausted", 960.0),
        "then every half hour": (6, "Internal", 1800.0),
        "for ever": (10_000, "Internal", 1800.0),
        "a busy instance is asked every minute": (9, "Aborted", 60.0),
        "so is one that is not ready": (9, "FailedPrecondition", 60.0),
        "an attempt that nobody counted is a first one": (0, "Internal", 30.0),
    },
)
def test_back_off(attempt: int, code: str, wait: float) -> None:
    one = FAILED.model_copy(update={"attempt": attempt, "code": code, "progress_time": NOW})
    assert retry_after(one, NOW, DEFAULT) == wait


def test_the_wait_begins_with_the_failure_and_not_with_the_request() -> None:
    process = failed(start_time="2026-11-29T01:00:00Z")
    assert process.at("2026-11-29T12:00:20Z").again == 40.0
    assert process.at("2026-11-29T12:00:59Z").call is None
    assert process.at("2026-11-29T12:01:00Z").call is not None


def test_another_attempt_starts_afresh() -> None:
    process = failed(name=NAME, message="no", attempt=3)
    process.at(LATER)
    assert (process.status.state, process.status.attempt, process.status.start_time) == ("Running", 4, LATER)
    assert (process.status.name, process.status.code, process.status.message) == (None, None, None)


@pytest.mark.parametrize("code", REFUSALS)
def test_after_a_refusal_the_next_attempt_is_another_request(process: Process, code: str) -> None:
    asked = process.at()
    process.refuse(code)
    process.at()
    found = process.at(LATER)
    assert asked.call is not None
    assert found.call is not None
    assert found.call.request != asked.call.request


@pytest.mark.parametrize("code", UNANSWERED)
def test_a_request_that_may_have_been_carried_out_is_repeated_as_it_was(process: Process, code: str) -> None:
    asked = process.at()
    process.refuse(code)
    process.at()
    assert process.status.state == "Failed"
    assert process.at("2026-11-29T12:00:59Z").call is None
    found = process.at(LATER)
    assert found.call == asked.call
    assert (process.status.state, process.status.attempt) == ("Running", 2)


def test_an_answer_that_came_after_all_is_taken(process: Process) -> None:
    process.at()
    process.refuse("DeadlineExceeded")
    process.at()
    process.answer()
    found = process.at(LATER)
    assert (found.call, process.status.state, process.status.name) == (None, "Running", NAME)


def test_an_operation_that_itself_ran_into_a_deadline_is_started_anew(process: Process) -> None:
    asked = process.at()
    process.answer(done=True, code="DeadlineExceeded")
    process.at()
    found = process.at(LATER)
    assert asked.call is not None
    assert found.call is not None
    assert found.call.request != asked.call.request


def test_a_process_that_dies_over_a_retry_repeats_just_that(process: Process) -> None:
    process.at()
    process.refuse("ResourceExhausted")
    process.at()
    process.answers.clear()
    first = process.dying(LATER)
    assert first.call is not None
    assert process.at("2026-11-29T13:00:30Z").call == first.call


def test_an_operation_that_the_api_has_forgotten_is_tried_again(process: Process) -> None:
    process.at()
    process.answer(done=True, code="NotFound", message="no such operation")
    assert process.at().again == 60.0
    assert process.at(LATER).call is not None


def test_another_wish_counts_its_attempts_anew() -> None:
    process = failed(attempt=7)
    process.at(wish=NEXT)
    assert process.status.attempt == 1


@table(
    "message, problems, told",
    {
        "what the API says": ("no", (), "no"),
        "what it says about objects": (
            "",
            ("gs://a: denied", "gs://b: denied"),
            "gs://a: denied; gs://b: denied",
        ),
        "both": ("some failed", ("gs://a: denied",), "some failed; gs://a: denied"),
        "nothing": ("", (), None),
        "no more than the status takes": ("x" * 990, ("y" * 5000,), "x" * 990 + "; " + "y" * 8),
        "a message of letters of any kind": ("ä\n😀" * 2000, (), ("ä\n😀" * 2000)[:1000]),
    },
)
def test_messages(process: Process, message: str, problems: tuple[str, ...], told: str | None) -> None:
    process.at()
    process.answer(done=True, code="Internal", message=message, problems=problems)
    process.at()
    assert process.status.message == told
    OperationStatus.model_validate(process.status.model_dump(by_alias=True))


@pytest.mark.parametrize("garbage", ["soon", "2026-13-45T99:00:00Z"])
def test_a_time_that_cannot_be_read_was_long_ago(garbage: str) -> None:
    process = failed(progress_time=garbage)
    assert process.at().call is not None


def test_a_failure_without_a_time_of_its_own_counts_from_the_request() -> None:
    process = failed(progress_time=None, start_time="2026-11-29T11:59:30Z")
    assert process.at().again == 30.0


@table(
    "noted, wait",
    {
        "a clock that is a little behind is waited for": ("2026-11-29T12:00:30Z", 90.0),
        "a clock that was years ahead is not": ("2031-01-01T00:00:00Z", None),
    },
)
def test_clocks(noted: str, wait: float | None) -> None:
    found = failed(progress_time=noted).at()
    assert (found.again if found.call is None else None) == wait


@given(st.integers(-5, 10**6), st.text(max_size=30), st.sampled_from(["Internal", "Aborted", "", "Odd"]))
def test_whatever_the_status_says_there_is_a_next_step(attempt: int, time: str, code: str) -> None:
    found = failed(attempt=attempt, progress_time=time, code=code).at()
    assert found.call is not None or (found.again is not None and 0 < found.again <= 1800.0)
