"""The copy before deletion: the data goes only once it has arrived in Cloud Storage."""

from dataclasses import replace

from kvtier.api.v1alpha1 import KVCachePool, OperationStatus
from kvtier.facts.model import Counters, LustreFacts, Operation
from kvtier.plan.lustre.cloud_storage import LastExport, last_export
from kvtier.plan.model import Call
from unit.builders import claim, facts, observed
from unit.plan.lustre.leaving import DONE, NOON, Teardown, copy_of, leaving, while_under_way, world
from unit.plan.lustre.story import INSTANCE, NAME, URI
from unit.tables import table


@table(
    "going, seen",
    {
        "data that is retained": (leaving(deletionPolicy="Retain"), LustreFacts(INSTANCE)),
        "a pool without Cloud Storage": (leaving(tiers={"cloudStorage": None}), LustreFacts(INSTANCE)),
        "a pool that does not want it": (
            leaving(tiers={"cloudStorage": {"exportBeforeDeletion": False}}),
            LustreFacts(INSTANCE),
        ),
        "an instance that does not exist": (leaving(), LustreFacts()),
        "a tier that was never usable": (leaving("Waiting"), LustreFacts(INSTANCE)),
        "an instance that kvtier does not delete": (
            leaving(
                tiers={
                    "lustre": {
                        "provisioner": "Existing",
                        "instance": NAME.lower(),
                        "capacity": None,
                        "throughputPerTiB": None,
                        "zone": None,
                        "network": None,
                    }
                }
            ),
            LustreFacts(INSTANCE),
        ),
    },
)
def test_nothing_is_copied_of(going: KVCachePool, seen: LustreFacts) -> None:
    assert last_export(going, world(going, seen), NOON) == LastExport()


def test_nothing_is_copied_of_a_claim_that_was_never_bound_as_far_as_anybody_remembers() -> None:
    going = leaving("")
    pending = claim(going.model_copy(update={"metadata": {"name": "chat", "namespace": "team-a"}}), "Pending")
    seen = replace(facts(), lustre=LustreFacts(INSTANCE))
    assert last_export(going, observed(pending, facts=seen), NOON) == LastExport()
    assert last_export(going, world(going, LustreFacts(INSTANCE)), NOON).waits


def test_the_export_is_asked_for_and_waited_for() -> None:
    teardown = Teardown(leaving())
    found = teardown.at(NOON)
    assert found.part.calls == (
        Call("export", NAME, found.part.calls[0].request, {"uri": URI, "path": "/team-a/chat/"}),
    )
    assert (found.waits, found.failed) == (f"the export to {URI} (deletion) has begun", "")
    assert found.part.again == 15
    teardown.answer(counters=Counters(found=10, copied=4))
    found = teardown.at("2026-11-29T12:01:00Z")
    assert found.waits == f"the export to {URI} (deletion) is under way, 40% of what was found so far"
    teardown.answer(done=True, counters=DONE)
    found = teardown.at("2026-11-29T12:02:00Z")
    assert (found.waits, found.failed) == ("", "")
    assert [one.state for one in found.part.operations] == ["Succeeded"]
    assert len(teardown.calls) == 1


def test_once_done_it_stays_done() -> None:
    teardown = Teardown(leaving()).running()
    teardown.answer(done=True, counters=DONE)
    teardown.at("2026-11-29T12:02:00Z")
    teardown.answers, teardown.error = {}, "no answer"
    found = teardown.at("2026-11-29T14:00:00Z")
    assert (found.waits, found.failed, found.part.calls) == ("", "", ())


def test_it_is_asked_for_although_the_instance_cannot_be_seen() -> None:
    teardown = Teardown(leaving())
    teardown.error = "the Lustre API is being asked"
    assert [call.verb for call in teardown.at(NOON).part.calls] == ["export"]


def test_an_operator_that_starts_anew_repeats_the_request_as_it_was() -> None:
    teardown = Teardown(leaving())
    teardown.at(NOON)
    teardown.answers = {}
    teardown.at("2026-11-29T12:00:30Z")
    first, again = teardown.calls
    assert first == again


@table(
    "copy",
    {
        "an import": copy_of("Import", "i@1", "op-1"),
        "an export of the schedule": copy_of("Export", "2026-11-29T03:00:00Z", "op-1"),
    },
)
def test_a_copy_under_way_is_waited_for(copy: OperationStatus) -> None:
    teardown = while_under_way(copy)
    found = teardown.at("2026-11-29T12:10:00Z")
    assert (found.part.calls, bool(found.waits)) == ((), True)
    teardown.answers["r1"] = Operation("op-1", done=True, counters=DONE)
    teardown.at("2026-11-29T12:11:00Z")
    assert [call.verb for call in teardown.calls] == ["export"]
    assert teardown.at("2026-11-29T12:11:15Z").waits == f"the export to {URI} (deletion) has begun"


def test_an_import_that_was_never_answered_is_not_waited_for() -> None:
    assert [call.verb for call in while_under_way(copy_of("Import", "i@1", None)).at(NOON).part.calls] == [
        "export"
    ]
