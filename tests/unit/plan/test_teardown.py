"""Deletion of a pool, step by step."""

from typing import Any

from kvtier.api.kinds import Object
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.plan.model import Plan, Ref
from kvtier.plan.plan import plan
from unit.builders import NOW, claim, deleted, deployment, job, live, manifest, observed, pool, with_status
from unit.tables import table

ALIVE = pool()
RETAIN, DELETE = deleted(), deleted(deletionPolicy="Delete")
GOING = {"metadata": {"deletionTimestamp": NOW}}
ENGINE, SERVICE = deployment(ALIVE), live(manifest(ALIVE, "Service"))
CLAIM, UNBOUND = claim(ALIVE), claim(ALIVE, "Pending")
CLASS, NODES = live(manifest(ALIVE, "StorageClass")), live(manifest(ALIVE, "ComputeClass"))
EVERYTHING = [ENGINE, SERVICE, CLAIM, CLASS, NODES]


def _plan(of: Any, *children: Object, now: str = NOW) -> Plan:
    return plan(of, observed(*children), now)


def _deletes(plan: Plan) -> list[str]:
    return [ref.kind for ref in plan.deletes]


STEPS: dict[str, tuple[Any, list[Object], list[str]]] = {
    "case 1: engines go first": (DELETE, EVERYTHING, ["Deployment", "Service"]),
    "case 1: and Jobs, whose Pods keep the claim": (DELETE, [CLAIM, job(ALIVE), CLASS], ["Job"]),
    "case 1: what is going is not deleted again, and holds up the rest": (
        DELETE,
        [live(ENGINE, **GOING), CLAIM, CLASS],
        [],
    ),
    "case 2: then the claim, under Delete": (DELETE, [CLAIM, CLASS, NODES], ["PersistentVolumeClaim"]),
    "case 2: a claim that is going holds up the class": (DELETE, [live(CLAIM, **GOING), CLASS], []),
    "case 2: a claim that never got a volume goes under Retain too": (
        RETAIN,
        [UNBOUND, CLASS],
        ["PersistentVolumeClaim"],
    ),
    "case 3: then what is cluster-wide": (DELETE, [CLASS, NODES], ["ComputeClass", "StorageClass"]),
    "case 3: the data stays under Retain": (RETAIN, [CLAIM, CLASS, NODES], ["ComputeClass", "StorageClass"]),
}


@table("of, children, kinds", STEPS)
def test_step(of: Any, children: list[Object], kinds: list[str]) -> None:
    step = _plan(of, *children)
    assert _deletes(step) == kinds
    assert step.finalizer
    assert step.requeue_after is not None
    assert step.status is not None
    assert step.status.phase == "Deleting"


@table(
    "of, children",
    {
        "case 4: a pool without anything left is let go": (DELETE, []),
        "case 4: a pool whose data stays is let go": (RETAIN, [CLAIM]),
    },
)
def test_the_end(of: Any, children: list[Object]) -> None:
    assert _plan(of, *children) == Plan(finalizer=False)


HALF_AN_HOUR, A_SECOND_LATER = "2026-11-29T12:30:00Z", "2026-11-29T12:30:01Z"


def _begun(of: KVCachePool) -> KVCachePool:
    """The pool after the first step of its teardown."""
    return with_status(of, _plan(of, CLASS).status)


def test_case_5_time_in_which_no_operator_ran_does_not_count() -> None:
    late = _plan(DELETE, CLAIM, now="2026-11-30T12:00:00Z")
    assert late.finalizer
    assert [ref.kind for ref in late.deletes] == ["PersistentVolumeClaim"]


def test_case_5_half_an_hour_is_waited() -> None:
    waiting = _plan(_begun(DELETE), live(CLAIM, **GOING), now=HALF_AN_HOUR)
    assert waiting.finalizer
    assert waiting.events == ()


def test_case_5_after_half_an_hour_the_pool_is_let_go_and_what_stays_is_told() -> None:
    given_up = _plan(_begun(DELETE), live(CLAIM, **GOING), now=A_SECOND_LATER)
    assert not given_up.finalizer
    assert given_up.deletes == ()
    (notice,) = given_up.events
    assert (notice.type, notice.reason) == ("Warning", "TeardownGaveUp")
    assert f"PersistentVolumeClaim {CLAIM['metadata']['name']} did not go: delete by hand" in notice.message


def test_case_5_a_pool_with_nothing_left_is_let_go_in_silence_however_late() -> None:
    assert _plan(RETAIN, CLAIM, now="2026-11-30T12:00:00Z") == Plan(finalizer=False)


def test_the_instance_is_deleted_with_its_claim() -> None:
    (volume,) = _plan(DELETE, CLAIM).applies
    assert (volume["kind"], volume["metadata"]["name"]) == ("PersistentVolume", "pv-1")
    assert volume["spec"] == {"persistentVolumeReclaimPolicy": "Delete"}


@table(
    "of, children",
    {
        "before it is the claim's turn": (DELETE, EVERYTHING),
        "under Retain": (RETAIN, [CLAIM, CLASS]),
        "of a claim that has none": (DELETE, [UNBOUND]),
        "of a claim that is going, because that was written before": (DELETE, [live(CLAIM, **GOING)]),
        "of a claim whose volume is gone": (DELETE, [claim(ALIVE, "Lost", spec={"volumeName": "pv-1"})]),
    },
)
def test_no_volume_is_switched_to_delete(of: Any, children: list[Object]) -> None:
    assert _plan(of, *children).applies == ()


def test_what_is_deleted_is_named_by_its_uid() -> None:
    assert _plan(DELETE, CLAIM).deletes == (
        Ref("PersistentVolumeClaim", CLAIM["metadata"]["name"], "PersistentVolumeClaim-uid"),
    )


def test_the_status_says_what_is_waited_for() -> None:
    status = _plan(RETAIN, CLASS, NODES).status
    assert status is not None
    ready, deleting = status.conditions
    assert (deleting.type, deleting.status, deleting.last_transition_time) == ("Deleting", "True", NOW)
    assert (ready.type, ready.status, ready.reason) == ("Ready", "False", "Deleting")
    assert CLASS["metadata"]["name"] in ready.message
    assert NODES["metadata"]["name"] in ready.message
    assert status.observed_generation == 3


TIERS = [
    {"name": "cpu", "phase": "Configured", "capacity": "1Gi"},
    {"name": "lustre", "phase": "Bound", "capacity": "18000Gi"},
]


@table(
    "policy, phases",
    {
        "data that stays is retained": ("Retain", ["Configured", "Retained"]),
        "data that goes is not": ("Delete", ["Configured", "Bound"]),
    },
)
def test_tiers(policy: str, phases: list[str]) -> None:
    status = _plan(deleted(deletionPolicy=policy, status={"tiers": TIERS}), CLASS).status
    assert status is not None
    assert [tier.phase for tier in status.tiers] == phases
