"""Shared requests and cached answers."""

import asyncio

import pytest

from kvtier.facts.asking import Answer, Recent, SingleFlight
from unit import virtual_time
from unit.tables import table
from unit.virtual_time import in_virtual_time

HOUR = 3600.0


class SlowApi:
    """Takes 10 s for a request, and fails for `broken`."""

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
async def test_a_hundred_callers_share_one_request_and_a_later_caller_makes_another() -> None:
    api, flight = slow_api()
    await asyncio.gather(*(flight.join("a", None) for _ in range(100)))
    assert (api.requests, api.answers) == (["a"], ["a"])
    await flight.join("a", None)
    assert len(api.requests) == 2


@in_virtual_time
async def test_a_caller_waits_at_most_its_patience_and_the_request_continues() -> None:
    api, flight = slow_api()
    for waited in (2, 4):
        await flight.join("a", 2)
        assert (virtual_time.now(), api.answers) == (waited, [])
    await flight.join("a", 60)
    assert (virtual_time.now(), api.answers, api.requests) == (10, ["a"], ["a"])


@in_virtual_time
async def test_a_request_for_one_key_does_not_delay_another() -> None:
    api, flight = slow_api()
    await flight.join("a", 5)
    await flight.join("b", 6)
    assert api.answers == ["a"]


@in_virtual_time
async def test_a_cancelled_caller_does_not_cancel_the_request_of_others() -> None:
    api, flight = slow_api()
    first, second = (asyncio.create_task(flight.join("a", None)) for _ in range(2))
    await asyncio.sleep(1)
    first.cancel()
    await second
    assert first.cancelled()
    assert (api.requests, api.answers) == (["a"], ["a"])


@in_virtual_time
async def test_an_unexpected_error_reaches_all_callers() -> None:
    api, flight = slow_api()
    ends = await asyncio.gather(*(flight.join("broken", None) for _ in range(2)), return_exceptions=True)
    assert [str(end) for end in ends] == ["no sense"] * 2
    assert api.requests == ["broken"]


def answer(value: str | None = "known") -> Answer[str]:
    """An answer from time 0."""
    made: Answer[str] = Answer("asking")
    made.succeed(value, 0.0)
    return made


def test_before_the_first_answer_there_is_an_error() -> None:
    assert Answer("asking").error == "asking"


@table(
    "known, at, final, value, error",
    {
        "a value stays valid during an outage of an hour": ("known", HOUR - 1, False, "known", None),
        "after an hour the value is dropped": ("known", HOUR, False, None, "down"),
        "after a final failure the value is dropped at once": ("known", 1.0, True, None, "down"),
        "a missing resource is unknown during an outage": (None, 1.0, False, None, "down"),
    },
)
def test_a_failure(known: str | None, at: float, final: bool, value: str | None, error: str | None) -> None:
    kept = answer(known)
    kept.fail("down", at, final=final)
    assert (kept.value, kept.error, kept.failure) == (value, error, "down")


def test_an_answer_ends_a_failure_and_is_valid_for_another_hour() -> None:
    kept = answer()
    kept.fail("down", HOUR, final=False)
    kept.succeed("new", HOUR + 1)
    kept.fail("down", 2 * HOUR, final=False)
    assert (kept.value, kept.error) == ("new", None)


def test_a_new_failure_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    kept = answer()
    for failure in ("down", "down", "refused", "down"):
        kept.fail(failure, 1.0, final=False)
    assert [record.message for record in caplog.records] == ["down", "refused", "down"]


def test_what_nobody_asked_for_in_an_hour_is_forgotten() -> None:
    time, made = [0.0], list[str]()

    def make(key: str) -> str:
        made.append(key)
        return key.upper()

    recent = Recent(make, lambda: time[0])
    for now, keys in ((0.0, "ab"), (HOUR, "a"), (HOUR + 1, "cab")):
        time[0] = now
        assert [recent.get(key) for key in keys] == [*keys.upper()]
    assert made == ["a", "b", "c", "b"]
