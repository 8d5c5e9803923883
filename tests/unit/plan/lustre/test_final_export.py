"""The export before deletion: kvtier deletes the data only if the export succeeded."""

from dataclasses import replace
from typing import Any

from kvtier.api.v1alpha1 import KVCachePool, OperationStatus, PoolStatus, TierStatus
from kvtier.context import build
from kvtier.facts.model import Counters, LustreFacts, Operation
from kvtier.plan.lustre.final_export import FinalExport, plan_final_export
from kvtier.plan.model import Call
from unit.builders import NOW, claim, context, deleted, facts, joined, pool, with_status
from unit.instances import existing
from unit.plan.lustre.copying import DENIED, URI, cached
from unit.simulation import Simulation, in_use, made
from unit.tables import table

DONE = Counters(found=10, copied=10)
_DELETE = joined(cached(importOnCreate=False), {"deletionPolicy": "Delete"})
INSTANCE = made(pool(**_DELETE))
TITLE = f"The export to {URI} (before deletion)"


class Leaving(Simulation):
    """A deleted pool that exports its data."""

    def __init__(self, *operations: OperationStatus) -> None:
        used = in_use(pool(**_DELETE), INSTANCE)
        super().__init__(used.pool, INSTANCE)
        self.objects = used.objects
        self.delete()
        self._report(operations)

    def export(self, now: str) -> FinalExport:
        """Plan only the export, send its requests, and write the status."""
        found = plan_final_export(build(self.pool, self.observed(), now))
        self.calls += found.part.calls
        self.answers.update({call.request: Operation() for call in found.part.calls})
        self._report(found.part.operations)
        return found

    def _report(self, operations: tuple[OperationStatus, ...]) -> None:
        status = self.pool.status.model_copy(update={"operations": list(operations)})
        self.pool = with_status(self.pool, status)


def _exporting() -> Leaving:
    """A deleted pool whose export runs."""
    leaving = Leaving()
    leaving.export(NOW)
    leaving.answer()
    leaving.export("2026-11-29T12:00:05Z")
    return leaving


def _running(kind: str, subject: str, name: str | None = "op-1") -> OperationStatus:
    return OperationStatus(
        kind=kind,
        subject=subject,
        state="Running",
        request_id="r1",
        name=name,
        start_time=NOW,
        progress_time=NOW,
    )


def _deleted(phase: str = "Configured", **changes: Any) -> KVCachePool:
    """A deleted pool whose status has this phase of the tier, or nothing for an empty one."""
    tiers = [TierStatus(name="cloudStorage", phase=phase)] if phase else []
    return with_status(deleted(**joined(_DELETE, changes)), PoolStatus(tiers=tiers))


def _planned(of: KVCachePool, seen: LustreFacts, bound: bool = True) -> FinalExport:
    alive = of.model_copy(update={"metadata": {"name": "chat", "namespace": "team-a"}})
    live = claim(alive, "Bound" if bound else "Pending")
    return plan_final_export(context(of, live, facts=replace(facts(), lustre=seen)))


@table(
    "of, seen",
    {
        "data that is retained": (_deleted(deletionPolicy="Retain"), LustreFacts(INSTANCE)),
        "a pool without Cloud Storage": (_deleted(tiers={"cloudStorage": None}), LustreFacts(INSTANCE)),
        "a pool without exportBeforeDeletion": (
            _deleted(tiers={"cloudStorage": {"exportBeforeDeletion": False}}),
            LustreFacts(INSTANCE),
        ),
        "an instance that does not exist": (_deleted(), LustreFacts()),
        "a tier that was never usable": (_deleted("Waiting"), LustreFacts(INSTANCE)),
        "an instance that kvtier does not delete": (_deleted(**existing()), LustreFacts(INSTANCE)),
    },
)
def test_nothing_is_copied_of(of: KVCachePool, seen: LustreFacts) -> None:
    assert _planned(of, seen) == FinalExport()


def test_without_a_status_a_bound_pvc_counts_as_used() -> None:
    of = _deleted("", tiers={"lustre": {"provisioner": "CSI"}})
    assert _planned(of, LustreFacts(INSTANCE), bound=False) == FinalExport()
    assert _planned(of, LustreFacts(INSTANCE)).waits


def test_the_deletion_requests_the_export_and_waits_for_it() -> None:
    leaving = Leaving()
    found = leaving.export(NOW)
    (call,) = leaving.calls
    assert call == Call("export", INSTANCE.name, call.request, {"uri": URI, "path": "/team-a/chat/"})
    assert (found.waits, found.failed, found.part.again) == (f"{TITLE} started.", "", 15)
    leaving.answer(counters=Counters(found=10, copied=4))
    found = leaving.export("2026-11-29T12:01:00Z")
    assert found.waits == f"{TITLE} is in progress: 40% of the objects found so far."
    leaving.answer(done=True, counters=DONE)
    found = leaving.export("2026-11-29T12:02:00Z")
    assert (found.waits, found.failed) == ("", "")
    assert [one.state for one in found.part.operations] == ["Succeeded"]
    assert leaving.verbs() == ["export"]


def test_a_finished_export_is_not_repeated() -> None:
    leaving = _exporting()
    leaving.answer(done=True, counters=DONE)
    leaving.export("2026-11-29T12:02:00Z")
    leaving.answers, leaving.error = {}, "no answer"
    found = leaving.export("2026-11-29T14:00:00Z")
    assert (found.waits, found.failed, found.part.calls) == ("", "", ())


def test_the_export_is_requested_even_if_the_instance_is_unknown() -> None:
    leaving = Leaving()
    leaving.error = "The Lustre API has not responded yet."
    leaving.export(NOW)
    assert leaving.verbs() == ["export"]


def test_a_restarted_operator_repeats_the_request_unchanged() -> None:
    leaving = Leaving()
    leaving.export(NOW)
    leaving.restart()
    leaving.export("2026-11-29T12:00:30Z")
    first, again = leaving.calls
    assert first == again


@table(
    "copy",
    {
        "an import": _running("Import", "i@1"),
        "an export of the schedule": _running("Export", "2026-11-29T03:00:00Z"),
    },
)
def test_the_export_waits_for_a_running_copy(copy: OperationStatus) -> None:
    leaving = Leaving(copy)
    leaving.answers["r1"] = Operation("op-1")
    assert leaving.export("2026-11-29T12:10:00Z").waits
    assert leaving.verbs() == []
    leaving.answers["r1"] = Operation("op-1", done=True, counters=DONE)
    leaving.export("2026-11-29T12:11:00Z")
    assert leaving.verbs() == ["export"]
    assert leaving.export("2026-11-29T12:11:15Z").waits == f"{TITLE} started."


def test_the_export_does_not_wait_for_an_import_without_response() -> None:
    leaving = Leaving(_running("Import", "i@1", None))
    leaving.export(NOW)
    assert leaving.verbs() == ["export"]


def test_failed_objects_are_retried_and_then_the_data_is_kept() -> None:
    leaving, found = Leaving(), FinalExport()
    for now in ("12:00:00", "12:01:00", "12:03:00"):
        assert leaving.export(f"2026-11-29T{now}Z").waits
        leaving.answer(**DENIED)
        found = leaving.export(f"2026-11-29T{now}Z")
    assert leaving.verbs() == ["export"] * 3
    assert found.waits == ""
    assert "7 of 10 objects were not copied (/a: denied)" in found.failed
    assert "kvtier does not retry, and keeps the data." in found.failed
    later = leaving.export("2026-11-30T12:00:00Z")
    assert (later.part.calls, later.failed) == ((), found.failed)


def test_objects_that_were_not_copied_keep_the_data() -> None:
    leaving = _exporting()
    leaving.answer(done=True, counters=Counters(found=10, copied=4))
    assert "6 of 10 objects were not copied" in leaving.export("2026-11-29T12:02:00Z").failed


@table(
    "code, minutes",
    {
        "an instance that is busy": ("Aborted", 29),
        "an outage": ("Unavailable", 31),
        "a refusal": ("PermissionDenied", 31),
    },
)
def test_the_export_is_retried_for_30_minutes_against(code: str, minutes: int) -> None:
    leaving, waited, found = Leaving(), 0, FinalExport()
    while not found.failed:
        now = f"2026-11-29T{12 + waited // 60}:{waited % 60:02}:00Z"
        if leaving.export(now).part.calls:
            leaving.answer("", done=True, code=code, message="no")
        found = leaving.export(now)
        assert bool(found.waits) != bool(found.failed)
        waited += 1
    assert waited - 1 == minutes
    assert leaving.export("2026-11-29T18:00:00Z").part.calls == ()


def test_an_export_without_progress_keeps_the_data() -> None:
    leaving = _exporting()
    assert leaving.export("2026-11-29T12:30:04Z").waits
    assert "made no progress for 30 minutes" in leaving.export("2026-11-29T12:30:05Z").failed


def test_a_request_without_response_keeps_the_data() -> None:
    leaving = Leaving()
    assert leaving.export(NOW).waits
    assert "made no progress for 30 minutes" in leaving.export("2026-11-29T12:30:00Z").failed


def test_an_export_that_cannot_be_read_has_30_more_minutes() -> None:
    leaving = _exporting()
    leaving.error = "No answer."
    # The operator did not run, so the last progress is long ago.
    assert leaving.export("2026-11-29T15:00:00Z").waits == f"{TITLE} started. No answer."
    assert leaving.export("2026-11-29T15:29:59Z").waits
    found = leaving.export("2026-11-29T15:30:00Z")
    assert found.failed.endswith("made no progress for 30 minutes. No answer.")


def test_an_export_continues_after_an_outage() -> None:
    leaving = _exporting()
    leaving.error = "no answer"
    leaving.export("2026-11-29T15:00:00Z")
    leaving.error = None
    leaving.answer(counters=Counters(found=10, copied=5))
    assert leaving.export("2026-11-29T15:20:00Z").waits.endswith("50% of the objects found so far.")
    assert leaving.export("2026-11-29T15:45:00Z").waits
    leaving.answer(done=True, counters=DONE)
    assert leaving.export("2026-11-29T15:46:00Z").waits == ""


def test_a_stuck_import_keeps_the_data() -> None:
    leaving = Leaving(_running("Import", "i@1"))
    assert "The import from" in leaving.export("2026-11-29T12:30:00Z").failed


def test_the_instance_is_deleted_after_the_export_succeeded() -> None:
    leaving = Leaving()
    leaving.until(lambda: "export" in leaving.verbs())
    leaving.answer(done=True, counters=DONE)
    leaving.until(lambda: "delete" in leaving.verbs())
    assert leaving.verbs() == ["export", "delete"]
