"""Cloud Storage while the Lustre API does not tell: nothing is asked for, nothing is claimed, nothing hangs."""

from kvtier.facts.model import Counters
from kvtier.plan.lustre.cloud_storage import imported
from unit.plan.lustre.story import USABLE, Story, cached

DENIED = "the Lustre API refuses to show the instance: grant roles/lustre.viewer"


def _blind() -> Story:
    story = Story(cached(exportSchedule="0 3 * * *"))
    story.error = DENIED
    return story


def test_why_is_told_and_nothing_is_asked_for() -> None:
    story = _blind()
    part = story.at(USABLE)
    assert (story.told, part.calls) == (("Unknown", "LustreAPIUnavailable"), ())
    assert story.condition.message == f"{DENIED}; engines wait for the import for half an hour"
    assert part.again == 60


def test_engines_wait_for_half_an_hour_and_no_longer() -> None:
    story = _blind()
    assert not imported(story.pool, story.at("2026-11-29T12:00:00Z"))
    assert not imported(story.pool, story.at("2026-11-29T12:29:59Z"))
    part = story.at("2026-11-29T12:30:00Z")
    assert imported(story.pool, part)
    assert (story.phase, part.again) == ("Configured", None)
    assert story.condition.message == f"{DENIED}; engines go on without the import"
    before = story.pool.status
    story.at("2026-11-29T18:00:00Z")
    assert story.pool.status == before


def test_a_clock_that_is_put_back_does_not_make_them_wait_for_a_year() -> None:
    story = _blind()
    story.at("2027-11-29T12:00:00Z")
    assert imported(story.pool, story.at("2026-11-29T12:00:00Z"))


def test_the_import_is_made_when_the_api_is_back() -> None:
    story = _blind()
    story.at("2026-11-29T12:00:00Z")
    story.error = None
    story.at("2026-11-29T12:10:00Z")
    assert story.asked() == ["import"]


def test_an_outage_does_not_undo_what_was_done() -> None:
    story = Story(cached())
    story.at("2026-11-29T12:00:00Z")
    story.succeed()
    story.at("2026-11-29T12:01:00Z")
    story.restart()
    story.error = "no answer"
    part = story.at("2026-11-29T12:02:00Z")
    assert imported(story.pool, part)
    assert (story.told, story.condition.message) == (("Unknown", "LustreAPIUnavailable"), "no answer")
    story.error = None
    story.at("2026-11-29T12:03:00Z")
    assert (story.asked(), story.told) == (["import"], ("True", "Imported"))


def test_a_copy_that_runs_is_looked_for_during_an_outage() -> None:
    story = Story(cached())
    story.at("2026-11-29T12:00:00Z")
    story.answer()
    story.at("2026-11-29T12:00:05Z")
    story.error = "no answer"
    part = story.at("2026-11-29T12:02:00Z")
    assert (part.again, story.operation("Import").state) == (15, "Running")
    story.answer(done=True, counters=Counters(found=1, copied=1))
    assert story.operation("Import").state == "Running"
    story.at("2026-11-29T12:03:00Z")
    assert imported(story.pool, story.at("2026-11-29T12:03:05Z"))


def test_a_request_without_an_answer_is_repeated_after_an_outage() -> None:
    story = Story(cached())
    story.at("2026-11-29T12:00:00Z")
    story.restart()
    story.error = "no answer"
    assert story.at("2026-11-29T12:02:00Z").calls == ()
    story.error = None
    story.at("2026-11-29T12:04:00Z")
    first, again = story.calls
    assert first == again


def test_an_instance_that_does_not_exist_is_told_of() -> None:
    story = Story(cached())
    story.instance = None
    part = story.at("2026-11-29T12:00:00Z")
    assert (story.told, part.calls) == (("False", "InstanceMissing"), ())
    assert "pvc-PersistentVolumeClaim-uid" in story.condition.message


def test_before_the_tier_is_there_the_reason_is_told_already() -> None:
    story = _blind()
    story.usable = False
    part = story.at("2026-11-29T12:00:00Z")
    assert (story.told, story.phase, part.again) == (("Unknown", "LustreAPIUnavailable"), "Waiting", None)
    assert story.condition.message == DENIED


def test_before_the_tier_is_there_an_instance_is_not_missed() -> None:
    story = Story(cached())
    story.usable, story.instance = False, None
    story.at("2026-11-29T12:00:00Z")
    assert story.told == ("False", "Waiting")
    assert story.condition.message == "nothing is copied before the shared tier can be written to"
