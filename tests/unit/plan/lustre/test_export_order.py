"""Never two copies at once: what an export waits for, and what becomes of one that fails."""

from dataclasses import replace

from kvtier.api.v1alpha1 import OperationStatus
from unit.builders import with_status
from unit.plan.lustre.story import EXPORT_DENIED, INSTANCE, USABLE, Story, cached, exported, nightly
from unit.tables import table

SLOT = "2026-11-30T03:00:00Z"


def test_a_lost_request_is_repeated_as_it_was_even_when_its_time_is_over() -> None:
    story = nightly("0 * * * *")
    story.at("2026-11-29T13:00:00Z")
    story.restart()
    story.at("2026-11-29T14:00:10Z")
    first, again = story.calls
    assert first == again
    story.succeed()
    story.at("2026-11-29T14:00:20Z")
    assert story.operation("Export").subject == "2026-11-29T13:00:00Z"
    story.at("2026-11-29T14:00:35Z")
    assert story.operation("Export").subject == "2026-11-29T14:00:00Z"


def test_a_time_that_comes_while_an_export_runs_waits_for_it() -> None:
    story = nightly("0 * * * *")
    story.at("2026-11-29T13:00:00Z")
    story.answer()
    story.at("2026-11-29T13:00:05Z")
    part = story.at("2026-11-29T15:00:05Z")
    assert (part.calls, story.told) == ((), ("False", "Exporting"))
    story.succeed()
    part = story.at("2026-11-29T15:10:00Z")
    assert (part.again, story.told) == (15, ("True", "Exported"))
    assert [call.verb for call in story.at("2026-11-29T15:10:15Z").calls] == ["export"]
    assert story.operation("Export").subject == "2026-11-29T15:00:00Z"


def test_what_failed_is_tried_again_until_the_next_time() -> None:
    story = nightly()
    for now in ("03:00:00", "03:01:00", "03:03:00", "03:07:00"):
        assert [call.verb for call in story.at(f"2026-11-30T{now}Z").calls] == ["export"]
        story.answer(**EXPORT_DENIED)
        story.at(f"2026-11-30T{now}Z")
        assert story.told == ("False", "ExportFailed")
    assert "7 of 10 objects were not copied (/a: denied)" in story.condition.message
    assert "it is tried again" in story.condition.message
    assert story.operation("Export").attempt == 4
    exported(story, "2026-12-01T03:00:00Z")
    assert story.told == ("True", "Exported")
    assert [notice.reason for notice in story.events] == ["ExportFailed"]


def test_each_time_that_fails_is_told_of_once() -> None:
    story = nightly()
    for now in ("11-30T03:00:00", "11-30T03:01:00", "12-01T03:00:00", "12-01T03:01:00"):
        story.at(f"2026-{now}Z")
        story.answer(**EXPORT_DENIED)
        story.at(f"2026-{now}Z")
    assert [notice.reason for notice in story.events] == ["ExportFailed", "ExportFailed"]


def test_somebody_elses_copy_is_waited_for() -> None:
    story = nightly()
    story.at(SLOT)
    story.answer("", done=True, code="Aborted", message="unable to queue the operation")
    part = story.at("2026-11-30T03:00:02Z")
    assert (story.told, part.again) == (("False", "Waiting"), 60)
    before = story.condition
    story.at("2026-11-30T03:01:02Z")
    assert story.asked() == ["export", "export"]
    assert story.condition == before
    story.answer()
    story.at("2026-11-30T03:01:17Z")
    assert story.told == ("False", "Exporting")
    assert story.events == []


@table(
    "state, usable, said",
    {
        "maintenance": ("UPGRADING", True, "the instance is UPGRADING"),
        "growth": ("UPDATING", True, "the instance is UPDATING"),
        "a tier that cannot be used": ("ACTIVE", False, "the shared tier cannot be written to now"),
    },
)
def test_what_comes_before_an_export(state: str, usable: bool, said: str) -> None:
    story = nightly()
    story.at(USABLE)
    story.instance, story.usable = replace(INSTANCE, state=state), usable
    part = story.at(SLOT)
    assert (part.calls, story.told) == ((), ("False", "Waiting"))
    assert said in story.condition.message
    story.instance, story.usable = INSTANCE, True
    assert [call.verb for call in story.at("2026-11-30T03:30:00Z").calls] == ["export"]


def test_a_growth_that_was_asked_for_comes_before_an_export() -> None:
    story = nightly()
    growth = OperationStatus(
        kind="Update", subject="27000", state="Running", request_id="r", start_time=SLOT, progress_time=SLOT
    )
    status = story.pool.status.model_copy(update={"operations": [growth]})
    story.pool = with_status(story.pool, status)
    part = story.at(SLOT)
    assert (part.calls, story.told) == ((), ("False", "Waiting"))
    assert "the instance is being changed" in story.condition.message


def test_the_import_comes_before_an_export() -> None:
    story = Story(cached(exportSchedule="0 * * * *"))
    story.at(USABLE)
    story.answer()
    story.at("2026-11-29T13:00:00Z")
    assert story.asked() == ["import"]
    story.succeed()
    story.at("2026-11-29T13:20:00Z")
    assert story.asked() == ["import", "export"]


def test_a_running_export_comes_before_the_import_of_a_new_instance() -> None:
    story = Story(cached(exportSchedule="0 3 * * *"))
    exported(story, USABLE)
    story.at(SLOT)
    story.answer()
    story.at("2026-11-30T03:00:05Z")
    story.instance = replace(INSTANCE, created="2026-11-30T03:00:00Z")
    part = story.at("2026-11-30T03:10:00Z")
    assert (part.calls, part.tiers[0].phase) == ((), "Importing")
    story.succeed()
    story.at("2026-11-30T03:10:15Z")
    story.at("2026-11-30T03:10:30Z")
    assert story.asked() == ["import", "export", "import"]


def test_an_import_that_was_given_up_is_told_until_an_export_succeeds() -> None:
    story = Story(cached(exportSchedule="0 3 * * *"))
    for now in ("12:00:00", "12:01:00", "12:03:00"):
        story.at(f"2026-11-29T{now}Z")
        story.answer(**EXPORT_DENIED)
        story.at(f"2026-11-29T{now}Z")
    assert story.told == ("False", "ImportFailed")
    exported(story, SLOT)
    assert story.told == ("True", "Exported")
