"""When a claim that never had a volume is made anew, and above all when not."""

from dataclasses import replace
from typing import Any

import pytest

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.context import build
from kvtier.facts.model import Event, LustreFacts, Observed
from kvtier.facts.volumes import Volume, Volumes
from kvtier.plan.lustre.provisioning import derive, replacement, storage_ready
from unit.builders import NOW, claim, pool, requesting
from unit.plan.lustre.hearing import hearing, instance, pending, refused, said
from unit.tables import table

CLUSTER = {"cluster": {"project": "my-project", "location": "us-central1", "name": "a"}}
POOL = pool()
KNOWN = pool(**CLUSTER)
LARGER = pool(tiers={"lustre": {"capacity": "27000Gi"}})
ABSENT = LustreFacts()
STOCKOUT = refused("ResourceExhausted", "The zone does not have enough resources available")
QUOTA = refused("ResourceExhausted", "Quota limit has been exceeded", count=9)
INTERNAL = refused("Internal", "internal error", count=3)


def _because(of: KVCachePool, found: Any, world: Observed) -> str:
    lustre = of.spec.tiers.lustre
    assert lustre
    view = build(of, world, NOW).lustre
    assert view.claim
    return replacement(derive(view, view.claim, NOW), lustre, view.class_name)


def _prospect(of: KVCachePool, world: Observed) -> str:
    view = build(of, world, NOW).lustre
    assert view.claim
    return storage_ready(derive(view, view.claim, NOW)).message


@table(
    "of, minutes, news, lustre, because",
    {
        "a claim that makes progress is kept, however long": (
            POOL,
            6000,
            [refused("DeadlineExceeded", "current state: CREATING")],
            None,
            None,
        ),
        "a claim of which nothing is heard is kept": (POOL, 6000, [], None, None),
        "a zone without room is tried again after a while": (POOL, 10, [STOCKOUT], None, "for good"),
        "and not before": (POOL, 9.9, [STOCKOUT], None, None),
        "an error of the service that came often is tried again": (POOL, 10, [INTERNAL], None, "for good"),
        "one that came once is left to the driver": (POOL, 600, [refused("Internal")], None, None),
        "a quota is left to the driver, which asks again": (POOL, 600, [QUOTA], None, None),
        "unless the API shows that there is no instance": (KNOWN, 10, [QUOTA], ABSENT, "for good"),
        "an API that cannot tell shows nothing": (KNOWN, 10, [QUOTA], LustreFacts(error="no"), None),
        "a pool whose instance cannot be named is shown nothing": (POOL, 10, [QUOTA], ABSENT, None),
        "a quota with an instance under way is left alone": (KNOWN, 10, [QUOTA], instance("CREATING"), None),
        "a zone without room while there is an instance is left alone": (
            KNOWN,
            600,
            [STOCKOUT],
            instance(),
            None,
        ),
        "a permission that lacks is left to the driver": (
            KNOWN,
            600,
            [refused("PermissionDenied", count=9)],
            ABSENT,
            None,
        ),
        "a wrong parameter stays wrong": (KNOWN, 600, [refused("InvalidArgument", count=9)], ABSENT, None),
        "an instance in the way stays in the way": (
            KNOWN,
            600,
            [refused("AlreadyExists", count=9)],
            ABSENT,
            None,
        ),
        "too many requests pass": (
            KNOWN,
            600,
            [refused("ResourceExhausted", "rate limit", count=9)],
            ABSENT,
            None,
        ),
        "a failure without a code is not final": (POOL, 600, [said("ProvisioningFailed", "x")], None, None),
        "another size after a failure for good is made at once": (
            LARGER,
            1,
            [refused("InvalidArgument")],
            None,
            "the spec asks for 27000Gi by now",
        ),
        "another size waits while an instance is being made": (LARGER, 600, [refused("Aborted")], None, None),
        "another size waits for the first answer": (LARGER, 1, [], None, None),
        "another class after a failure for good is made at once": (
            pool(tiers={"lustre": {"network": "projects/my-project/global/networks/other"}}),
            1,
            [refused("NotFound", "network")],
            None,
            "the spec asks for StorageClass",
        ),
    },
)
def test_replaced(
    of: KVCachePool, minutes: float, news: list[Event], lustre: LustreFacts | None, because: str | None
) -> None:
    found = pending(POOL, minutes)
    answer = _because(of, found, hearing(POOL, found, *news, lustre=lustre))
    assert (not answer) if because is None else (because in answer)


@table(
    "found",
    {
        "a bound claim": claim(POOL),
        "a lost claim": claim(POOL, "Lost"),
        "a claim that names a volume": pending(POOL, 600, spec={"volumeName": "pv-1"}),
        "a claim that goes already": pending(POOL, 600, metadata={"deletionTimestamp": NOW}),
    },
)
def test_is_never_replaced(found: Any) -> None:
    for of in (POOL, LARGER):
        assert _because(of, found, hearing(POOL, found, STOCKOUT)) == ""


def _with_volume(found: Any, claim_uid: str) -> Observed:
    named = ("team-a", found["metadata"]["name"])
    volume = Volume("pv-1", "u", "p/z/i", phase="Released", claim=named, claim_uid=claim_uid)
    world = hearing(POOL, found, STOCKOUT)
    return replace(world, facts=replace(world.facts, volumes=Volumes({"pv-1": volume})))


@table(
    "claim_uid, kept",
    {
        "the claim's own, not yet bound": ("PersistentVolumeClaim-uid", True),
        "one that somebody reserved for it": ("", True),
        "one of an earlier claim of its name": ("another", False),
    },
)
def test_a_volume_that_is_there_keeps_the_claim(claim_uid: str, kept: bool) -> None:
    found = pending(POOL, 600)
    assert (_because(POOL, found, _with_volume(found, claim_uid)) == "") is kept


@pytest.mark.parametrize(
    ("attempts", "minutes"), [(None, 10), (1, 10), (2, 20), (3, 40), (4, 80), (5, 120), (99, 120)]
)
def test_the_back_off_doubles_up_to_two_hours(attempts: int | None, minutes: int) -> None:
    of = pool(status={"tiers": [{"name": "lustre", "phase": "Failed", "attempts": attempts}]})
    early, due = pending(POOL, minutes - 0.1), pending(POOL, minutes)
    assert _because(of, early, hearing(POOL, early, STOCKOUT)) == ""
    assert _because(of, due, hearing(POOL, due, STOCKOUT))
    assert f"when it is {minutes} minutes old" in _prospect(of, hearing(POOL, due, STOCKOUT))


def test_who_cannot_be_helped_is_told_how_to_try_anew() -> None:
    found = pending(POOL)
    told = _prospect(POOL, hearing(POOL, found, QUOTA))
    assert "kubectl -n team-a delete pvc chat-lustre-" in told


def test_a_claim_of_another_unit_asks_for_nothing_else() -> None:
    found = pending(POOL, 1, spec=requesting(f"{18000 * 1024}Mi"))
    assert _because(POOL, found, hearing(POOL, found, refused("InvalidArgument"))) == ""
