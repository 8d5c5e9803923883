"""Operations of the Lustre API, from the request to the end, with failures and lost responses."""

import uuid
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtier.api.v1alpha1 import KVCachePool, OperationStatus, PoolStatus
from kvtier.facts.model import Counters, LustreFacts, Operation
from kvtier.facts.operations import Kind, operations_of
from kvtier.pace import DEFAULT
from kvtier.plan.lustre.operations import UNANSWERED, DesiredOperation, Followed, follow, retry_after
from kvtier.plan.model import Call
from unit.builders import NOW, pool, with_status
from unit.tables import table

INSTANCE = "projects/p/locations/us-central1-a/instances/i"
NAME = "projects/p/locations/us-central1-a/operations/op"
NIGHT = DesiredOperation("Export", "2026-11-29T03:00:00Z", INSTANCE, {"uri": "gs://bucket/", "path": "/a/"})
NEXT = replace(NIGHT, subject="2026-11-30T03:00:00Z")
FAILED = OperationStatus(kind="Export", subject=NIGHT.subject, state="Failed", request_id="r", start_time=NOW)
MINUTE, LATER = "2026-11-29T12:01:00Z", "2026-11-29T13:00:00Z"
REFUSALS = (
    "Aborted",
    "AlreadyExists",
    "FailedPrecondition",
    "InvalidArgument",
    "PermissionDenied",
    "ResourceExhausted",
)


class Process:
    """One process with the responses of the API. The next process starts with only the pool's status."""

    def __init__(self, of: KVCachePool | None = None) -> None:
        self.pool = of or pool()
        self.answers: dict[str, Operation] = {}
        self.found = Followed()

    def at(self, now: str = NOW, desired: DesiredOperation | None = NIGHT, kind: Kind = "Export") -> Followed:
        """Follow, and write the status."""
        self.found = self.dying(now, desired, kind)
        self.pool = with_status(self.pool, PoolStatus(operations=list(self.found.operations)))
        return self.found

    def dying(
        self, now: str = NOW, desired: DesiredOperation | None = NIGHT, kind: Kind = "Export"
    ) -> Followed:
        """Follow, and stop before the status is written."""
        known = operations_of(self.pool, LustreFacts(operations=dict(self.answers)), now)
        return follow(known, kind, desired)

    def asks(self, now: str = NOW, desired: DesiredOperation = NIGHT) -> Call:
        """Follow, and send the request that is due."""
        call = self.at(now, desired).call
        assert call is not None, "nothing is requested"
        return call

    def answer(self, name: str = NAME, **fields: Any) -> None:
        """The response of the API to the last request."""
        self.answers[self.status.request_id] = Operation(name, **fields)

    def refuse(self, code: str, message: str = "no") -> None:
        """The API refuses the last request."""
        self.answer("", done=True, code=code, message=message)

    @property
    def status(self) -> OperationStatus:
        return self.pool.status.operations[0]

    @property
    def attempt(self) -> tuple[str, str, int]:
        return self.status.subject, self.status.state, self.status.attempt


@pytest.fixture
def process() -> Process:
    return Process()


@pytest.fixture
def running(process: Process) -> Process:
    """The API accepted the request."""
    process.at()
    process.answer()
    process.at(MINUTE)
    return process


def failed(**changes: Any) -> Process:
    """A process whose status has this failure."""
    found = {"progress_time": NOW, "code": "Internal", **changes}
    return Process(with_status(pool(), PoolStatus(operations=[FAILED.model_copy(update=found)])))


def test_nothing_is_requested_that_is_not_desired(process: Process) -> None:
    assert process.at(desired=None) == Followed()


def test_a_desired_operation_is_requested(process: Process) -> None:
    call = process.asks()
    assert (call.verb, call.instance, call.body) == ("export", INSTANCE, NIGHT.body)
    assert str(uuid.UUID(call.request)) == process.status.request_id
    assert (process.attempt, process.status.name) == ((NIGHT.subject, "Running", 1), None)
    assert (process.status.start_time, process.status.progress_time) == (NOW, NOW)
    assert process.found.again == DEFAULT.moving


@pytest.mark.parametrize("kind", ["Create", "Update", "Import", "Export", "Delete"])
def test_every_kind_has_its_verb(kind: Kind) -> None:
    found = Process().at(desired=replace(NIGHT, kind=kind), kind=kind)
    assert [call.verb for call in found.calls] == [kind.lower()]


def test_kinds_are_independent(process: Process) -> None:
    first = process.asks()
    found = process.dying(desired=replace(NIGHT, kind="Import"), kind="Import")
    assert found.call is not None
    assert found.call.request != first.request


@table(
    "fields, state, code",
    {
        "an operation in progress runs": ({}, "Running", None),
        "an operation that ends without an error succeeded": ({"done": True}, "Succeeded", None),
        "a transfer without failures succeeded": (
            {"done": True, "counters": Counters(found=3, copied=2, skipped=1)},
            "Succeeded",
            None,
        ),
        "an operation that ends with an error failed": (
            {"done": True, "code": "Internal"},
            "Failed",
            "Internal",
        ),
        "a transfer with failed objects failed": (
            {"done": True, "counters": Counters(found=3, copied=2, failed=1)},
            "Failed",
            "ObjectsFailed",
        ),
        "failed objects do not end a transfer": ({"counters": Counters(failed=1)}, "Running", None),
    },
)
def test_the_state_of_an_operation(
    process: Process, fields: dict[str, Any], state: str, code: str | None
) -> None:
    process.at()
    process.answer(**fields)
    assert process.at(MINUTE).call is None
    assert (process.status.state, process.status.code, process.status.name) == (state, code, NAME)


def test_counters_are_reported(running: Process) -> None:
    running.answer(counters=Counters(9, 4, 3, 2, 900, 400))
    running.at(LATER)
    copied = running.status.transfer
    assert copied is not None
    assert (copied.objects_found, copied.objects_copied, copied.objects_skipped) == (9, 4, 3)
    assert (copied.objects_failed, copied.bytes_found, copied.bytes_copied) == (2, 900, 400)


def test_the_time_of_progress_moves_only_with_progress(process: Process) -> None:
    process.at()
    for copied, now, progress in (
        (1, MINUTE, MINUTE),
        (1, "2026-11-29T12:02:00Z", MINUTE),
        (2, "2026-11-29T12:03:00Z", "2026-11-29T12:03:00Z"),
    ):
        process.answer(counters=Counters(found=3, copied=copied))
        process.at(now)
        assert (process.status.progress_time, process.status.start_time) == (progress, NOW)


@table(
    "answer",
    {
        "while it runs": Operation(NAME),
        "while its request is in progress": Operation(),
        "after it has succeeded": Operation(NAME, done=True),
        "after it has failed": Operation(NAME, done=True, code="Internal", message="no"),
        "after it was refused": Operation(done=True, code="InvalidArgument", message="no"),
    },
)
def test_a_second_reconciliation_changes_nothing(process: Process, answer: Operation) -> None:
    process.at()
    process.answers[process.status.request_id] = answer
    process.at("2026-11-29T12:00:10Z")
    before = process.status
    assert process.at("2026-11-29T12:00:20Z").call is None
    assert process.status == before


@table(
    "late",
    {"when the API no longer returns it": None, "when an older response comes late": Operation(NAME)},
)
def test_a_succeeded_operation_is_not_repeated(running: Process, late: Operation | None) -> None:
    running.answer(done=True)
    assert running.at(MINUTE).again is None
    running.answers = {running.status.request_id: late} if late else {}
    found = running.at("2027-11-29T12:00:00Z")
    assert (found.call, found.again, running.status.state) == (None, None, "Succeeded")


@table("code, state", {"to its success": ("", "Succeeded"), "to its failure": ("Internal", "Failed")})
def test_an_operation_that_is_no_longer_desired_is_followed_to_its_end(
    running: Process, code: str, state: str
) -> None:
    found = running.at(MINUTE, desired=None)
    assert (running.status.state, found.again, found.call) == ("Running", DEFAULT.moving, None)
    running.answer(done=True, code=code)
    for now in (LATER, "2026-11-29T15:00:00Z"):
        found = running.at(now, desired=None)
        assert (running.status.state, found.again, found.call) == (state, None, None)


def test_the_next_operation_waits_for_the_running_one(running: Process) -> None:
    assert running.at(MINUTE, NEXT).call is None
    assert running.status.subject == NIGHT.subject
    running.answer(done=True)
    running.asks(LATER, NEXT)
    assert running.attempt == (NEXT.subject, "Running", 1)
    assert (running.status.name, running.status.transfer) == (None, None)


def test_the_next_operation_does_not_wait_for_the_retry_of_another_and_counts_its_own_attempts() -> None:
    process = failed(attempt=7)
    process.asks("2026-11-29T12:00:01Z", NEXT)
    assert (process.attempt, process.status.code) == ((NEXT.subject, "Running", 1), None)


def test_an_operation_that_is_desired_again_after_another_is_a_new_request(process: Process) -> None:
    requests = set()
    for desired in (NIGHT, NEXT, NIGHT):
        requests.add(process.asks(desired=desired).request)
        process.answer(done=True)
        process.at(desired=desired)
    assert len(requests) == 3


def test_another_pool_of_the_same_name_sends_other_requests(process: Process) -> None:
    other = Process(pool(metadata={"uid": "another"}))
    assert process.asks().request != other.asks().request


# Failures and retries.


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
        "the first retry after a minute": (1, "Internal", 60.0),
        "the second after two minutes": (2, "Internal", 120.0),
        "the fifth after 16 minutes": (5, "ResourceExhausted", 960.0),
        "then every 30 minutes": (6, "Internal", 1800.0),
        "without an end": (10_000, "Internal", 1800.0),
        "every minute for a busy instance": (9, "Aborted", 60.0),
        "every minute for an instance that is not ready": (9, "FailedPrecondition", 60.0),
        "an attempt without a number counts as the first": (0, "Internal", 30.0),
    },
)
def test_back_off(attempt: int, code: str, wait: float) -> None:
    one = FAILED.model_copy(update={"attempt": attempt, "code": code, "progress_time": NOW})
    assert retry_after(one, NOW, DEFAULT) == wait


@table(
    "noted, wait",
    {
        "from the failure on": ({"start_time": "2026-11-29T01:00:00Z"}, 60.0),
        "from the request on, if the failure has no time": (
            {"progress_time": None, "start_time": "2026-11-29T11:59:30Z"},
            30.0,
        ),
        "from a failure in the near future, by a wrong clock": (
            {"progress_time": "2026-11-29T12:00:30Z"},
            90.0,
        ),
        "not for a failure years ahead": ({"progress_time": "2031-01-01T00:00:00Z"}, None),
        "not for a time that is not a time": ({"progress_time": "soon"}, None),
        "not for a time that does not exist": ({"progress_time": "2026-13-45T99:00:00Z"}, None),
    },
)
def test_a_retry_waits(noted: dict[str, Any], wait: float | None) -> None:
    found = failed(**noted).at()
    assert (found.again if found.call is None else None) == wait


def test_a_failed_operation_is_retried_after_the_delay() -> None:
    process = failed(name=NAME, message="no", attempt=3)
    assert process.at("2026-11-29T12:03:59Z").again == 1.0
    process.asks("2026-11-29T12:04:00Z")
    assert process.attempt == (NIGHT.subject, "Running", 4)
    assert process.status.start_time == "2026-11-29T12:04:00Z"
    assert (process.status.name, process.status.code, process.status.message) == (None, None, None)


@given(st.integers(-5, 10**6), st.text(max_size=30), st.sampled_from(["Internal", "Aborted", "", "Odd"]))
def test_any_status_has_a_next_step(attempt: int, time: str, code: str) -> None:
    found = failed(attempt=attempt, progress_time=time, code=code).at()
    assert found.call is not None or (found.again is not None and 0 < found.again <= 1800.0)


@table(
    "name, code, same",
    {
        **{f"{code} refuses the request": ("", code, False) for code in REFUSALS},
        **{f"after {code} the API may have carried it out": ("", code, True) for code in UNANSWERED},
        "the operation itself exceeded a deadline": (NAME, "DeadlineExceeded", False),
        "the API does not know the operation": (NAME, "NotFound", False),
    },
)
def test_only_a_request_that_the_api_may_have_carried_out_is_repeated_unchanged(
    process: Process, name: str, code: str, same: bool
) -> None:
    first = process.asks()
    process.answer(name, done=True, code=code, message="no")
    assert process.at().again == 60.0
    assert process.attempt == (NIGHT.subject, "Failed", 1)
    again = process.asks(LATER)
    assert process.attempt == (NIGHT.subject, "Running", 2)
    assert (again == first) is same


def test_a_late_response_counts(process: Process) -> None:
    process.at()
    process.refuse("DeadlineExceeded")
    process.at()
    process.answer()
    assert process.at(LATER).call is None
    assert (process.status.state, process.status.name) == ("Running", NAME)


@table(
    "message, problems, reported",
    {
        "the message of the API": ("no", (), "no"),
        "errors of objects": (
            "",
            ("gs://a: denied", "gs://b: denied"),
            "gs://a: denied; gs://b: denied",
        ),
        "both": ("some failed", ("gs://a: denied",), "some failed; gs://a: denied"),
        "nothing": ("", (), None),
        "at most what the status allows": ("x" * 990, ("y" * 5000,), "x" * 990 + "; " + "y" * 8),
        "a message with any characters": ("ä\n😀" * 2000, (), ("ä\n😀" * 2000)[:1000]),
    },
)
def test_messages(process: Process, message: str, problems: tuple[str, ...], reported: str | None) -> None:
    process.at()
    process.answer(done=True, code="Internal", message=message, problems=problems)
    process.at()
    assert process.status.message == reported
    OperationStatus.model_validate(process.status.model_dump(by_alias=True))


# Lost requests and responses: no operation is requested twice, none is forgotten.


def test_a_process_that_stopped_before_it_wrote_the_status_repeats_its_request(process: Process) -> None:
    assert process.dying().call == process.asks(MINUTE)


def test_the_next_request_is_repeated_after_a_restart(running: Process) -> None:
    running.answer(done=True)
    running.at(MINUTE)
    running.answers.clear()
    assert running.dying(desired=NEXT).call == running.asks(LATER, NEXT)


def test_a_retry_is_repeated_after_a_restart() -> None:
    process = failed(code="ResourceExhausted")
    assert process.dying(LATER).call == process.asks("2026-11-29T13:00:30Z")


def test_a_request_without_status_is_found_again(process: Process) -> None:
    lost = process.dying().call
    assert lost is not None
    process.answers[lost.request] = Operation(NAME)
    found = process.at(MINUTE)
    assert (found.call, found.again) == (None, DEFAULT.moving)
    assert (process.status.name, process.status.request_id) == (NAME, lost.request)


def test_a_request_without_response_is_repeated_after_a_restart(process: Process) -> None:
    assert process.asks() == process.asks(LATER)
    assert (process.status.attempt, process.found.again) == (1, DEFAULT.moving)


def test_a_request_in_progress_is_not_repeated(process: Process) -> None:
    process.at()
    process.answer("")
    found = process.at(MINUTE)
    assert (found.call, found.again, process.status.state) == (None, DEFAULT.moving, "Running")


def test_an_operation_with_a_name_is_followed_and_not_repeated_after_a_restart(running: Process) -> None:
    running.answers.clear()
    before = running.status
    found = running.at(LATER)
    assert (found.call, found.again, running.status) == (None, DEFAULT.moving, before)
    running.answer("")
    running.at(LATER)
    assert running.status.name == NAME, "an answer without the name does not lose it"
    running.answer(done=True)
    running.at(LATER)
    assert running.status.state == "Succeeded"


def test_a_lost_request_that_is_no_longer_desired_is_dropped(process: Process) -> None:
    process.at()
    assert process.at(LATER, desired=None) == Followed()


def test_a_lost_request_does_not_block_the_next_one(process: Process) -> None:
    assert process.asks().request != process.asks(LATER, NEXT).request
    assert process.attempt == (NEXT.subject, "Running", 1)
