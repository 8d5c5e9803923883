"""The replacement of a claim, step by step, and what is told of the tier meanwhile."""

from dataclasses import replace
from typing import Any

import pytest

from kvtier.api.v1alpha1 import KVCachePool, TierStatus
from kvtier.facts.model import Event
from kvtier.plan.lustre.storage import plan_storage
from kvtier.plan.model import Part, Ref
from kvtier.plan.plan import plan
from unit.builders import NOW, checks, claim, live, manifest, observed, pool, with_status
from unit.plan.lustre.hearing import hearing, instance, pending, refused
from unit.tables import table

POOL = pool()
NAME = manifest(POOL, "PersistentVolumeClaim")["metadata"]["name"]
STOCKOUT = refused("ResourceExhausted", "The zone does not have enough resources available")
TRIED: dict[str, Any] = {"tiers": [{"name": "lustre", "phase": "Failed", "attempts": 3}]}
GOING: dict[str, Any] = {"metadata": {"deletionTimestamp": NOW}}


def _plan(of: KVCachePool, found: Any, *news: Event, holders: tuple[str, ...] = (), **statuses: str) -> Part:
    world = replace(hearing(POOL, found, *news), holders=holders)
    return plan_storage(of, world, checks(**statuses), NOW)


def _tier(part: Part) -> TierStatus:
    (tier,) = part.tiers
    return tier


def _reason(part: Part) -> str:
    (condition,) = part.conditions
    return condition.reason


def test_a_claim_that_has_to_be_replaced_is_deleted_and_not_written_in_one_plan() -> None:
    part = _plan(POOL, pending(POOL, 10), STOCKOUT)
    assert part.deletes == (Ref("PersistentVolumeClaim", NAME, "PersistentVolumeClaim-uid"),)
    assert [one["kind"] for one in part.applies] == ["StorageClass"]
    assert _reason(part) == "Replacing"
    assert _tier(part).attempts == 2
    (notice,) = part.events
    assert (notice.type, notice.reason) == ("Normal", "ClaimReplaced")
    assert "repeats ResourceExhausted for good; nothing was stored" in notice.message


def test_its_deletion_is_counted_and_told_of_once_though_it_may_not_show_at_once() -> None:
    found = pending(POOL, 10)
    larger = {"tiers": {"lustre": {"capacity": "27000Gi"}}}
    first = plan(pool(**larger), hearing(POOL, found, refused("InvalidArgument")), NOW)
    second = plan(
        with_status(pool(**larger), first.status), hearing(POOL, found, refused("InvalidArgument")), NOW
    )
    assert [ref.kind for ref in second.deletes] == ["PersistentVolumeClaim"]
    assert second.events == ()
    assert second.status == first.status


def test_it_is_counted_too_if_its_deletion_shows_before_the_status_is_written() -> None:
    going = pending(POOL, 10, **GOING)
    assert _tier(_plan(POOL, going, STOCKOUT)).attempts == 2
    said = {"conditions": [{"type": "StorageReady", "status": "False", "reason": "Replacing"}], **TRIED}
    assert _tier(_plan(pool(status=said), going, STOCKOUT)).attempts == 3


def test_the_old_claim_is_waited_for_without_a_write() -> None:
    part = _plan(POOL, pending(POOL, 10, **GOING), STOCKOUT)
    assert part.deletes == ()
    assert [one["kind"] for one in part.applies] == ["StorageClass"]
    assert _reason(part) == "Replacing"


@table(
    "found, attempts",
    {
        "remembered until the next claim is made": (None, 3),
        "remembered while the next claim waits": (pending(POOL, 1), 3),
        "over once a claim is bound": (claim(POOL), None),
    },
)
def test_the_number_of_claims_is(found: Any, attempts: int | None) -> None:
    of = pool(status=TRIED)
    world = hearing(POOL, found) if found else observed()
    assert _tier(plan_storage(of, world, checks(), NOW)).attempts == attempts


def test_a_claim_is_not_replaced_while_another_could_not_be_made() -> None:
    found = pending(POOL, 600)
    assert _plan(POOL, found, STOCKOUT, CapacityValid="False").deletes == ()
    broken = live(manifest(POOL, "StorageClass"), parameters={"perUnitStorageThroughput": "125"})
    world = replace(observed(broken, found), claim_events=(STOCKOUT,))
    assert plan_storage(POOL, world, checks(), NOW).deletes == ()


@table(
    "found, seconds",
    {
        "may be replaced, so its news are awaited": (pending(POOL, spec={"storageClassName": "x"}), 60),
        "is not touched": (claim(POOL, spec={"storageClassName": "x"}), None),
    },
)
def test_a_claim_of_another_class(found: Any, seconds: float | None) -> None:
    part = _plan(POOL, found)
    assert _reason(part) == "ClaimMismatch"
    assert part.again == seconds


@table(
    "news, phase",
    {
        "progress is": ([refused("DeadlineExceeded")], "Provisioning"),
        "no news are": ([], "Provisioning"),
        "a failure for good is": ([STOCKOUT], "Failed"),
    },
)
def test_the_phase_of(news: list[Event], phase: str) -> None:
    assert _tier(_plan(POOL, pending(POOL), *news)).phase == phase


@table(
    "minutes, seconds",
    {
        "soon, as long as no news were read": (0.05, 5),
        "often, while it may take some minutes": (1, 15),
        "seldom, if it takes long": (61, 60),
    },
)
def test_a_claim_that_waits_is_looked_at(minutes: float, seconds: float) -> None:
    assert _plan(POOL, pending(POOL, minutes)).again == seconds


@table(
    "holders, words",
    {
        "nobody that is known": ((), "goes when no Pod uses it any more"),
        "one": (("a",), "any more: a"),
        "many": (tuple("abcdefg"), "any more: a, b, c, d, e and 2 more"),
    },
)
def test_a_deleted_claim_is_kept_by(holders: tuple[str, ...], words: str) -> None:
    part = _plan(POOL, claim(POOL, **GOING), holders=holders)
    assert _reason(part) == "ClaimDeleted"
    assert part.conditions[0].message.endswith(words)


CLUSTER = {"project": "p", "location": "us-central1", "name": "c"}


@pytest.mark.parametrize(
    ("cluster", "instance"), [(None, None), (CLUSTER, "instances/pvc-PersistentVolumeClaim-uid")]
)
def test_the_instance_is_named_where_it_is_known(cluster: Any, instance: str | None) -> None:
    named = _tier(_plan(pool(cluster=cluster), pending(POOL))).instance
    assert (named or "None").endswith(str(instance))


@table(
    "state, condition",
    {
        "an instance that is well": ("ACTIVE", ("True", "Bound")),
        "an instance that grows": ("UPDATING", ("True", "Bound")),
        "an instance that is stopped": ("STOPPED", ("False", "InstanceStopped")),
        "an instance whose key is gone": ("SUSPENDED", ("False", "InstanceSuspended")),
        "a state that is new": ("DREAMING", ("Unknown", "InstanceStateUnknown")),
    },
)
def test_a_bound_claim_is_as_well_as_its_instance(state: str, condition: tuple[str, str]) -> None:
    world = hearing(POOL, claim(POOL), lustre=instance(state))
    (told,) = plan_storage(POOL, world, checks(), NOW).conditions
    assert (told.status, told.reason) == condition
