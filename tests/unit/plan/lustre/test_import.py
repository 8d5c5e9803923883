"""The import: once per instance, before engines use the tier."""

from dataclasses import replace

import pytest

from kvtier.facts.model import Counters
from kvtier.plan.lustre.cloud_storage import imported
from kvtier.plan.model import Call
from unit.builders import pool
from unit.plan.lustre.story import INSTANCE, NAME, SUBJECT, URI, Story, cached, importing

NOON = "2026-11-29T12:00:00Z"


def test_a_pool_without_cloud_storage_has_no_copies() -> None:
    part = Story(pool()).at(NOON)
    assert (part.conditions, part.tiers, part.calls, part.operations) == ((), (), (), ())
    assert imported(pool(), part)


def test_the_import_is_asked_for_as_soon_as_the_tier_is_usable() -> None:
    story = Story(cached())
    story.usable = False
    story.at(NOON)
    assert (story.told, story.phase, story.calls) == (("False", "Waiting"), "Waiting", [])
    story.usable = True
    story.at("2026-11-29T12:00:05Z")
    (call,) = story.calls
    assert call == Call("import", NAME, call.request, {"uri": URI, "path": "/team-a/chat/"})
    assert story.operation("Import").subject == SUBJECT
    assert not imported(story.pool, story.part)


def test_engines_wait_until_it_is_done() -> None:
    story = importing()
    assert (story.told, story.phase) == (("False", "Importing"), "Importing")
    story.answer(counters=Counters(found=100, copied=20, skipped=11, failed=1))
    story.at("2026-11-29T12:01:00Z")
    assert story.condition.message.endswith("is under way, 30% of what was found so far")
    assert not imported(story.pool, story.part)
    story.answer(done=True, counters=Counters(found=100, copied=60, skipped=40, bytes_copied=3 << 30))
    part = story.at("2026-11-29T12:02:00Z")
    assert imported(story.pool, part)
    assert (story.told, story.phase) == (("True", "Imported"), "Configured")
    assert story.condition.message == (
        f"the import from {URI} has ended at 2026-11-29T12:02:00Z: 60 objects (3.0Gi) copied, 40 there before"
    )
    assert part.again is None


def test_it_is_done_once() -> None:
    story = importing()
    story.succeed()
    for now in ("2026-11-29T12:01:00Z", "2026-11-29T13:00:00Z", "2027-11-29T12:00:00Z"):
        story.at(now)
        story.restart()
    assert story.asked() == ["import"]
    assert story.told == ("True", "Imported")


def test_a_steady_state_writes_nothing() -> None:
    story = importing()
    story.succeed()
    story.at("2026-11-29T12:01:00Z")
    before = story.pool.status
    story.at("2026-11-29T18:00:00Z")
    assert story.pool.status == before


@pytest.mark.parametrize(
    "another",
    [
        replace(INSTANCE, name=NAME.replace("pvc-", "pvc-2-"), created="2026-12-01T00:00:00Z"),
        replace(INSTANCE, created="2026-12-01T00:00:00Z"),
    ],
    ids=["another name", "the same name made anew"],
)
def test_another_instance_is_filled_anew(another: object) -> None:
    story = importing()
    story.succeed()
    story.at("2026-11-29T12:01:00Z")
    story.instance = another  # type: ignore[assignment]
    part = story.at("2026-12-01T00:10:00Z")
    assert story.asked() == ["import", "import"]
    assert not imported(story.pool, part)


def test_a_lost_request_is_repeated_as_it_was() -> None:
    story = Story(cached())
    story.at(NOON)
    story.restart()
    story.at("2026-11-29T12:00:20Z")
    first, again = story.calls
    assert first == again


def test_a_request_whose_status_was_lost_is_repeated_as_it_was() -> None:
    story = Story(cached())
    without = story.pool
    story.at(NOON)
    story.pool = without
    story.at("2026-11-29T12:00:20Z")
    first, again = story.calls
    assert first == again


def test_an_operator_that_starts_anew_follows_the_import_that_runs() -> None:
    story = importing()
    story.restart()
    story.succeed()
    story.at("2026-11-29T14:00:00Z")
    assert story.asked() == ["import"]
    assert story.told == ("True", "Imported")


def test_it_is_not_wanted_when_switched_off() -> None:
    story = Story(cached(importOnCreate=False))
    part = story.at(NOON)
    assert (story.told, story.phase, story.calls) == (("True", "NothingDue"), "Configured", [])
    assert imported(story.pool, part)


@pytest.mark.parametrize("state", ["UPDATING", "UPGRADING", "REPAIRING", "SUSPENDED", "CREATING"])
def test_an_instance_that_is_not_active_is_not_asked(state: str) -> None:
    story = Story(cached())
    story.instance = replace(INSTANCE, state=state)
    part = story.at(NOON)
    assert (story.told, story.calls) == (("False", "Waiting"), [])
    assert f"the instance is {state}" in story.condition.message
    assert not imported(story.pool, part)


def test_a_tier_that_is_lost_for_a_while_does_not_repeat_the_import() -> None:
    story = importing()
    story.succeed()
    story.at("2026-11-29T12:01:00Z")
    story.usable = False
    part = story.at("2026-11-29T12:02:00Z")
    assert story.told == ("True", "Imported")
    assert imported(story.pool, part)
    story.usable = True
    story.at("2026-11-29T12:03:00Z")
    assert story.asked() == ["import"]


def test_cloud_storage_that_is_taken_away_and_given_back_does_not_import_again() -> None:
    story = importing()
    story.succeed()
    story.at("2026-11-29T12:01:00Z")
    spec, without = story.pool.spec, pool(cluster=None).spec
    story.pool = story.pool.model_copy(update={"spec": without})
    part = story.at("2026-11-29T12:02:00Z")
    assert (part.conditions, [one.kind for one in part.operations]) == ((), ["Import"])
    story.pool = story.pool.model_copy(update={"spec": spec})
    story.at("2026-11-29T12:03:00Z")
    assert story.asked() == ["import"]
    assert story.told == ("True", "Imported")
