"""How long facts of an instance and its operations are cached, and when they are read again."""

import pytest

from kvtier.facts.lustre_api import InstanceCache
from kvtier.facts.model import Instance, LustreFacts, Operation
from unit.tables import table

NAME = "projects/p/locations/us-central1-a/instances/kv"
ABORTED = Operation(done=True, code="Aborted")
HOUR = 3600.0


def instance(state: str = "ACTIVE") -> Instance:
    return Instance(NAME, state, 1, 1000, "kvcache", "n")


def cached(state: str = "ACTIVE") -> InstanceCache:
    """An instance that was read at time 0."""
    cache = InstanceCache(NAME)
    cache.succeed(instance(state), {}, 0.0)
    return cache


def fail(cache: InstanceCache, now: float, *, final: bool = False, **polled: Operation) -> LustreFacts:
    cache.fail("it failed", polled, now, final=final)
    return cache.facts()


def due_after(cache: InstanceCache) -> float:
    """Seconds until the next request, one of the possible values."""
    return next(
        seconds for seconds in (0.0, 15.0, 240.0) if cache.due(seconds) and not cache.due(seconds - 1)
    )


def test_before_the_first_answer_a_request_is_due_and_there_is_an_error() -> None:
    cache = InstanceCache(NAME)
    assert cache.due(0.0)
    assert cache.facts() == LustreFacts(error=f"The Lustre API has not returned {NAME} yet.", pending=True)


@pytest.mark.parametrize(("state", "seconds"), [("ACTIVE", 240.0), ("CREATING", 15.0), ("UPGRADING", 15.0)])
def test_an_active_instance_is_cached_for_240_seconds_and_any_other_for_15(
    state: str, seconds: float
) -> None:
    assert due_after(cached(state)) == seconds


def test_a_missing_instance_is_read_again_soon() -> None:
    cache = InstanceCache(NAME)
    cache.succeed(None, {}, 0.0)
    assert due_after(cache) == 15.0


def test_the_instance_is_read_soon_while_an_operation_runs() -> None:
    cache = cached()
    cache.note("r", Operation("o"), 0.0)
    cache.succeed(instance(), {}, 0.0)
    assert due_after(cache) == 15.0


def test_the_instance_is_read_soon_during_an_outage() -> None:
    cache = cached()
    fail(cache, 0.0)
    assert due_after(cache) == 15.0


def test_a_request_in_progress_does_not_outdate_the_answer() -> None:
    cache = cached()
    cache.note("r", Operation(), 0.0)
    assert (cache.changes, due_after(cache)) == (0, 15.0)


@pytest.mark.parametrize("answer", [Operation("o"), ABORTED])
def test_the_instance_is_read_at_once_after_the_response_to_a_request(answer: Operation) -> None:
    cache = cached()
    cache.note("r", answer, 0.0)
    assert (cache.changes, cache.due(0.0)) == (1, True)


def test_an_operation_that_is_done_at_once_counts_as_running_until_it_is_read() -> None:
    cache = cached()
    cache.note("r", Operation("o", done=True), 0.0)
    assert cache.facts().operations == {"r": Operation("o")}
    assert cache.unfinished() == {"r": "o"}


def test_a_finished_operation_is_read_only_once() -> None:
    cache = cached()
    cache.follow({"r": "o", "s": ""}, 0.0)
    assert (cache.unfinished(), cache.due(0.0)) == ({"r": "o"}, True)
    cache.succeed(instance(), {"r": Operation("o", done=True)}, 0.0)
    cache.follow({"r": "o", "s": ""}, 0.0)
    assert (cache.unfinished(), due_after(cache)) == ({}, 240.0)


def test_a_name_replaces_the_refusal_of_the_same_request() -> None:
    cache = cached()
    cache.note("r", ABORTED, 0.0)
    cache.follow({"r": ""}, 0.0)
    assert cache.facts().operations == {"r": ABORTED}
    cache.follow({"r": "o"}, 0.0)
    assert cache.facts().operations == {"r": Operation("o")}


def test_an_answer_about_an_earlier_operation_of_a_request_is_ignored() -> None:
    cache = cached()
    cache.follow({"r": "new"}, 0.0)
    cache.succeed(instance(), {"r": Operation("old", done=True), "x": Operation("y")}, 0.0)
    assert cache.facts().operations == {"r": Operation("new")}


def test_an_operation_is_done_only_after_the_instance_was_read_again() -> None:
    cache = cached()
    cache.follow({"r": "o", "s": "p"}, 0.0)
    running = Operation("p", message="half way")
    found = fail(cache, 1.0, r=Operation("o", done=True), s=running)
    assert found == LustreFacts(instance(), None, {"r": Operation("o"), "s": running})


@table(
    "at, final",
    {
        "after a refusal about the instance": (1.0, True),
        "after an outage of an hour": (HOUR, False),
    },
)
def test_an_operation_may_be_done_if_the_instance_is_unknown(at: float, final: bool) -> None:
    cache = cached()
    cache.follow({"r": "o"}, at)
    over = Operation("o", done=True)
    assert fail(cache, at, final=final, r=over) == LustreFacts(None, "it failed", {"r": over})


def test_a_missing_instance_is_unknown_during_an_outage() -> None:
    cache = InstanceCache(NAME)
    cache.succeed(None, {}, 0.0)
    assert cache.facts() == LustreFacts()
    assert fail(cache, 1.0) == LustreFacts(error="it failed")


def test_operations_without_readers_are_dropped_after_an_hour() -> None:
    cache = cached()
    cache.note("done", ABORTED, 0.0)
    cache.note("running", Operation("o"), 0.0)
    cache.follow({"running": "o"}, 1.0)
    cache.succeed(instance(), {}, HOUR)
    assert list(cache.facts().operations) == ["running"]
    cache.succeed(instance(), {}, HOUR + 1)
    assert cache.facts().operations == {}


def test_only_the_latest_finished_operations_are_kept() -> None:
    cache = cached()
    for number in range(40):
        cache.note(f"r{number}", ABORTED, float(number))
    cache.note("running", Operation("o"), 0.0)
    assert cache.operation("r0", 50.0) == ABORTED
    cache.succeed(instance(), {}, 50.0)
    assert set(cache.facts().operations) == {"running", "r0", *(f"r{number}" for number in range(9, 40))}
