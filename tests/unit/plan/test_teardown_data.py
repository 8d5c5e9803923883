"""What becomes of claim, volume and instance when a pool is deleted, at every step that it may have come to."""

from dataclasses import replace
from typing import Any

import pytest

from kvtier.context import build
from kvtier.facts.model import Event, Operation
from kvtier.facts.volumes import Volume, Volumes
from kvtier.plan import teardown
from kvtier.plan.lustre.final_export import FinalExport
from kvtier.plan.lustre.shared_tier import plan_storage
from kvtier.plan.model import Plan
from kvtier.plan.plan import plan
from unit.builders import NOW, checks, claim, deleted, facts, live, observed, pool
from unit.instances import api, by_hand, existing
from unit.plan.lustre.tiers import Tier, bound, made, unseen
from unit.tables import table

DELETE: dict[str, Any] = {"deletionPolicy": "Delete"}
VOLUME, CLAIM = "PersistentVolume", "PersistentVolumeClaim"
LATE = "2026-11-29T12:30:01Z"


def _waits(plan: Plan) -> str:
    assert plan.status is not None
    return next(one.message for one in plan.status.conditions if one.type == "Ready")


def _leave(tier: Tier, steps: int = 9) -> Plan:
    """Until nothing happens any more, or the pool is let go."""
    for _ in range(steps):
        plan = tier.leave()
        if not plan.finalizer:
            break
    return plan


def _gone(tier: Tier) -> None:
    tier.answer(done=True)
    tier.instance = None


def _asked(tier: Tier) -> None:
    tier.at()


def _lost(tier: Tier) -> None:
    tier.at()
    tier.lose()


def _creating(tier: Tier) -> None:
    tier.at()
    tier.answer()
    tier.instance = made(tier.pool, state="CREATING", address="")
    tier.at()


def _failed(tier: Tier) -> None:
    tier.at()
    tier.answer(done=True, code="ResourceExhausted", message="full")
    tier.at()


def _active(tier: Tier) -> None:
    tier.instance = made(tier.pool)


def _unbound(tier: Tier) -> None:
    tier.instance = made(tier.pool)
    tier.at()


def _without_claim(tier: Tier) -> None:
    _unbound(tier)
    tier.drop(CLAIM)


def _bound(tier: Tier) -> None:
    _unbound(tier)
    tier.bind()


def _growing(tier: Tier) -> None:
    _bound(tier)
    tier.edit(tiers={"lustre": {"capacity": "27000Gi"}})
    tier.at()
    tier.answer()
    tier.instance = made(tier.pool, state="UPDATING")


STEPS = {
    "before anything was made": lambda tier: None,
    "after a creation failed": _failed,
    "while the instance is being made": _creating,
    "with an instance without a volume": _active,
    "with a volume without a claim": _without_claim,
    "with a claim that is not bound": _unbound,
    "with a claim that is bound": _bound,
    "while it grows": _growing,
}


@table("step", STEPS)
def test_nothing_is_left_under_delete(step: Any) -> None:
    tier = Tier(pool(**api(), **DELETE))
    step(tier)
    plan = _leave(tier)
    if plan.finalizer:
        assert tier.asked()[-1] == "delete"
        assert "instance" in _waits(plan)
        _gone(tier)
        plan = _leave(tier)
    assert plan == Plan(finalizer=False)
    assert (tier.kinds(), tier.instance) == ([], None)
    assert tier.asked().count("delete") <= 1


@table("step", STEPS)
def test_everything_is_left_under_retain(step: Any) -> None:
    tier = Tier(pool(**api()))
    step(tier)
    kinds, asked = tier.kinds(), tier.asked()
    plan = _leave(tier)
    assert not plan.finalizer
    assert (tier.kinds(), tier.asked()) == (kinds, asked)


@table(
    "step, told",
    {
        "with a volume the data is found again": (_bound, []),
        "without one it is told of": (_active, ["InstanceKept"]),
        "where none was made there is nothing to tell": (_failed, []),
    },
)
def test_an_instance_that_is_retained(step: Any, told: list[str]) -> None:
    tier = Tier(pool(**api()))
    step(tier)
    assert [one.reason for one in _leave(tier).events] == told


@table("step", {"that is being asked for": _asked, "whose request may have been lost": _lost})
def test_an_instance_is_waited_for(step: Any) -> None:
    tier = Tier(pool(**api(), **DELETE))
    step(tier)
    plan = tier.leave()
    assert plan.finalizer
    assert "the creation of instance" in _waits(plan)


def test_a_request_that_was_lost_is_not_waited_for_long() -> None:
    tier = Tier(pool(**api(), **DELETE))
    _lost(tier)
    assert not tier.leave("2026-11-29T12:01:01Z").finalizer


@table("changes", {"told by the Lustre API": existing(), "given by hand": by_hand()})
def test_an_existing_instance_stays_and_only_the_objects_go(changes: dict[str, Any]) -> None:
    tier = bound(pool(**changes, **DELETE))
    first = tier.leave()
    assert [(one["kind"]) for one in first.applies] == [], "its volume never gets another reclaim policy"
    assert [ref.kind for ref in first.deletes] == [CLAIM]
    second = tier.leave()
    assert [ref.kind for ref in second.deletes] == [VOLUME]
    assert tier.leave() == Plan(finalizer=False)
    assert (tier.calls, tier.instance is None) == ([], False)


@table("changes", {"an existing instance": existing(), "kvtier's own": api()})
def test_claim_and_volume_stay_under_retain(changes: dict[str, Any]) -> None:
    tier = bound(pool(**changes))
    assert tier.leave() == Plan(finalizer=False)
    assert tier.kinds() == [VOLUME, CLAIM]


def test_an_instance_that_is_another_s_by_its_labels_stays_and_is_told_of() -> None:
    tier = bound(pool(**api(), **DELETE))
    tier.instance = made(tier.pool, labels={"kvtier-pool": "other"})
    plan = _leave(tier)
    assert (plan.finalizer, tier.calls, tier.kinds()) == (False, [], [])
    (notice,) = plan.events
    assert (notice.type, notice.reason) == ("Warning", "DataKept")
    assert "not this pool's by its labels" in notice.message


def test_a_deletion_that_is_refused_is_told_of_and_tried_again() -> None:
    tier = bound(pool(**api(), **DELETE))
    _leave(tier, 2)
    tier.answer(done=True, code="PermissionDenied", message="no")
    plan = tier.leave()
    assert "PermissionDenied: no; grant roles/lustre.admin" in _waits(plan)
    tier.leave("2026-11-29T12:05:00Z")
    assert tier.asked() == ["delete", "delete"]


def test_what_does_not_go_is_named_when_the_pool_is_let_go() -> None:
    tier = bound(pool(**api(), **DELETE))
    name = made(tier.pool).name
    unseen(tier)
    assert "give kvtier credentials" in _waits(_leave(tier))
    plan = tier.leave(LATE)
    assert not plan.finalizer
    (notice,) = plan.events
    assert (notice.type, notice.reason) == ("Warning", "TeardownGaveUp")
    assert f"instance {name}" in notice.message
    assert VOLUME in notice.message


def test_a_pool_whose_spec_cannot_be_read_deletes_what_its_volume_names() -> None:
    tier = bound(pool(**api(), **DELETE))
    tier.pool = tier.pool.model_copy(update={"spec": pool(tiers={"lustre": None}, **DELETE).spec})
    _leave(tier)
    assert tier.asked() == ["delete"]


MINE, CSI = pool(), deleted(**DELETE)
BOUND = claim(MINE)
DRIVEN = Volume(
    name="pv-1",
    uid="volume-uid",
    handle="p/z/pv-1",
    storage_class="class",
    phase="Bound",
    reclaim="Retain",
    claim=("team-a", BOUND["metadata"]["name"]),
    claim_uid=BOUND["metadata"]["uid"],
)
GOING = live(BOUND, metadata={"deletionTimestamp": NOW})
INSTANCE = "projects/p/locations/z/instances/pv-1"
KNOWN = deleted(status={"tiers": [{"name": "lustre", "phase": "Bound", "instance": INSTANCE}]}, **DELETE)


def _teardown(of: Any, *children: Any, volumes: tuple[Volume, ...] = (), **seen: Any) -> Plan:
    known = Volumes({one.name: one for one in volumes})
    world = replace(observed(*children, facts=replace(facts(), volumes=known)), **seen)
    return plan(of, world, NOW)


@table(
    "of, children, volume, switched",
    {
        "with its claim": (CSI, [BOUND], DRIVEN, True),
        "of a claim that goes by other hands, with its namespace": (CSI, [GOING], DRIVEN, True),
        "of a claim that has gone by other hands": (KNOWN, [], replace(DRIVEN, phase="Released"), True),
        "only once": (CSI, [BOUND], replace(DRIVEN, reclaim="Delete"), False),
        "not what an earlier pool of that name has retained": (
            CSI,
            [],
            replace(DRIVEN, phase="Released"),
            False,
        ),
        "not what is bound to a namesake of the claim": (
            CSI,
            [BOUND],
            replace(DRIVEN, claim_uid="other"),
            False,
        ),
        "not what is not the driver's": (CSI, [BOUND], replace(DRIVEN, storage_class=""), False),
        "not under Retain": (deleted(), [BOUND], DRIVEN, False),
    },
)
def test_the_driver_may_delete_the_volume(
    of: Any, children: list[Any], volume: Volume, switched: bool
) -> None:
    plan = _teardown(of, *children, volumes=(volume,))
    assert [one["metadata"]["name"] for one in plan.applies] == (["pv-1"] if switched else [])


def test_a_pool_whose_claim_has_gone_first_still_knows_its_instance() -> None:
    """The namespace controller deletes claims and pools in any order."""
    alive = pool(status={"tiers": [{"name": "lustre", "phase": "Bound", "instance": INSTANCE}]}, **DELETE)
    for volumes, known in ({DRIVEN.name: DRIVEN}, INSTANCE), ({}, None):
        world = observed(facts=replace(facts(), volumes=Volumes(volumes)))
        (tier,) = plan_storage(build(alive, world, NOW), checks()).tiers
        assert tier.instance == known


def test_a_volume_that_no_claim_took_up_is_given_to_none() -> None:
    free = replace(DRIVEN, phase="Available", claim_uid="", reclaim="Delete")
    (switch,) = _teardown(KNOWN, volumes=(free,)).applies
    assert switch["spec"] == {"persistentVolumeReclaimPolicy": "Delete", "claimRef": {"uid": "pool-uid"}}
    assert _teardown(KNOWN, volumes=(replace(free, phase="Released"),)).applies == ()


def test_the_volume_is_waited_for_with_its_instance() -> None:
    going = replace(DRIVEN, phase="Released", reclaim="Delete")
    plan = _teardown(CSI, volumes=(going,))
    assert (plan.finalizer, plan.deletes) == (True, ())
    assert f"PersistentVolume pv-1 with instance {INSTANCE}" in _waits(plan)


def test_a_volume_that_the_driver_cannot_delete_is_told_of_with_its_message() -> None:
    stuck = replace(DRIVEN, phase="Failed", reclaim="Delete", message="it has snapshots")
    assert "which the driver could not delete: it has snapshots" in _waits(_teardown(CSI, volumes=(stuck,)))


def test_the_pods_that_keep_a_claim_are_named() -> None:
    plan = _teardown(CSI, GOING, volumes=(replace(DRIVEN, reclaim="Delete"),), holders=("a", "b"))
    assert f"{BOUND['metadata']['name']}, which Pods a, b use" in _waits(plan)


@pytest.mark.parametrize("of", [CSI, deleted()])
def test_a_claim_whose_instance_is_being_made_is_waited_for(of: Any) -> None:
    waiting = claim(MINE, "Pending", metadata={"creationTimestamp": NOW})
    news = Event(
        CLAIM,
        "claim",
        "ProvisioningFailed",
        "rpc error: code = DeadlineExceeded desc = not ready, current state: CREATING",
        last=NOW,
    )
    plan = _teardown(of, waiting, claim_events=(news,))
    assert (plan.finalizer, plan.deletes) == (True, ())
    assert "for which an instance is being made" in _waits(plan)


class _Exports:
    """A last export that ends as it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = FinalExport()
        monkeypatch.setattr(teardown, "plan_final_export", lambda *_: self.now)


@pytest.fixture
def exports(monkeypatch: pytest.MonkeyPatch) -> _Exports:
    return _Exports(monkeypatch)


def test_data_is_exported_before_anything_of_it_goes(exports: _Exports) -> None:
    exports.now = FinalExport(waits="1000 of 2000 objects are copied")
    plan = _teardown(CSI, BOUND, volumes=(DRIVEN,))
    assert (plan.finalizer, plan.applies, plan.deletes) == (True, (), ())
    assert "1000 of 2000 objects" in _waits(plan)


def test_all_data_is_kept_when_the_export_fails_and_told_of(exports: _Exports) -> None:
    exports.now = FinalExport(failed="the export of gs://bucket failed")
    plan = _teardown(KNOWN, BOUND, volumes=(DRIVEN,))
    assert (plan.finalizer, plan.applies, plan.deletes) == (False, (), ())
    (notice,) = plan.events
    assert (notice.type, notice.reason) == ("Warning", "DataKept")
    for kept in ("gs://bucket", f"{CLAIM} {BOUND['metadata']['name']}", "pv-1", INSTANCE):
        assert kept in notice.message


def test_what_is_cluster_wide_goes_although_the_export_failed(exports: _Exports) -> None:
    exports.now = FinalExport(failed="the export failed")
    storage_class = live({"kind": "StorageClass", "metadata": {"name": "class"}})
    plan = _teardown(CSI, BOUND, storage_class, volumes=(DRIVEN,))
    assert [ref.kind for ref in plan.deletes] == ["StorageClass"]


def test_jobs_go_with_the_engines() -> None:
    job = live({"kind": "Job", "metadata": {"name": "probe"}})
    assert [ref.kind for ref in _teardown(CSI, job, BOUND, volumes=(DRIVEN,)).deletes] == ["Job"]


@table(
    "code, now, waits",
    {
        "without an answer, it may yet be carried out": ("DeadlineExceeded", "12:01:30", True),
        "but not for long": ("DeadlineExceeded", "12:02:01", False),
        "refused, it is not": ("ResourceExhausted", "12:01:30", False),
    },
)
def test_a_creation_that_failed(code: str, now: str, waits: bool) -> None:
    tier = Tier(pool(**api(), **DELETE))
    tier.at()
    tier.answer("", done=True, code=code)
    tier.at("2026-11-29T12:01:00Z")
    assert tier.leave(f"2026-11-29T{now}Z").finalizer is waits


def test_a_creation_that_the_status_does_not_tell_of_yet_is_waited_for() -> None:
    tier = Tier(pool(**api(), **DELETE))
    tier.answers["some-request"] = Operation()
    assert tier.leave().finalizer
