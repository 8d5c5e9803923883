"""Exports by schedule: one per time that has come."""

import pytest

from kvtier.api.conditions import stamp, true
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import PoolStatus
from kvtier.facts.model import Counters
from kvtier.plan.model import Call
from unit.builders import with_status
from unit.plan.lustre.story import EXPORT_DENIED, NAME, URI, USABLE, Story, cached, exported, nightly
from unit.tables import table

SLOT = "2026-11-30T03:00:00Z"


def _subjects(story: Story, *times: str) -> list[str]:
    """What is exported when the operator looks at these times, and every export succeeds at once."""
    found = []
    for now in times:
        if story.at(now).calls:
            found.append(story.operation("Export").subject)
            story.succeed()
            story.at(now)
    return found


def test_the_first_export_is_the_first_time_after_the_tier_became_usable() -> None:
    story = nightly()
    part = story.at(USABLE)
    assert (story.told, part.calls, part.again) == (("True", "NothingDue"), (), 15 * 3600)
    assert story.condition.message == f"the next export to {URI} is at {SLOT}"
    part = story.at(SLOT)
    assert part.calls == (Call("export", NAME, part.calls[0].request, {"uri": URI, "path": "/team-a/chat/"}),)
    assert story.told == ("False", "Exporting")


def test_an_export_that_is_done_says_what_it_did() -> None:
    story = nightly()
    story.at(SLOT)
    story.answer(done=True, counters=Counters(found=100, copied=60, skipped=40, bytes_copied=3 << 29))
    part = story.at("2026-11-30T03:20:00Z")
    assert story.told == ("True", "Exported")
    assert story.condition.message == (
        f"the export to {URI} ({SLOT}) has ended at 2026-11-30T03:20:00Z: 60 objects (1.5Gi) copied, 40 there before"
    )
    assert part.again == 24 * 3600 - 20 * 60


def test_an_export_that_left_something_behind_is_not_called_done() -> None:
    story = nightly()
    story.at(SLOT)
    story.answer(done=True, counters=Counters(found=100, copied=60))
    story.at("2026-11-30T03:20:00Z")
    assert story.told == ("False", "ExportFailed")
    assert "has ended, but 40 of 100 objects were not copied" in story.condition.message


@table(
    "expression, times, wanted",
    {
        "every time once": (
            "0 3 * * *",
            ("2026-11-30T03:00:01Z", "2026-11-30T03:05:00Z", "2026-11-30T23:59:59Z", "2026-12-01T03:00:00Z"),
            [SLOT, "2026-12-01T03:00:00Z"],
        ),
        "of those that were missed, only the latest": (
            "0 * * * *",
            ("2026-12-10T07:30:00Z", "2026-12-10T07:59:00Z", "2026-12-10T08:00:00Z"),
            ["2026-12-10T07:00:00Z", "2026-12-10T08:00:00Z"],
        ),
        "none before the tier was usable": ("0 11 * * *", ("2026-11-29T12:30:00Z",), []),
        "none at the very moment it was": ("0 12 * * *", ("2026-11-29T12:30:00Z",), []),
        "a leap day in its year only": (
            "0 0 29 2 *",
            ("2027-03-01T00:00:00Z", "2028-02-28T23:59:59Z", "2028-02-29T00:00:00Z", "2028-03-01T00:00:00Z"),
            ["2028-02-29T00:00:00Z"],
        ),
        "a clock that is put back a little repeats nothing": (
            "0 3 * * *",
            (SLOT, "2026-11-30T02:59:00Z", "2026-11-30T03:00:00Z", "2026-12-01T03:00:00Z"),
            [SLOT, "2026-12-01T03:00:00Z"],
        ),
        "a clock that was a year ahead for a while stops nothing": (
            "0 3 * * *",
            (SLOT, "2027-11-30T03:00:00Z", "2026-11-30T04:00:00Z", "2026-12-01T03:00:00Z"),
            [SLOT, "2027-11-30T03:00:00Z", SLOT, "2026-12-01T03:00:00Z"],
        ),
        "a clock that jumps ahead makes up for one": (
            "0 3 * * *",
            (SLOT, "2026-12-05T03:00:00Z"),
            [SLOT, "2026-12-05T03:00:00Z"],
        ),
    },
)
def test_when_exports_are_made(expression: str, times: tuple[str, ...], wanted: list[str]) -> None:
    assert _subjects(nightly(expression), *times) == wanted


def test_an_operator_that_starts_anew_repeats_none() -> None:
    story = nightly()
    exported(story, SLOT)
    story.restart()
    assert story.at("2026-11-30T03:10:00Z").calls == ()


@pytest.mark.parametrize("expression", ["0 0 31 2 *", "0 0 31 4,6,9,11 *"])
def test_a_schedule_that_never_comes_is_told_and_blocks_nothing_else(expression: str) -> None:
    story = Story(cached(exportSchedule=expression))
    exported(story, USABLE)
    part = story.at("2026-11-29T12:10:00Z")
    assert story.asked() == ["import"]
    assert (story.told, story.phase, part.again) == (("False", "InvalidSchedule"), "Failed", None)
    assert f"exportSchedule {expression!r} is no cron expression" in story.condition.message
    assert [notice.reason for notice in story.events] == ["InvalidSchedule"]


def test_a_schedule_that_is_taken_away_ends_what_was_to_be_tried_again() -> None:
    story = nightly()
    story.at(SLOT)
    story.answer(**EXPORT_DENIED)
    story.at(SLOT)
    story.pool = with_status(cached(importOnCreate=False), story.pool.status)
    part = story.at("2026-11-30T04:00:00Z")
    assert (part.calls, story.told) == ((), ("True", "NothingDue"))


def test_without_a_memory_of_the_tier_only_times_to_come_count() -> None:
    story = nightly()
    story.pool = with_status(story.pool, PoolStatus())
    assert story.at("2026-11-30T03:10:00Z").calls == ()


def test_a_tier_that_comes_and_goes_makes_no_time_come_twice_or_never() -> None:
    story = nightly()
    exported(story, SLOT)
    flapped = stamp([true("StorageReady", Reason.BOUND)], [], 1, "2026-12-01T03:10:00Z")
    story.pool = with_status(story.pool, story.pool.status.model_copy(update={"conditions": flapped}))
    assert _subjects(story, "2026-12-01T03:20:00Z") == ["2026-12-01T03:00:00Z"]
