"""Deletion of a pool: the order of the steps, what is kept, and when kvtier gives up."""

from dataclasses import replace
from typing import Any

import pytest

from kvtier.api.conditions import find
from kvtier.api.kinds import Object
from kvtier.api.v1alpha1 import KVCachePool, OperationStatus
from kvtier.facts.model import Event, Observed, Operation
from kvtier.plan.model import Plan, Ref
from kvtier.plan.plan import plan
from unit.builders import (
    NOW,
    claim,
    deleted,
    deployment,
    facts,
    job,
    live,
    manifest,
    observed,
    pool,
    with_status,
)
from unit.instances import UNSEEN, api, by_hand, existing, instance
from unit.simulation import CLAIM, VOLUME, Simulation, in_use, made
from unit.tables import table

ALIVE = pool()
RETAIN, DELETE = deleted(), deleted(deletionPolicy="Delete")
GOING = {"metadata": {"deletionTimestamp": NOW}}
BOUND, UNBOUND = claim(ALIVE), claim(ALIVE, "Pending")
CLASS, NODES = live(manifest(ALIVE, "StorageClass")), live(manifest(ALIVE, "ComputeClass"))
EVERYTHING = [deployment(ALIVE), live(manifest(ALIVE, "Service")), BOUND, CLASS, NODES]
HALF_AN_HOUR, A_SECOND_LATER = "2026-11-29T12:30:00Z", "2026-11-29T12:30:01Z"


def _plan(of: KVCachePool, *children: Object, now: str = NOW) -> Plan:
    return plan(of, observed(*children), now)


def _deletes(planned: Plan) -> list[str]:
    return [ref.kind for ref in planned.deletes]


def _waits(planned: Plan) -> str:
    """The message of Ready, empty once the finalizer is removed."""
    ready = find(planned.status.conditions, "Ready") if planned.status else None
    return ready.message if ready else ""


@table(
    "of, children, kinds",
    {
        "case 1: engines are deleted first": (DELETE, EVERYTHING, ["Deployment", "Service"]),
        "case 1: and Jobs, whose Pods protect the PVC": (DELETE, [BOUND, job(ALIVE), CLASS], ["Job"]),
        "case 1: an object that is being deleted is not deleted again, and blocks the rest": (
            DELETE,
            [live(deployment(ALIVE), **GOING), BOUND, CLASS],
            [],
        ),
        "case 3: then the PVC, with Delete": (DELETE, [BOUND, CLASS, NODES], [CLAIM]),
        "case 3: a PVC that is being deleted blocks the StorageClass": (
            DELETE,
            [live(BOUND, **GOING), CLASS],
            [],
        ),
        "case 4: a PVC without a PersistentVolume is deleted with Retain too": (
            RETAIN,
            [UNBOUND, CLASS],
            [CLAIM],
        ),
        "case 5: then cluster-wide objects": (DELETE, [CLASS, NODES], ["ComputeClass", "StorageClass"]),
        "case 5: the data is kept with Retain": (
            RETAIN,
            [BOUND, CLASS, NODES],
            ["ComputeClass", "StorageClass"],
        ),
    },
)
def test_step(of: KVCachePool, children: list[Object], kinds: list[str]) -> None:
    step = _plan(of, *children)
    assert (_deletes(step), step.finalizer) == (kinds, True)
    assert step.requeue_after is not None
    assert step.status is not None
    assert step.status.phase == "Deleting"


@table(
    "of, children, now",
    {
        "when nothing is left": (DELETE, [], NOW),
        "when only its data is left, with Retain": (RETAIN, [BOUND], NOW),
        "without an Event, also after a long time": (RETAIN, [BOUND], "2026-11-30T12:00:00Z"),
    },
)
def test_case_6_the_finalizer_is_removed(of: KVCachePool, children: list[Object], now: str) -> None:
    assert _plan(of, *children, now=now) == Plan(finalizer=False)


def test_objects_are_deleted_by_uid() -> None:
    assert _plan(DELETE, BOUND).deletes == (
        Ref(CLAIM, BOUND["metadata"]["name"], "PersistentVolumeClaim-uid"),
    )


def test_the_status_names_what_the_deletion_waits_for() -> None:
    status = _plan(RETAIN, CLASS, NODES).status
    assert status is not None
    ready, deleting = status.conditions
    assert (deleting.type, deleting.status, deleting.last_transition_time) == ("Deleting", "True", NOW)
    assert (ready.type, ready.status, ready.reason) == ("Ready", "False", "Deleting")
    for one in (CLASS, NODES):
        assert one["metadata"]["name"] in ready.message
    assert status.observed_generation == 3


@table(
    "policy, phases",
    {
        "kept data is Retained": ("Retain", ["Configured", "Retained"]),
        "data that is deleted is not": ("Delete", ["Configured", "Bound"]),
    },
)
def test_tiers(policy: str, phases: list[str]) -> None:
    tiers = [
        {"name": "cpu", "phase": "Configured", "capacity": "1Gi"},
        {"name": "lustre", "phase": "Bound", "capacity": "18000Gi"},
    ]
    status = _plan(deleted(deletionPolicy=policy, status={"tiers": tiers}), CLASS).status
    assert status is not None
    assert [tier.phase for tier in status.tiers] == phases


# When kvtier gives up.

NEVER = observed(NODES)
CREATING = replace(NEVER, facts=replace(facts(), lustre=instance(state="CREATING")))
SAID = Event(CLAIM, "claim", "ProvisioningFailed", "CREATING", last="2026-11-29T13:00:00Z")
SAYS = replace(NEVER, claim_events=(SAID,))


def _operation(kind: str, time: str, state: str = "Running") -> OperationStatus:
    at = f"2026-11-29T{time}:00Z"
    return OperationStatus(
        kind=kind, subject="s", state=state, request_id="r", start_time=at, progress_time=at
    )


EXPORT = _operation("Export", "14:00")
CREATED, DELETED = _operation("Create", "12:50", "Succeeded"), _operation("Delete", "12:30", "Failed")


@table(
    "operations, seen, now, given_up",
    {
        "after 30 minutes: not yet": ([], NEVER, "12:30:00", False),
        "later: yes": ([], NEVER, "12:30:01", True),
        "30 minutes after the last progress of an export: not yet": ([EXPORT], NEVER, "14:30:00", False),
        "30 minutes after the creation of the instance: not yet": ([CREATED], NEVER, "13:20:00", False),
        "retries of a deletion are no progress": ([DELETED], NEVER, "12:31:00", True),
        "an instance that is being created is progress": ([], CREATING, "14:29:00", False),
        "but not without limit": ([], CREATING, "14:30:01", True),
        "an Event of the driver is progress": ([], SAYS, "13:29:00", False),
        "until 30 minutes after it": ([], SAYS, "13:31:00", True),
    },
)
def test_case_7_the_finalizer_is_removed_without_progress(
    operations: list[OperationStatus], seen: Observed, now: str, given_up: bool
) -> None:
    began = {"type": "Deleting", "status": "True", "reason": "TeardownStarted", "lastTransitionTime": NOW}
    of = deleted(status={"conditions": [began]}, **api())
    of = with_status(of, of.status.model_copy(update={"operations": operations}))
    assert plan(of, seen, f"2026-11-29T{now}Z").finalizer is not given_up


def test_case_7_time_in_which_no_operator_ran_does_not_count() -> None:
    late = _plan(DELETE, BOUND, now="2026-11-30T12:00:00Z")
    assert (late.finalizer, _deletes(late)) == (True, [CLAIM])


@table(
    "of, child, left",
    {
        "data, with Delete": (
            DELETE,
            live(BOUND, **GOING),
            f"PersistentVolumeClaim {BOUND['metadata']['name']}, "
            "PersistentVolume pv-1 with instance projects/p/locations/z/instances/pv-1",
        ),
        "not data, with Retain": (RETAIN, NODES, f"ComputeClass {NODES['metadata']['name']}"),
    },
)
def test_case_7_objects_that_are_left_are_named(of: KVCachePool, child: Object, left: str) -> None:
    begun = with_status(of, _plan(of, CLASS).status)
    assert _plan(begun, child, now=HALF_AN_HOUR).events == ()
    given_up = _plan(begun, child, now=A_SECOND_LATER)
    assert (given_up.finalizer, given_up.deletes) == (False, ())
    (event,) = given_up.events
    assert (event.type, event.reason) == ("Warning", "TeardownGaveUp")
    assert event.message == f"Finalizer removed after 30 minutes without progress. Delete {left} manually."


# Instance, PersistentVolume and PVC, when the pool is deleted at different steps of their creation.

KEEP, GO = pool(**api()), pool(**api(), deletionPolicy="Delete")


def _leave(simulation: Simulation, looks: int = 9) -> Plan:
    """Delete the pool, and reconcile until the finalizer is removed, or `looks` times."""
    simulation.delete()
    for _ in range(looks):
        planned = simulation.at()
        if not planned.finalizer:
            break
    return planned


def _refused(code: str) -> Operation:
    return Operation(done=True, code=code)


def _creating(simulation: Simulation) -> None:
    simulation.at()
    simulation.answer()
    simulation.instance = made(simulation.pool, state="CREATING", address="")
    simulation.at()


def _failed(simulation: Simulation) -> None:
    simulation.at()
    simulation.answer(done=True, code="ResourceExhausted", message="full")
    simulation.at()


def _active(simulation: Simulation) -> None:
    simulation.instance = made(simulation.pool)


def _unbound(simulation: Simulation) -> None:
    simulation.instance = made(simulation.pool)
    simulation.at()


def _without_claim(simulation: Simulation) -> None:
    _unbound(simulation)
    simulation.drop(CLAIM)


def _bound(simulation: Simulation) -> None:
    _unbound(simulation)
    simulation.bind()


def _growing(simulation: Simulation) -> None:
    _bound(simulation)
    simulation.edit(tiers={"lustre": {"capacity": "27000Gi"}})
    simulation.at()
    simulation.answer()
    simulation.instance = made(simulation.pool, state="UPDATING")


STEPS = {
    "before anything was created": lambda simulation: None,
    "after a creation failed": _failed,
    "while the instance is being created": _creating,
    "with an instance without a PersistentVolume": _active,
    "with a PersistentVolume without a PVC": _without_claim,
    "with a PVC that is not bound": _unbound,
    "with a bound PVC": _bound,
    "during a resize": _growing,
}


@table("step", STEPS)
def test_with_delete_nothing_is_left(step: Any) -> None:
    simulation = Simulation(GO)
    step(simulation)
    planned = _leave(simulation)
    if planned.finalizer:
        assert simulation.verbs()[-1] == "delete"
        assert "instance" in _waits(planned)
        simulation.answer(done=True)
        simulation.instance = None
        planned = _leave(simulation)
    assert planned == Plan(finalizer=False)
    assert (simulation.kinds(), simulation.instance) == ([], None)
    assert simulation.verbs().count("delete") <= 1


@table("step", STEPS)
def test_with_retain_everything_is_left(step: Any) -> None:
    simulation = Simulation(KEEP)
    step(simulation)
    before = simulation.storage(), simulation.verbs()
    assert not _leave(simulation).finalizer
    assert (simulation.storage(), simulation.verbs()) == before


@table(
    "step, reasons",
    {
        "with a PersistentVolume has no Event": (_bound, []),
        "without a PersistentVolume has an Event": (_active, ["InstanceKept"]),
        "that was never created has no Event": (_failed, []),
    },
)
def test_an_instance_that_is_retained(step: Any, reasons: list[str]) -> None:
    simulation = Simulation(KEEP)
    step(simulation)
    assert [event.reason for event in _leave(simulation).events] == reasons


@table(
    "answer, now, waits",
    {
        "in progress is waited for": (Operation(), "12:05:00", True),
        "whose request was lost is waited for": (None, "12:00:59", True),
        "whose request was lost is waited for only a minute": (None, "12:01:01", False),
        "without a response is waited for": (_refused("DeadlineExceeded"), "12:01:30", True),
        "without a response is waited for only a minute": (_refused("DeadlineExceeded"), "12:02:01", False),
        "that was refused is not waited for": (_refused("ResourceExhausted"), "12:01:30", False),
    },
)
def test_a_creation(answer: Operation | None, now: str, waits: bool) -> None:
    simulation = Simulation(GO)
    simulation.at()
    simulation.lose()
    if answer:
        simulation.answers[simulation.calls[-1].request] = answer
        simulation.at("2026-11-29T12:01:00Z")
    _leave(simulation, looks=1)
    planned = simulation.at(f"2026-11-29T{now}Z")
    assert ("kvtier waits for the creation of instance" in _waits(planned)) is waits


def test_a_creation_that_is_not_in_the_status_yet_is_waited_for() -> None:
    simulation = Simulation(GO)
    simulation.answers["some-request"] = Operation()
    assert _leave(simulation).finalizer


def test_the_instance_in_the_status_is_deleted_after_the_tier_left_the_spec() -> None:
    """The API server may refuse the spec of a pool now; the pool is deleted nevertheless."""
    simulation = in_use(GO)
    simulation.pool = simulation.pool.model_copy(
        update={"spec": pool(tiers={"lustre": None}, deletionPolicy="Delete").spec}
    )
    _leave(simulation)
    assert simulation.verbs() == ["delete"]


@table("changes", {"read from the Lustre API": existing(), "with all fields in the spec": by_hand()})
def test_an_existing_instance_is_kept_and_only_the_objects_are_deleted(changes: dict[str, Any]) -> None:
    simulation = in_use(pool(**changes, deletionPolicy="Delete"), instance().instance)
    _leave(simulation, looks=1)
    first, second = simulation.at(), simulation.at()
    assert first.applies == (), "its PersistentVolume keeps its reclaim policy"
    assert (_deletes(first), _deletes(second)) == ([CLAIM], [VOLUME])
    assert _deletes(simulation.at()) == ["ComputeClass"]
    assert simulation.at() == Plan(finalizer=False)
    assert simulation.calls == []


def test_an_instance_with_the_labels_of_another_pool_is_kept_with_an_event() -> None:
    simulation = in_use(GO)
    simulation.instance = made(GO, labels={"kvtier-pool": "other"})
    planned = _leave(simulation)
    assert (planned.finalizer, simulation.calls, simulation.kinds()) == (False, [], [])
    (event,) = planned.events
    assert (event.type, event.reason) == ("Warning", "DataKept")
    *_, name = made(GO).name.split("/")
    assert event.message == (
        f"The labels of instance {made(GO).name} are not those of this pool, so kvtier keeps it. If nothing else uses "
        f"it, delete it: gcloud lustre instances delete {name} --project=my-project --location=us-central1-a"
    )


def test_a_refused_deletion_is_reported_and_retried() -> None:
    simulation = in_use(GO)
    _leave(simulation, looks=3)
    simulation.answer(done=True, code="PermissionDenied", message="no")
    assert "PermissionDenied: no. Grant roles/lustre.admin" in _waits(simulation.at())
    simulation.at("2026-11-29T12:05:00Z")
    assert simulation.verbs() == ["delete", "delete"]


def test_an_unknown_instance_is_named_when_the_finalizer_is_removed() -> None:
    simulation = in_use(GO)
    simulation.error = UNSEEN.error
    assert "No valid credentials to read the instance" in _waits(_leave(simulation))
    planned = simulation.at(A_SECOND_LATER)
    assert not planned.finalizer
    (event,) = planned.events
    assert (event.type, event.reason) == ("Warning", "TeardownGaveUp")
    for left in (f"instance {made(GO).name}", VOLUME):
        assert left in event.message


# The export before deletion.


@pytest.fixture
def exporting() -> Simulation:
    """A deleted pool whose engines were deleted, and whose export was requested."""
    simulation = in_use(GO)
    simulation.edit(tiers={"cloudStorage": {"uri": "gs://bucket/cache/", "importOnCreate": False}})
    simulation.at()
    _leave(simulation, looks=2)
    return simulation


def test_case_2_data_is_exported_before_it_is_deleted(exporting: Simulation) -> None:
    assert exporting.verbs() == ["export"]
    exporting.answer()
    planned = exporting.at()
    assert (planned.finalizer, planned.applies, planned.deletes) == (True, (), ())
    assert "The export to gs://bucket/cache/ (before deletion) started." in _waits(planned)
    exporting.answer(done=True)
    exporting.at()
    assert exporting.storage() == [VOLUME]
    _leave(exporting)
    assert exporting.verbs() == ["export", "delete"]
    assert exporting.operation("Export").state == "Succeeded", "kept until everything is deleted"


def test_case_2_all_data_is_kept_when_the_export_fails(exporting: Simulation) -> None:
    for minute in ("01", "11", "21"):
        exporting.at(f"2026-11-29T12:{minute}:00Z")
        exporting.answer(done=True, code="InvalidArgument", message="no such bucket")
        planned = exporting.at(f"2026-11-29T12:{minute}:30Z")
    assert exporting.verbs() == ["export"] * 3
    assert _deletes(planned) == ["ComputeClass"], "cluster-wide objects are deleted nevertheless"
    planned = exporting.at("2026-11-29T12:22:00Z")
    assert (planned.finalizer, planned.applies, planned.deletes) == (False, (), ())
    (event,) = planned.events
    assert (event.type, event.reason) == ("Warning", "DataKept")
    names = [exporting.only(kind)["metadata"]["name"] for kind in (CLAIM, VOLUME)]
    for kept in ("no such bucket", *names, made(GO).name):
        assert kept in event.message
    assert exporting.storage() == [VOLUME, CLAIM]
