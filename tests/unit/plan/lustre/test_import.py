"""The import: once into each instance, before engines use the tier. Engines wait for a limited time."""

from dataclasses import replace
from typing import Any

import pytest

from kvtier.facts.model import Counters
from kvtier.plan.lustre.cloud_storage import CloudStorage, plan_cloud_storage
from kvtier.plan.model import Call
from unit.builders import NOW, context, pool
from unit.instances import CLUSTER, ZONE
from unit.plan.lustre.copying import DENIED, URI, Copies, importing
from unit.simulation import CREATED, DEPLOYMENT
from unit.tables import table

REFUSED = "the Lustre API refuses to show the instance: grant roles/lustre.viewer"


def test_a_pool_without_cloud_storage_has_no_copies() -> None:
    assert plan_cloud_storage(context(pool()), usable=True) == CloudStorage()


def test_the_import_is_requested_as_soon_as_the_tier_is_usable() -> None:
    copies = Copies()
    assert (copies.synced, copies.tier("cloudStorage").phase) == (("False", "Waiting"), "Waiting")
    assert copies.calls == []
    copies.at(NOW)
    (call,) = copies.calls
    assert copies.instance
    assert call == Call("import", copies.instance.name, call.request, {"uri": URI, "path": "/team-a/chat/"})
    name = copies.instance.name.rpartition("/")[2]
    assert copies.operation("Import").subject == f"{name}@{CREATED}"
    assert copies.importing


def test_engines_wait_until_the_import_is_done() -> None:
    copies = importing()
    assert (copies.synced, copies.importing) == (("False", "Importing"), True)
    copies.answer(counters=Counters(found=100, copied=20, skipped=11, failed=1))
    copies.at("2026-11-29T12:01:00Z")
    assert copies.message.endswith("is in progress: 30% of the objects found so far.")
    assert DEPLOYMENT not in copies.kinds()
    copies.answer(done=True, counters=Counters(found=100, copied=60, skipped=40, bytes_copied=3 << 30))
    assert copies.look("2026-11-29T12:02:00Z").part.again is None
    copies.at("2026-11-29T12:02:00Z")
    assert DEPLOYMENT in copies.kinds()
    assert (copies.synced, copies.tier("cloudStorage").phase) == (("True", "Imported"), "Configured")
    assert copies.message == (
        f"The import from {URI} finished at 2026-11-29T12:02:00Z: 60 objects (3.0Gi) copied, 40 already existed."
    )


def _imported() -> Copies:
    copies = importing()
    copies.succeed()
    copies.at("2026-11-29T12:01:00Z")
    assert copies.synced == ("True", "Imported")
    return copies


def test_the_import_runs_once_and_a_steady_state_writes_nothing() -> None:
    copies = _imported()
    before = copies.at("2026-11-29T12:01:15Z").status
    for now in ("2026-11-29T13:00:00Z", "2027-11-29T12:00:00Z"):
        copies.restart()
        assert copies.at(now).status == before
    assert copies.verbs() == ["import"]


@table(
    "changes",
    {
        "another name": {"name": f"projects/my-project/locations/{ZONE}/instances/other"},
        "the same name, created later": {"created": "2026-12-01T00:00:00Z"},
    },
)
def test_another_instance_gets_an_import(changes: dict[str, Any]) -> None:
    copies = _imported()
    assert copies.instance
    copies.instance = replace(copies.instance, **changes)
    copies.at("2026-12-01T00:10:00Z")
    assert copies.verbs() == ["import", "import"]
    assert copies.importing


@table(
    "written, outage",
    {
        "whose response was lost": (True, False),
        "whose status was lost": (False, False),
        "before an outage": (True, True),
    },
)
def test_a_request_is_repeated_unchanged(written: bool, outage: bool) -> None:
    copies = Copies()
    before = copies.pool
    copies.at(NOW)
    copies.pool, copies.answers = copies.pool if written else before, {}
    if outage:
        copies.error = REFUSED
        assert copies.at("2026-11-29T12:02:00Z").calls == ()
    copies.error = None
    copies.at("2026-11-29T12:04:00Z")
    first, again = copies.calls
    assert first == again


def test_a_restarted_operator_follows_the_running_import() -> None:
    copies = importing()
    copies.restart()
    copies.succeed()
    copies.at("2026-11-29T14:00:00Z")
    assert copies.verbs() == ["import"]
    assert copies.synced == ("True", "Imported")


def test_there_is_no_import_when_it_is_switched_off() -> None:
    copies = Copies(importOnCreate=False)
    copies.at(NOW)
    assert (copies.synced, copies.verbs()) == (("True", "NothingDue"), [])
    assert copies.tier("cloudStorage").phase == "Configured"


@pytest.mark.parametrize("state", ["UPDATING", "UPGRADING", "REPAIRING", "SUSPENDED", "CREATING"])
def test_the_import_waits_until_the_instance_is_active(state: str) -> None:
    copies = Copies()
    assert copies.instance
    copies.instance = replace(copies.instance, state=state)
    copies.at(NOW)
    assert (copies.synced, copies.verbs()) == (("False", "Waiting"), [])
    assert f"the instance is {state}" in copies.message
    assert copies.importing


def test_a_tier_that_is_unusable_for_a_while_does_not_repeat_the_import() -> None:
    copies = _imported()
    copies.unprove("2026-11-29T12:02:00Z")
    assert (copies.synced, copies.importing) == (("True", "Imported"), False)
    copies.end_job()
    copies.at("2026-11-29T12:03:00Z")
    assert copies.verbs() == ["import"]


def test_cloud_storage_that_is_removed_and_added_again_does_not_repeat_the_import() -> None:
    copies = _imported()
    copies.edit(tiers={"cloudStorage": None})
    copies.at("2026-11-29T12:02:00Z")
    assert "CloudStorageSynced" not in [one.type for one in copies.pool.status.conditions]
    assert [one.kind for one in copies.pool.status.operations] == ["Import"]
    copies.edit(tiers={"cloudStorage": {"uri": URI}})
    copies.at("2026-11-29T12:03:00Z")
    assert (copies.verbs(), copies.synced) == (["import"], ("True", "Imported"))


def test_a_failed_import_is_retried_while_engines_wait() -> None:
    copies = importing()
    copies.answer(**DENIED)
    assert copies.look("2026-11-29T12:05:00Z").part.again == 60
    copies.at("2026-11-29T12:05:00Z")
    assert (copies.synced, copies.importing) == (("False", "ImportFailed"), True)
    assert copies.message == (
        f"The import from {URI} failed: 7 of 10 objects were not copied (/a: denied). Check that gs://bucket exists, "
        "and that the Managed Lustre service agent service-PROJECT_NUMBER@gcp-sa-lustre.iam.gserviceaccount.com of "
        "project my-project may read and write its objects. kvtier retries, and engines wait for the import."
    )
    assert copies.operation("Import").code == "ObjectsFailed"


def test_engines_start_without_an_import_that_failed_too_often() -> None:
    copies = importing()
    for failed, again in (("12:05", "12:10"), ("12:10", "12:15"), ("12:20", "12:25")):
        copies.answer(**DENIED)
        copies.at(f"2026-11-29T{failed}:00Z")
        copies.at(f"2026-11-29T{again}:00Z")
    assert DEPLOYMENT in copies.kinds()
    assert (copies.synced, copies.tier("cloudStorage").phase) == (("False", "ImportFailed"), "Failed")
    assert copies.instance
    name = copies.instance.name.rpartition("/")[2]
    assert copies.message.endswith(
        f"To import it later: gcloud lustre instances import-data {name} --project=my-project --location={ZONE} "
        f"--gcs-path-uri={URI} --lustre-path=/team-a/chat/"
    )
    copies.at("2026-12-29T12:00:00Z")
    copies.restart()
    copies.at("2026-12-29T13:00:00Z")
    assert copies.verbs() == ["import"] * 3


def test_a_failure_is_one_event_however_often_it_is_retried() -> None:
    copies = importing()
    for minute in range(1, 25):
        copies.answer(**DENIED)
        copies.at(f"2026-11-29T12:{minute:02}:00Z")
    # One Event. After the last retry, only the status changes.
    assert copies.failures() == ["ImportFailed"]


@table(
    "code, reason, words",
    {
        "that waits for a copy of others": ("Aborted", "Waiting", "kvtier retries every minute."),
        "that waits for maintenance": ("FailedPrecondition", "Waiting", "kvtier retries every minute."),
        "that lacks a role names it": (
            "PermissionDenied",
            "ImportFailed",
            "Grant roles/lustre.admin in project my-project",
        ),
        "with a wrong field names it": (
            "InvalidArgument",
            "ImportFailed",
            "because. Correct spec.tiers.cloudStorage.uri",
        ),
        "during an outage needs no action": ("Unavailable", "ImportFailed", "No action is needed"),
    },
)
def test_a_refused_request(code: str, reason: str, words: str) -> None:
    copies = Copies()
    copies.at(NOW)
    copies.answer("", done=True, code=code, message="because")
    copies.at("2026-11-29T12:00:02Z")
    assert (copies.synced, copies.importing) == (("False", reason), True)
    assert words in copies.message
    copies.at("2026-11-29T12:01:02Z")
    first, again = copies.calls
    # A request that the API may have carried out is repeated with the same request id.
    assert (first.request == again.request) == (code == "Unavailable")


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
    copies, waited = Copies(), -1
    for minute in range(45):
        now = f"2026-11-29T12:{minute:02}:00Z"
        if copies.at(now).calls:
            copies.answer("", done=True, code=code, message="no")
            copies.at(now)
        waited += copies.importing
    assert minutes - 2 <= waited <= minutes + 1


def test_engines_wait_for_a_limited_time_for_a_stuck_import() -> None:
    copies = importing()
    copies.at("2026-11-29T12:29:00Z")
    assert copies.importing
    copies.at("2026-11-29T12:30:10Z")
    assert not copies.importing
    assert "It made no progress for 30 minutes, so engines no longer wait for it." in copies.message
    copies.answer(counters=Counters(found=10, copied=9))
    copies.at("2026-11-29T12:31:00Z")
    assert copies.importing


def test_an_import_that_leaves_objects_out_failed() -> None:
    copies = importing()
    copies.answer(done=True, counters=Counters(found=10, copied=4))
    copies.at("2026-11-29T12:01:00Z")
    assert (copies.synced, copies.importing) == (("False", "ImportFailed"), False)
    assert "6 of 10 objects were not copied" in copies.message


def test_an_import_without_counters_is_done() -> None:
    copies = importing()
    copies.answer(done=True)
    copies.at("2026-11-29T12:01:00Z")
    assert copies.message == f"The import from {URI} finished at 2026-11-29T12:01:00Z."


def test_an_import_that_found_no_objects_names_the_permissions() -> None:
    copies = importing()
    copies.succeed(0)
    copies.at("2026-11-29T12:01:00Z")
    assert copies.synced == ("True", "Imported")
    assert "the service agent may lack access. Check that gs://bucket exists" in copies.message


def test_a_clock_that_is_set_back_does_not_delay_the_retry_for_a_year() -> None:
    copies = Copies()
    copies.at("2027-11-29T12:00:00Z")
    copies.answer("", done=True, code="Unavailable", message="no answer")
    copies.at("2027-11-29T12:00:02Z")
    copies.at(NOW)
    assert copies.verbs() == ["import", "import"]


def _outage(error: str = REFUSED) -> Copies:
    copies = Copies(exportSchedule="0 3 * * *")
    copies.error = error
    return copies


def test_nothing_is_requested_until_the_api_responds_again() -> None:
    copies = _outage()
    assert copies.look(NOW).part.again == 60
    copies.at(NOW)
    assert (copies.synced, copies.verbs()) == (("Unknown", "LustreAPIUnavailable"), [])
    assert copies.message == f"{REFUSED}. Engines wait up to 30 minutes for the import."
    copies.error = None
    copies.at("2026-11-29T12:10:00Z")
    assert copies.verbs() == ["import"]


def test_engines_wait_for_30_minutes_and_no_longer() -> None:
    copies = _outage()
    for now, waiting in ((NOW, True), ("2026-11-29T12:29:59Z", True), ("2026-11-29T12:30:00Z", False)):
        copies.at(now)
        assert copies.importing is waiting
    assert copies.tier("cloudStorage").phase == "Configured"
    assert copies.look("2026-11-29T12:30:00Z").part.again is None
    assert copies.message == f"{REFUSED}. Engines serve without the imported data."
    before = copies.at("2026-11-29T12:31:00Z").status
    assert copies.at("2026-11-29T18:00:00Z").status == before


def test_a_clock_that_is_set_back_does_not_make_engines_wait_for_a_year() -> None:
    copies = _outage()
    copies.at("2027-11-29T12:00:00Z")
    copies.at(NOW)
    assert not copies.importing


def test_an_outage_does_not_repeat_a_finished_import() -> None:
    copies = _imported()
    copies.restart()
    copies.error = "no answer"
    copies.at("2026-11-29T12:02:00Z")
    assert (copies.synced, copies.message) == (("Unknown", "LustreAPIUnavailable"), "no answer.")
    assert not copies.importing
    copies.error = None
    copies.at("2026-11-29T12:03:00Z")
    assert (copies.verbs(), copies.synced) == (["import"], ("True", "Imported"))


def test_a_running_copy_is_followed_during_an_outage() -> None:
    copies = importing()
    copies.error = "no answer"
    assert copies.look("2026-11-29T12:02:00Z").part.again == 15
    copies.at("2026-11-29T12:02:00Z")
    assert copies.operation("Import").state == "Running"
    copies.succeed()
    copies.at("2026-11-29T12:03:00Z")
    copies.at("2026-11-29T12:03:05Z")
    assert not copies.importing


@table(
    "proven, error, reason, words",
    {
        "that does not exist": (
            True,
            None,
            ("False", "InstanceMissing"),
            "does not exist, so kvtier cannot copy data. See StorageReady.",
        ),
        "that does not exist before the tier is usable": (
            False,
            None,
            ("False", "Waiting"),
            "kvtier copies nothing until engines can write to the Lustre tier.",
        ),
        "that the API does not return": (False, REFUSED, ("Unknown", "LustreAPIUnavailable"), REFUSED),
    },
)
def test_an_instance(proven: bool, error: str | None, reason: tuple[str, str], words: str) -> None:
    copies = Copies()
    copies.instance, copies.error = None, error
    if not proven:
        copies.unprove(NOW)
    copies.at(NOW)
    assert (copies.synced, "import" in copies.verbs()) == (reason, False)
    assert words in copies.message
    assert copies.tier("cloudStorage").phase == ("Configured" if proven else "Waiting")


def test_an_instance_that_is_not_known_yet() -> None:
    of = pool(cluster=CLUSTER, tiers={"cloudStorage": {"uri": URI}})
    found = plan_cloud_storage(context(of), usable=True)
    assert [(one.status, one.reason) for one in found.part.conditions] == [("Unknown", "InstanceUnknown")]
    assert not found.importing
