"""Requests that many share, and answers that are kept."""

import asyncio

import pytest

from kvtier.facts.asking import Answer, SingleFlight
from unit import virtual_time
from unit.tables import table
from unit.virtual_time import in_virtual_time

HOUR = 3600.0


class SlowApi:
    """Takes 10 s for a request, and refuses to answer about `broken`."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.answers: list[str] = []

    async def ask(self, subject: str) -> None:
        self.requests.append(subject)
        await asyncio.sleep(10)
        if subject == "broken":
            raise ValueError("no sense")
        self.answers.append(subject)


def slow_api() -> tuple[SlowApi, SingleFlight[str]]:
    api = SlowApi()
    return api, SingleFlight(api.ask)


@in_virtual_time
async def test_a_hundred_callers_share_one_request_and_the_next_one_makes_another() -> None:
    api, flight = slow_api()
    await asyncio.gather(*(flight.join("a", None) for _ in range(100)))
    assert (api.requests, api.answers) == (["a"], ["a"])
    await flight.join("a", None)
    assert len(api.requests) == 2


@in_virtual_time
async def test_a_caller_waits_no_longer_than_its_patience_and_the_request_goes_on() -> None:
    api, flight = slow_api()
    for waited in (2, 4):
        await flight.join("a", 2)
        assert (virtual_time.now(), api.answers) == (waited, [])
    await flight.join("a", 60)
    assert (virtual_time.now(), api.answers, api.requests) == (10, ["a"], ["a"])


@in_virtual_time
async def test_a_request_about_one_thing_does_not_hold_up_another() -> None:
    api, flight = slow_api()
    await flight.join("a", 5)
    await flight.join("b", 6)
    assert api.answers == ["a"]


@in_virtual_time
async def test_a_caller_that_is_cancelled_does_not_take_the_answer_from_others() -> None:
    api, flight = slow_api()
    first, second = (asyncio.create_task(flight.join("a", None)) for _ in range(2))
    await asyncio.sleep(1)
    first.cancel()
    await second
    assert first.cancelled()
    assert (api.requests, api.answers) == (["a"], ["a"])


@in_virtual_time
async def test_an_error_that_nobody_expects_reaches_all_who_wait() -> None:
    api, flight = slow_api()
    ends = await asyncio.gather(*(flight.join("broken", None) for _ in range(2)), return_exceptions=True)
    assert [str(end) for end in ends] == ["no sense"] * 2
    assert api.requests == ["broken"]


def answer(value: str | None = "known") -> Answer[str]:
    """An answer that was given at time 0."""
    made: Answer[str] = Answer("asking")
    made.succeed(value, 0.0)
    return made


def test_before_the_first_answer_the_error_says_so() -> None:
    assert Answer("asking").error == "asking"


@table(
    "known, at, final, value, error",
    {
        "an outage does not undo a value for an hour": ("known", HOUR - 1, False, "known", None),
        "after an hour it does": ("known", HOUR, False, None, "down"),
        "a refusal about this very thing undoes it at once": ("known", 1.0, True, None, "down"),
        "that a thing does not exist outlives no outage": (None, 1.0, False, None, "down"),
    },
)
def test_a_failure(known: str | None, at: float, final: bool, value: str | None, error: str | None) -> None:
    kept = answer(known)
    kept.fail("down", at, final=final)
    assert (kept.value, kept.error, kept.failure) == (value, error, "down")


def test_an_answer_ends_a_failure_and_counts_for_another_hour() -> None:
    kept = answer()
    kept.fail("down", HOUR, final=False)
    kept.succeed("new", HOUR + 1)
    kept.fail("down", 2 * HOUR, final=False)
    assert (kept.value, kept.error) == ("new", None)


def test_a_failure_is_logged_when_it_is_new(caplog: pytest.LogCaptureFixture) -> None:
    kept = answer()
    for failure in ("down", "down", "refused", "down"):
        kept.fail(failure, 1.0, final=False)
    assert [record.message for record in caplog.records] == ["down", "refused", "down"]
