"""A copy before deletion that fails, hangs or cannot be seen: the data is kept."""

from kvtier.facts.model import Counters
from kvtier.plan.lustre.cloud_storage import LastExport
from unit.plan.lustre.leaving import DONE, NOON, Teardown, copy_of, leaving, while_under_way
from unit.plan.lustre.story import URI
from unit.tables import table


def test_objects_that_fail_are_tried_again_and_then_the_data_is_kept() -> None:
    teardown = Teardown(leaving())
    for now in ("12:00:00", "12:01:00", "12:03:00"):
        assert teardown.at(f"2026-11-29T{now}Z").waits
        teardown.answer(done=True, counters=Counters(found=10, copied=3, failed=7), problems=("/a: denied",))
        found = teardown.at(f"2026-11-29T{now}Z")
    assert len(teardown.calls) == 3
    assert found.waits == ""
    assert "7 of 10 objects were not copied (/a: denied)" in found.failed
    assert "the data is kept" in found.failed
    later = teardown.at("2026-11-30T12:00:00Z")
    assert (later.part.calls, later.failed) == ((), found.failed)


def test_what_was_found_and_did_not_arrive_keeps_the_data() -> None:
    teardown = Teardown(leaving()).running()
    teardown.answer(done=True, counters=Counters(found=10, copied=4))
    assert "6 of 10 objects were not copied" in teardown.at("2026-11-29T12:02:00Z").failed


@table(
    "code, minutes",
    {
        "an instance that is busy": ("Aborted", 29),
        "an outage": ("Unavailable", 31),
        "a refusal": ("PermissionDenied", 31),
    },
)
def test_half_an_hour_is_tried_against(code: str, minutes: int) -> None:
    teardown = Teardown(leaving())
    waited, found = 0, LastExport()
    while not found.failed:
        now = f"2026-11-29T{12 + waited // 60}:{waited % 60:02}:00Z"
        if teardown.at(now).part.calls:
            teardown.answer("", done=True, code=code, message="no")
        found = teardown.at(now)
        assert bool(found.waits) != bool(found.failed)
        waited += 1
    assert waited - 1 == minutes
    assert teardown.at("2026-11-29T18:00:00Z").part.calls == ()


def test_an_export_that_does_not_get_on_keeps_the_data() -> None:
    teardown = Teardown(leaving()).running()
    assert teardown.at("2026-11-29T12:30:04Z").waits
    assert "has not got on for half an hour" in teardown.at("2026-11-29T12:30:05Z").failed


def test_a_request_that_is_never_answered_keeps_the_data() -> None:
    teardown = Teardown(leaving())
    assert teardown.at(NOON).waits
    assert "has not got on" in teardown.at("2026-11-29T12:30:00Z").failed


def test_an_export_that_cannot_be_seen_has_half_an_hour_from_then_on() -> None:
    teardown = Teardown(leaving()).running()
    teardown.error = "no answer"
    # The operator was away, so the last progress is long ago.
    found = teardown.at("2026-11-29T15:00:00Z")
    assert found.waits == f"the export to {URI} (deletion) has begun (no answer)"
    assert teardown.at("2026-11-29T15:29:59Z").waits
    assert teardown.at("2026-11-29T15:30:00Z").failed.endswith("has not got on for half an hour (no answer)")


def test_an_export_that_is_seen_again_goes_on() -> None:
    teardown = Teardown(leaving()).running()
    teardown.error = "no answer"
    teardown.at("2026-11-29T15:00:00Z")
    teardown.error = None
    teardown.answer(counters=Counters(found=10, copied=5))
    found = teardown.at("2026-11-29T15:20:00Z")
    assert found.waits.endswith("50% of what was found so far")
    assert teardown.at("2026-11-29T15:45:00Z").waits
    teardown.answer(done=True, counters=DONE)
    assert teardown.at("2026-11-29T15:46:00Z").waits == ""


def test_a_copy_that_is_stuck_keeps_the_data() -> None:
    teardown = while_under_way(copy_of("Import", "i@1", "op-1"))
    assert "the import from" in teardown.at("2026-11-29T12:30:00Z").failed
