"""What is remembered of an instance, for how long, and when it is asked for again."""

from typing import Any

from kvtier.facts.lustre_api import Memory
from kvtier.facts.model import Instance, LustreFacts, Operation

NAME = "projects/p/locations/us-central1-a/instances/kv"
HOUR = 3600.0


def instance(state: str = "ACTIVE", capacity: int = 1) -> Instance:
    return Instance(NAME, state, capacity, 1000, "kvcache", "n")


def remembering(state: str = "ACTIVE", now: float = 0.0) -> Memory:
    memory = Memory(NAME)
    memory.answered(instance(state), {}, now)
    return memory


def fail(memory: Memory, now: float, *, final: bool = False, **polled: Operation) -> LustreFacts:
    memory.failed("it failed", polled, now, final=final)
    return memory.facts()


def operations(memory: Memory) -> dict[str, Any]:
    return dict(memory.facts().operations)


def test_before_the_first_answer_it_is_due_and_says_so() -> None:
    memory = Memory(NAME)
    assert memory.due(0.0)
    assert memory.facts() == LustreFacts(error=f"the Lustre API is being asked about {NAME}")


def test_what_is_settled_stands_for_240_seconds_everything_else_for_15() -> None:
    for state, seconds in {"ACTIVE": 240.0, "CREATING": 15.0, "UPGRADING": 15.0}.items():
        memory = remembering(state)
        assert (memory.due(seconds - 1), memory.due(seconds)) == (False, True)


def test_a_missing_instance_is_asked_for_again_soon() -> None:
    memory = Memory(NAME)
    memory.answered(None, {}, 0.0)
    assert (memory.due(14.0), memory.due(15.0)) == (False, True)


def test_an_active_instance_with_a_running_operation_is_not_settled() -> None:
    memory = remembering()
    memory.note("r", Operation("o"), 0.0)
    memory.answered(instance(), {}, 0.0)
    assert (memory.due(14.0), memory.due(15.0)) == (False, True)


def test_a_request_under_way_changes_nothing_that_could_be_asked() -> None:
    memory = remembering()
    memory.note("r", Operation(), 0.0)
    assert (memory.changes, memory.due(0.0), memory.due(15.0)) == (0, False, True)


def test_an_answer_to_a_request_outdates_what_is_known() -> None:
    for answer in (Operation("o"), Operation(done=True, code="Aborted")):
        memory = remembering()
        memory.note("r", answer, 0.0)
        assert (memory.changes, memory.due(0.0)) == (1, True)


def test_an_operation_that_is_over_when_it_starts_runs_until_it_has_been_asked_about() -> None:
    memory = remembering()
    memory.note("r", Operation("o", done=True), 0.0)
    assert operations(memory) == {"r": Operation("o")}
    assert memory.unfinished() == {"r": "o"}


def test_a_named_operation_is_looked_at_once() -> None:
    memory = remembering()
    memory.expect({"r": "o", "s": ""}, 0.0)
    assert memory.unfinished() == {"r": "o"}
    assert memory.due(0.0)
    memory.answered(instance(), {"r": Operation("o", done=True)}, 0.0)
    memory.expect({"r": "o", "s": ""}, 0.0)
    assert memory.unfinished() == {}
    assert not memory.due(239.0)


def test_a_name_replaces_the_refusal_of_the_same_request() -> None:
    memory = remembering()
    memory.note("r", Operation(done=True, code="Unavailable"), 0.0)
    memory.expect({"r": ""}, 0.0)
    assert operations(memory)["r"].code == "Unavailable"
    memory.expect({"r": "o"}, 0.0)
    assert operations(memory)["r"] == Operation("o")


def test_an_answer_about_an_earlier_operation_of_a_request_is_dropped() -> None:
    memory = remembering()
    memory.expect({"r": "new"}, 0.0)
    memory.answered(instance(), {"r": Operation("old", done=True), "x": Operation("y")}, 0.0)
    assert operations(memory) == {"r": Operation("new")}


def test_an_operation_is_not_over_while_the_instance_is_from_before_it() -> None:
    memory = remembering()
    memory.expect({"r": "o", "s": "p"}, 0.0)
    running = Operation("p", message="half way")
    facts = fail(memory, 1.0, r=Operation("o", done=True), s=running)
    assert facts == LustreFacts(instance(), None, {"r": Operation("o"), "s": running})


def test_an_operation_may_be_over_where_nothing_is_said_about_the_instance() -> None:
    memory = remembering()
    memory.expect({"r": "o"}, 0.0)
    over = Operation("o", done=True)
    assert fail(memory, 1.0, final=True, r=over) == LustreFacts(None, "it failed", {"r": over})


def test_what_is_known_outlives_an_outage_of_an_hour() -> None:
    memory = remembering()
    assert fail(memory, HOUR - 1) == LustreFacts(instance())
    assert fail(memory, HOUR) == LustreFacts(error="it failed")
    memory.answered(instance(), {}, HOUR + 1)
    assert memory.facts() == LustreFacts(instance())


def test_that_nothing_is_there_does_not_outlive_an_outage() -> None:
    memory = Memory(NAME)
    memory.answered(None, {}, 0.0)
    assert memory.facts() == LustreFacts()
    assert fail(memory, 1.0) == LustreFacts(error="it failed")


def test_in_an_outage_the_api_is_asked_every_15_seconds() -> None:
    memory = remembering()
    fail(memory, 0.0)
    assert (memory.due(14.0), memory.due(15.0)) == (False, True)


def test_operations_that_nobody_asks_for_are_forgotten_after_an_hour() -> None:
    memory = remembering()
    memory.note("done", Operation(done=True, code="Aborted"), 0.0)
    memory.note("running", Operation("o"), 0.0)
    memory.expect({"running": "o"}, 1.0)
    memory.answered(instance(), {}, HOUR)
    assert list(operations(memory)) == ["running"]
    memory.answered(instance(), {}, HOUR + 1)
    assert operations(memory) == {}


def test_of_operations_that_are_over_only_the_latest_are_kept() -> None:
    memory = remembering()
    for number in range(40):
        memory.note(f"r{number}", Operation(done=True, code="Aborted"), float(number))
    memory.note("running", Operation("o"), 0.0)
    assert memory.operation("r0", 50.0)
    memory.answered(instance(), {}, 50.0)
    assert set(operations(memory)) == {"running", "r0", *(f"r{number}" for number in range(9, 40))}
