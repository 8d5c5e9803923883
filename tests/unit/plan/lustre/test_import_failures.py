"""An import that fails or hangs: it is tried again, and engines wait no longer than it is worth."""

from kvtier.facts.model import Counters
from kvtier.plan.lustre.cloud_storage import imported
from unit.plan.lustre.story import IMPORT_DENIED, Story, cached, importing
from unit.tables import table

NOON = "2026-11-29T12:00:00Z"


def test_what_failed_is_tried_again_while_engines_wait() -> None:
    story = importing()
    story.answer(**IMPORT_DENIED)
    part = story.at("2026-11-29T12:05:00Z")
    assert story.told == ("False", "ImportFailed")
    assert not imported(story.pool, part)
    for said in (
        "7 of 10 objects were not copied (gs://bucket/a: denied)",
        "see that gs://bucket exists",
        "service-PROJECT_NUMBER@gcp-sa-lustre.iam.gserviceaccount.com (of project my-project)",
        "it is tried again, and engines wait for it",
    ):
        assert said in story.condition.message
    assert part.again == 60
    assert story.operation("Import").code == "ObjectsFailed"


def test_engines_go_on_without_an_import_that_failed_too_often() -> None:
    story = importing()
    for now in ("12:05:00", "12:10:00", "12:20:00"):
        story.answer(**IMPORT_DENIED)
        story.at(f"2026-11-29T{now}Z")
        story.at(f"2026-11-29T{now[:3]}{int(now[3:5]) + 5:02}:00Z")
    assert story.asked() == ["import"] * 3
    assert imported(story.pool, story.part)
    assert (story.told, story.phase) == (("False", "ImportFailed"), "Failed")
    assert (
        "engines go on without it. To import later: gcloud lustre instances import-data"
        in story.condition.message
    )
    story.at("2026-12-29T12:00:00Z")
    story.restart()
    story.at("2026-12-29T13:00:00Z")
    assert story.asked() == ["import"] * 3


def test_a_failure_is_told_once_however_often_it_is_tried() -> None:
    story = importing()
    for minute in range(1, 25):
        story.answer(**IMPORT_DENIED)
        story.at(f"2026-11-29T12:{minute:02}:00Z")
    # Once while it is tried again: what engines do then is in the status.
    assert [notice.reason for notice in story.events] == ["ImportFailed"]


@table(
    "code, message, reason, said",
    {
        "somebody else's copy is waited for": (
            "Aborted",
            "unable to queue",
            "Waiting",
            "is asked every minute",
        ),
        "a maintenance is waited for": (
            "FailedPrecondition",
            "not ACTIVE",
            "Waiting",
            "is asked every minute",
        ),
        "a refusal to kvtier names its role": (
            "PermissionDenied",
            "lustre.instances.importData",
            "ImportFailed",
            "grant roles/lustre.admin in project my-project",
        ),
        "a wrong field is named": (
            "InvalidArgument",
            "gcs_path",
            "ImportFailed",
            "correct spec.tiers.cloudStorage.uri",
        ),
        "an outage needs nothing": ("Unavailable", "no answer", "ImportFailed", "nothing needs to be done"),
    },
)
def test_a_refused_request(code: str, message: str, reason: str, said: str) -> None:
    story = Story(cached())
    story.at(NOON)
    story.answer("", done=True, code=code, message=message)
    story.at("2026-11-29T12:00:02Z")
    assert story.told == ("False", reason)
    assert said in story.condition.message
    assert not imported(story.pool, story.part)
    story.at("2026-11-29T12:01:02Z")
    assert story.asked() == ["import"] * 2
    # What may have been carried out all the same is repeated under its own request id.
    assert (story.calls[0].request == story.calls[1].request) == (code == "Unavailable")


@table(
    "code, minutes",
    {
        "a busy instance for half an hour": ("Aborted", 30),
        "an outage for half an hour": ("Unavailable", 31),
        "a refusal to kvtier for half an hour": ("PermissionDenied", 31),
        "a wrong field for minutes": ("InvalidArgument", 3),
    },
)
def test_engines_wait_for_a_refused_import(code: str, minutes: int) -> None:
    story = Story(cached())
    waited = -1
    for minute in range(45):
        hour, rest = divmod(minute, 60)
        part = story.at(f"2026-11-29T{12 + hour}:{rest:02}:00Z")
        if part.calls:
            story.answer("", done=True, code=code, message="no")
            part = story.at(f"2026-11-29T{12 + hour}:{rest:02}:00Z")
        waited += not imported(story.pool, part)
    assert minutes - 2 <= waited <= minutes + 1


def test_a_stuck_import_does_not_keep_engines_for_ever() -> None:
    story = importing()
    part = story.at("2026-11-29T12:29:00Z")
    assert not imported(story.pool, part)
    part = story.at("2026-11-29T12:30:10Z")
    assert imported(story.pool, part)
    assert "has not got on for half an hour, and engines do not wait" in story.condition.message
    story.answer(counters=Counters(found=10, copied=9))
    assert not imported(story.pool, story.at("2026-11-29T12:31:00Z"))


def test_an_import_that_left_something_behind_is_not_called_done() -> None:
    story = importing()
    story.answer(done=True, counters=Counters(found=10, copied=4))
    part = story.at("2026-11-29T12:01:00Z")
    assert story.told == ("False", "ImportFailed")
    assert "6 of 10 objects were not copied" in story.condition.message
    assert imported(story.pool, part)


def test_an_import_that_found_nothing_hints_at_permissions() -> None:
    story = importing()
    story.succeed(0)
    story.at("2026-11-29T12:01:00Z")
    assert story.told == ("True", "Imported")
    assert "nothing was found there: if that is wrong, see that gs://bucket exists" in story.condition.message


def test_a_clock_that_is_put_back_does_not_put_off_the_next_try_for_a_year() -> None:
    story = Story(cached())
    story.at("2027-11-29T12:00:00Z")
    story.answer("", done=True, code="Unavailable", message="no answer")
    story.at("2027-11-29T12:00:02Z")
    story.at(NOON)
    assert story.asked() == ["import", "import"]
