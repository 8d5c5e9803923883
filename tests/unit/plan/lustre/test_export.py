"""Exports: one for each scheduled time, and never two copies at once."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtier.api.conditions import stamp, true
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import PoolStatus
from kvtier.facts.model import Counters
from kvtier.plan.lustre.cloud_storage import last_time, next_time, schedule_problem
from kvtier.plan.model import Call
from unit.builders import NOW, with_status
from unit.plan.lustre.copying import DENIED, URI, Copies, nightly
from unit.tables import table

SLOT = "2026-11-30T03:00:00Z"


@table(
    "expression, now, last, following",
    {
        "every night": ("0 3 * * *", NOW, "2026-11-29T03:00:00Z", "2026-11-30T03:00:00Z"),
        "now is the latest time": ("0 12 * * *", NOW, NOW, "2026-11-30T12:00:00Z"),
        "a moment before it, it is not": (
            "0 12 * * *",
            "2026-11-29T11:59:59.9Z",
            "2026-11-28T12:00:00Z",
            "2026-11-29T12:00:00Z",
        ),
        "a fraction after it is": ("0 12 * * *", "2026-11-29T12:00:00.5Z", NOW, "2026-11-30T12:00:00Z"),
        "times are in UTC, whatever the zone of now": (
            "0 3 * * *",
            "2026-11-29T04:30:00+02:00",
            "2026-11-28T03:00:00Z",
            "2026-11-29T03:00:00Z",
        ),
        "summer time has no effect": (
            "30 2 * * *",
            "2026-03-29T03:00:00Z",
            "2026-03-29T02:30:00Z",
            "2026-03-30T02:30:00Z",
        ),
        "a leap day": ("0 0 29 2 *", NOW, "2024-02-29T00:00:00Z", "2028-02-29T00:00:00Z"),
        "the last day of the month": ("0 0 L * *", NOW, "2026-10-31T00:00:00Z", "2026-11-30T00:00:00Z"),
        "a new year": ("0 0 1 JAN *", NOW, "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
    },
)
def test_times(expression: str, now: str, last: str, following: str) -> None:
    assert schedule_problem(expression, now) == ""
    assert last_time(expression, now) == last
    assert next_time(expression, now) == following


def test_a_schedule_without_a_past_time_may_have_a_next_one() -> None:
    assert last_time("0 0 29 2 MON#5", "1971-01-01T00:00:00Z") == "1968-02-29T00:00:00Z"
    assert schedule_problem("0 0 * 2 MON#5", NOW) == ""


@pytest.mark.parametrize(
    "expression",
    [
        "0 0 31 2 *",
        "0 0 31 4,6,9,11 *",
        "61 * * * *",
        "* 24 * * *",
        "*/0 * * * *",
        "5-1 * * * *",
        "- - - - -",
    ],
)
def test_a_schedule_that_matches_no_time_is_invalid(expression: str) -> None:
    assert schedule_problem(expression, NOW)


@given(st.from_regex(r"[0-9*,/-]{1,6}( [0-9A-Za-z*,/#-]{1,6}){4}", fullmatch=True))
def test_a_schedule_that_the_crd_accepts_is_invalid_or_has_a_next_time(expression: str) -> None:
    if not schedule_problem(expression, NOW):
        assert last_time(expression, NOW) <= NOW < next_time(expression, NOW)


def _subjects(copies: Copies, *times: str) -> list[str]:
    """The exported times, if the operator reconciles at `times` and every export succeeds at once."""
    found = []
    for now in times:
        if copies.at(now).calls:
            found.append(copies.operation("Export").subject)
            copies.succeed()
            copies.at(now)
    return found


def test_the_first_export_is_at_the_first_time_after_the_tier_became_usable() -> None:
    copies = nightly()
    assert (copies.synced, copies.verbs()) == (("True", "NothingDue"), [])
    assert copies.look(NOW).part.again == 15 * 3600
    assert copies.message == f"The next export to {URI} is at {SLOT}."
    (call,) = copies.at(SLOT).calls
    assert copies.instance
    assert call == Call("export", copies.instance.name, call.request, {"uri": URI, "path": "/team-a/chat/"})
    assert copies.synced == ("False", "Exporting")


@table(
    "skipped, synced, words",
    {
        "copies all objects succeeds": (
            40,
            ("True", "Exported"),
            "finished at 2026-11-30T03:20:00Z: 60 objects (1.5Gi) copied, 40 already existed.",
        ),
        "leaves objects out failed": (
            0,
            ("False", "ExportFailed"),
            "ended, but 40 of 100 objects were not copied.",
        ),
    },
)
def test_an_export_that(skipped: int, synced: tuple[str, str], words: str) -> None:
    copies = nightly()
    copies.at(SLOT)
    copies.answer(done=True, counters=Counters(found=100, copied=60, skipped=skipped, bytes_copied=3 << 29))
    assert copies.look("2026-11-30T03:20:00Z").part.again == 24 * 3600 - 20 * 60
    copies.at("2026-11-30T03:20:00Z")
    assert copies.synced == synced
    assert copies.message.startswith(f"The export to {URI} ({SLOT}) {words}")


@table(
    "expression, times, subjects",
    {
        "each time once": (
            "0 3 * * *",
            ("2026-11-30T03:00:01Z", "2026-11-30T03:05:00Z", "2026-11-30T23:59:59Z", "2026-12-01T03:00:00Z"),
            [SLOT, "2026-12-01T03:00:00Z"],
        ),
        "only the latest of several missed times": (
            "0 * * * *",
            ("2026-12-10T07:30:00Z", "2026-12-10T07:59:00Z", "2026-12-10T08:00:00Z"),
            ["2026-12-10T07:00:00Z", "2026-12-10T08:00:00Z"],
        ),
        "none before the tier became usable": ("0 11 * * *", ("2026-11-29T12:30:00Z",), []),
        "none at the moment when it became usable": ("0 12 * * *", ("2026-11-29T12:30:00Z",), []),
        "a leap day only in a leap year": (
            "0 0 29 2 *",
            ("2027-03-01T00:00:00Z", "2028-02-28T23:59:59Z", "2028-02-29T00:00:00Z", "2028-03-01T00:00:00Z"),
            ["2028-02-29T00:00:00Z"],
        ),
        "a clock that is set back a little repeats no export": (
            "0 3 * * *",
            (SLOT, "2026-11-30T02:59:00Z", "2026-11-30T03:00:00Z", "2026-12-01T03:00:00Z"),
            [SLOT, "2026-12-01T03:00:00Z"],
        ),
        "a clock that was a year ahead for a while stops no export": (
            "0 3 * * *",
            (SLOT, "2027-11-30T03:00:00Z", "2026-11-30T04:00:00Z", "2026-12-01T03:00:00Z"),
            [SLOT, "2027-11-30T03:00:00Z", SLOT, "2026-12-01T03:00:00Z"],
        ),
        "a clock that jumps ahead causes one export": (
            "0 3 * * *",
            (SLOT, "2026-12-05T03:00:00Z"),
            [SLOT, "2026-12-05T03:00:00Z"],
        ),
    },
)
def test_the_times_of_exports(expression: str, times: tuple[str, ...], subjects: list[str]) -> None:
    assert _subjects(nightly(expression), *times) == subjects


def test_a_restarted_operator_repeats_no_export() -> None:
    copies = nightly()
    copies.exported(SLOT)
    copies.restart()
    assert copies.at("2026-11-30T03:10:00Z").calls == ()


@pytest.mark.parametrize("expression", ["0 0 31 2 *", "0 0 31 4,6,9,11 *"])
def test_a_schedule_that_matches_no_time_is_reported_and_blocks_nothing_else(expression: str) -> None:
    copies = Copies(exportSchedule=expression)
    copies.exported(NOW)
    copies.at("2026-11-29T12:10:00Z")
    assert copies.verbs() == ["import"]
    assert (copies.synced, copies.tier("cloudStorage").phase) == (("False", "InvalidSchedule"), "Failed")
    assert copies.look("2026-11-29T12:10:00Z").part.again is None
    assert f"exportSchedule {expression!r} is not a valid cron expression: " in copies.message
    assert copies.failures() == ["InvalidSchedule"]


def test_a_removed_schedule_ends_the_retries() -> None:
    copies = nightly()
    copies.at(SLOT)
    copies.answer(**DENIED)
    copies.at(SLOT)
    copies.edit(tiers={"cloudStorage": {"exportSchedule": None}})
    assert copies.at("2026-11-30T04:00:00Z").calls == ()
    assert copies.synced == ("True", "NothingDue")


def test_without_a_status_only_future_times_count() -> None:
    copies = nightly()
    copies.pool = with_status(copies.pool, PoolStatus())
    assert copies.look("2026-11-30T03:10:00Z").part.calls == ()


@table(
    "exported, since, subjects",
    {
        "is unusable for a while skips and repeats no time": (
            SLOT,
            "2026-12-01T03:10:00Z",
            ["2026-12-01T03:00:00Z"],
        ),
        "became usable after the latest time is not exported": ("", "2026-12-01T03:10:00Z", []),
        "became usable in the future, by a wrong clock, is exported": (
            "",
            "2027-11-29T12:00:00Z",
            ["2026-12-01T03:00:00Z"],
        ),
    },
)
def test_a_tier_that(exported: str, since: str, subjects: list[str]) -> None:
    copies = nightly()
    if exported:
        copies.exported(exported)
    usable = stamp([true("StorageReady", Reason.BOUND)], [], 1, since)
    copies.pool = with_status(copies.pool, copies.pool.status.model_copy(update={"conditions": usable}))
    assert _subjects(copies, "2026-12-01T03:20:00Z") == subjects


def test_a_lost_request_is_repeated_unchanged_even_after_the_next_time() -> None:
    copies = nightly("0 * * * *")
    copies.at("2026-11-29T13:00:00Z")
    copies.restart()
    copies.at("2026-11-29T14:00:10Z")
    first, again = copies.calls
    assert first == again
    copies.succeed()
    copies.at("2026-11-29T14:00:20Z")
    assert copies.operation("Export").subject == "2026-11-29T13:00:00Z"
    copies.at("2026-11-29T14:00:35Z")
    assert copies.operation("Export").subject == "2026-11-29T14:00:00Z"


def test_the_next_time_waits_for_a_running_export() -> None:
    copies = nightly("0 * * * *")
    copies.at("2026-11-29T13:00:00Z")
    copies.answer()
    copies.at("2026-11-29T13:00:05Z")
    assert copies.at("2026-11-29T15:00:05Z").calls == ()
    assert copies.synced == ("False", "Exporting")
    copies.succeed()
    assert copies.look("2026-11-29T15:10:00Z").part.again == 15
    copies.at("2026-11-29T15:10:00Z")
    assert copies.synced == ("True", "Exported")
    assert [call.verb for call in copies.at("2026-11-29T15:10:15Z").calls] == ["export"]
    assert copies.operation("Export").subject == "2026-11-29T15:00:00Z"


def test_a_failed_export_is_retried_until_the_next_time() -> None:
    copies = nightly()
    for now in ("03:00:00", "03:01:00", "03:03:00", "03:07:00"):
        copies.at(f"2026-11-30T{now}Z")
        copies.answer(**DENIED)
        copies.at(f"2026-11-30T{now}Z")
        assert copies.synced == ("False", "ExportFailed")
    assert copies.verbs() == ["export"] * 4
    assert "7 of 10 objects were not copied (/a: denied)" in copies.message
    assert copies.message.endswith(" kvtier retries.")
    copies.exported("2026-12-01T03:00:00Z")
    assert (copies.synced, copies.failures()) == (("True", "Exported"), ["ExportFailed"])


def test_each_time_that_fails_is_one_event() -> None:
    copies = nightly()
    for now in ("11-30T03:00:00", "11-30T03:01:00", "12-01T03:00:00", "12-01T03:01:00"):
        copies.at(f"2026-{now}Z")
        copies.answer(**DENIED)
        copies.at(f"2026-{now}Z")
    assert copies.failures() == ["ExportFailed", "ExportFailed"]


def test_an_export_waits_for_a_copy_that_others_started() -> None:
    copies = nightly()
    copies.at(SLOT)
    copies.answer("", done=True, code="Aborted", message="unable to queue the operation")
    assert copies.look("2026-11-30T03:00:02Z").part.again == 60
    copies.at("2026-11-30T03:00:02Z")
    assert copies.synced == ("False", "Waiting")
    before = copies.message
    copies.at("2026-11-30T03:01:02Z")
    assert copies.verbs() == ["export", "export"]
    assert copies.message == before
    copies.answer()
    copies.at("2026-11-30T03:01:17Z")
    assert copies.synced == ("False", "Exporting")
    assert copies.failures() == []


@table(
    "state, words",
    {
        "an instance under maintenance": ("UPGRADING", "the instance is UPGRADING"),
        "an instance that others resize": ("UPDATING", "the instance is UPDATING"),
        "a tier that engines cannot use": (None, "engines cannot write to the Lustre tier yet"),
    },
)
def test_an_export_waits_for(state: str | None, words: str) -> None:
    copies = nightly()
    assert copies.instance
    well = copies.instance
    if state:
        copies.instance = replace(well, state=state)
    else:
        copies.unprove("2026-11-30T02:00:00Z")
    assert copies.at(SLOT).calls == ()
    assert copies.synced == ("False", "Waiting")
    assert words in copies.message
    copies.instance = well
    if not state:
        copies.end_job(at="2026-11-30T03:20:00Z")
    assert [call.verb for call in copies.at("2026-11-30T03:30:00Z").calls] == ["export"]


def test_an_export_waits_for_a_requested_resize() -> None:
    copies = nightly()
    copies.edit(tiers={"lustre": {"capacity": "27000Gi"}})
    copies.at("2026-11-30T02:59:00Z")
    copies.answer()
    copies.at(SLOT)
    assert (copies.verbs(), copies.synced) == (["update"], ("False", "Waiting"))
    assert "another operation on the instance is in progress" in copies.message


def test_an_export_waits_for_the_import() -> None:
    copies = Copies(exportSchedule="0 * * * *")
    copies.at(NOW)
    copies.answer()
    copies.at("2026-11-29T13:00:00Z")
    assert copies.verbs() == ["import"]
    copies.succeed()
    copies.at("2026-11-29T13:20:00Z")
    assert copies.verbs() == ["import", "export"]


def test_the_import_into_a_new_instance_waits_for_a_running_export() -> None:
    copies = Copies(exportSchedule="0 3 * * *")
    copies.exported(NOW)
    copies.at(SLOT)
    copies.answer()
    copies.at("2026-11-30T03:00:05Z")
    assert copies.instance
    copies.instance = replace(copies.instance, created="2026-11-30T03:00:00Z")
    assert copies.at("2026-11-30T03:10:00Z").calls == ()
    assert copies.importing
    copies.succeed()
    copies.at("2026-11-30T03:10:15Z")
    copies.at("2026-11-30T03:10:30Z")
    assert copies.verbs() == ["import", "export", "import"]


def test_a_finally_failed_import_is_reported_until_an_export_succeeds() -> None:
    copies = Copies(exportSchedule="0 3 * * *")
    for now in ("12:00:00", "12:01:00", "12:03:00"):
        copies.at(f"2026-11-29T{now}Z")
        copies.answer(**DENIED)
        copies.at(f"2026-11-29T{now}Z")
    assert copies.synced == ("False", "ImportFailed")
    copies.exported(SLOT)
    assert copies.synced == ("True", "Exported")
