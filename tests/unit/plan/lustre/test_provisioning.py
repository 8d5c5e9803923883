"""A claim that waits for its instance: what it is said to wait for, whether one is being made, and its replacement."""

from dataclasses import replace
from typing import Any

import pytest

from kvtier.context import Context
from kvtier.facts.model import Event, LustreFacts
from kvtier.facts.volumes import Volume
from kvtier.plan.lustre.provisioning import Provisioning, derive, replacement, storage_ready, under_way
from kvtier.plan.model import Part, Ref
from kvtier.plan.plan import plan
from unit.builders import NOW, claim, live, observed, pool, requesting, with_status
from unit.plan.lustre.claims import (
    CLASS,
    GOING,
    NAME,
    POOL,
    STOCKOUT,
    event,
    instance,
    kinds,
    look,
    of_size,
    pending,
    planned,
    refused,
)
from unit.tables import table
from unit.verdicts import assert_verdict

NOT_READY = refused("DeadlineExceeded", "Volume pvc-1 not ready, current state: CREATING")
AWAY = refused("Unavailable", "away")
QUOTA = refused("ResourceExhausted", "Quota limit has been exceeded", count=9)
TOO_MANY = refused("ResourceExhausted", "Requests per minute exceeded the rate limit", count=9)
BUSY = "An operation with the given volume key pvc-1 already exists"
HANDED_OVER = event("ExternalProvisioning", "Waiting for a volume to be created")
STARTED = event("Provisioning", "External provisioner is provisioning volume")


def _derived(at: Context) -> Provisioning:
    assert at.lustre.claim is not None
    return derive(at.lustre, at.lustre.claim, NOW)


# StorageReady


@table(
    "events",
    {
        "silence": [],
        "a claim that was handed over": [HANDED_OVER],
        "a driver that has begun": [STARTED, HANDED_OVER],
        "the driver's own time limit": [refused("DeadlineExceeded", "context deadline exceeded")],
        "an instance that is being made": [NOT_READY],
        "a request that meets another one": [refused("Aborted", BUSY)],
        "what came after a failure": [NOT_READY, refused("PermissionDenied")],
    },
)
def test_is_progress(events: list[Event]) -> None:
    condition = storage_ready(_derived(look(POOL, pending(), *events)))
    normal = "10 to 30 minutes are normal, up to 2 hours for a large one"
    assert_verdict(condition, "StorageReady", "False", "Provisioning", normal)


@table(
    "events, reason, words",
    {
        "a service that is away is waited for": (
            [AWAY],
            "Provisioning",
            "the driver answers Unavailable: away",
        ),
        "another try does not make a failure undone": (
            [STARTED, refused("PermissionDenied", "denied")],
            "PermissionDenied",
            "the driver answers PermissionDenied: denied; grant roles/lustre.admin",
        ),
        "a zone without room has its own reason": ([STOCKOUT], "Stockout", "create a pool in another zone"),
        "a quota has another one": ([QUOTA], "QuotaExceeded", "ask for more Managed Lustre quota"),
        "and too many requests a third one": ([TOO_MANY], "RateLimited", "tries again by itself"),
        "a code that nobody knows": ([refused("Strange", "x")], "Failed", "the driver answers Strange: x"),
        "a failure without a code is quoted": (
            [event("ProvisioningFailed", 'storageclass "c" not found')],
            "ProvisioningFailed",
            'is not provisioned: storageclass "c" not found',
        ),
    },
)
def test_the_words_of(events: list[Event], reason: str, words: str) -> None:
    condition = storage_ready(_derived(look(POOL, pending(), *events)))
    assert_verdict(condition, "StorageReady", "False", reason, words)


@table(
    "minutes, reason, words",
    {
        "at first it is not counted": (9, "Provisioning", "of 18000Gi; 10 to 30 minutes are normal"),
        "then in steps": (10, "Provisioning", "of 18000Gi, for more than 10 minutes by now; 10 to 30"),
        "so that the message seldom changes": (29, "Provisioning", "for more than 10 minutes by now"),
        "half an hour": (30, "Provisioning", "for more than 30 minutes by now"),
        "an hour": (119, "Provisioning", "for more than an hour by now"),
        "what takes longer than anything does is told apart": (
            120,
            "Overdue",
            "for more than 2 hours by now; the driver answers DeadlineExceeded: Volume pvc-1 not ready",
        ),
    },
)
def test_the_time_that_it_takes(minutes: float, reason: str, words: str) -> None:
    condition = storage_ready(_derived(look(POOL, pending(minutes), NOT_READY)))
    assert_verdict(condition, "StorageReady", "False", reason, words)


@table(
    "minutes, events, reason",
    {
        "a driver that does nothing is reported": (2, [HANDED_OVER], "NotPickedUp"),
        "though not at once": (1, [HANDED_OVER], "Provisioning"),
        "one that has begun has not": (2, [HANDED_OVER, STARTED], "Provisioning"),
        "Events that cannot be read prove nothing": (30, [], "Provisioning"),
    },
)
def test_a_claim_that_nobody_picks_up(minutes: float, events: list[Event], reason: str) -> None:
    assert storage_ready(_derived(look(POOL, pending(minutes), *events))).reason == reason


@table(
    "failure, end",
    {
        "a failure that the driver repeats for good": (
            STOCKOUT,
            "; the driver repeats this for good, so kvtier makes the claim anew when it is 10 minutes old",
        ),
        "another final failure": (
            refused("PermissionDenied"),
            f"; if this stays after that: kubectl -n team-a delete pvc {NAME} makes kvtier try anew, no data is lost",
        ),
        "a failure that passes": (TOO_MANY, "; kvtier tries again by itself"),
        "a failure without a code": (event("ProvisioningFailed", "x"), "is not provisioned: x"),
    },
)
def test_what_comes_next_is_said_of(failure: Event, end: str) -> None:
    assert storage_ready(_derived(look(POOL, pending(), failure))).message.endswith(end)


def test_the_same_failure_reads_the_same_however_often_it_came() -> None:
    said = [refused("Internal", f"x (Help Token: {times})", count=times) for times in (3, 99)]
    first, later = (storage_ready(_derived(look(POOL, pending(), one))) for one in said)
    assert first == later


def test_failures_of_one_code_are_counted_together() -> None:
    events = [refused("Internal", "a", count=3), refused("Aborted", count=5), refused("Internal", "b")]
    failure = _derived(look(POOL, pending(), *events)).failure
    assert failure is not None
    assert failure.times == 4


# Whether an instance may be being made

HANDLED = {"metadata": {"annotations": {"volume.kubernetes.io/storage-provisioner": "lustre.csi"}}}


@table(
    "at",
    {
        "a claim that was just handed over": look(POOL, pending(0.1, **HANDLED)),
        "a driver that has begun": look(POOL, pending(), STARTED),
        "a driver that will begin": look(POOL, pending(), HANDED_OVER),
        "a driver that has begun, while the API shows none": look(
            POOL, pending(), STARTED, lustre=LustreFacts()
        ),
        "an instance that is being made": look(POOL, pending(), NOT_READY),
        "a driver that is still busy": look(POOL, pending(), refused("Aborted", BUSY)),
        "an instance that is not ready": look(
            POOL, pending(), refused("Unavailable", "current state: REPAIRING")
        ),
        "a service that has gone away meanwhile": look(POOL, pending(), AWAY, NOT_READY),
        "a failure for good while the API shows an instance": look(
            POOL, pending(), STOCKOUT, lustre=instance("CREATING")
        ),
        "an instance that is not bound yet": look(POOL, pending(), lustre=instance()),
    },
)
def test_an_instance_may_be_being_made_with(at: Context) -> None:
    assert under_way(at.lustre, NOW)


@table(
    "at",
    {
        "a claim that was handed over to nobody": look(POOL, pending(0.1)),
        "a claim without annotations": look(POOL, pending(0.1, metadata={"annotations": None})),
        "a claim of which no Event ever came": look(POOL, pending(1, **HANDLED)),
        "a driver that does nothing": look(POOL, pending(5), HANDED_OVER),
        "a service that was never reached": look(POOL, pending(), AWAY),
        "a failure for good": look(POOL, pending(), STOCKOUT),
        "an instance that is being deleted": look(POOL, pending(), lustre=instance("DELETING")),
        "a claim that has its volume": look(POOL, pending(spec={"volumeName": "pvc-1"}), NOT_READY),
        "no claim at all": look(POOL, None),
    },
)
def test_no_instance_is_being_made_with(at: Context) -> None:
    assert not under_way(at.lustre, NOW)


# When a claim that never had a volume is replaced, and above all when not

KNOWN = pool(cluster={"project": "my-project", "location": "us-central1", "name": "a"})
ELSEWHERE = pool(tiers={"lustre": {"network": "projects/my-project/global/networks/other"}})
LARGER, ABSENT = of_size("27000Gi"), LustreFacts()


def _because(at: Context) -> str:
    assert at.lustre.spec is not None
    return replacement(_derived(at), at.lustre.spec, at.lustre.class_name)


@table(
    "at, because",
    {
        "a zone has no room, after a while": (
            look(POOL, pending(10), STOCKOUT),
            "the driver repeats ResourceExhausted for good",
        ),
        "an error of the service comes often": (
            look(POOL, pending(10), refused("Internal", count=3)),
            "the driver repeats Internal for good",
        ),
        "a quota is used up and the API shows that there is no instance": (
            look(KNOWN, pending(10), QUOTA, lustre=ABSENT),
            "the driver repeats ResourceExhausted for good",
        ),
        "another size is asked for after a failure for good": (
            look(LARGER, pending(1), refused("InvalidArgument")),
            "the spec asks for 27000Gi by now",
        ),
        "another class is asked for after a failure for good": (
            look(ELSEWHERE, pending(1), refused("NotFound", "network")),
            "the spec asks for StorageClass",
        ),
    },
)
def test_is_replaced_when(at: Context, because: str) -> None:
    assert because in _because(at)


def _for_good(code: str) -> Context:
    """A failure that came often, of a claim that is old, while the API shows no instance."""
    return look(KNOWN, pending(600), refused(code, count=9), lustre=ABSENT)


@table(
    "at",
    {
        "it makes progress, however long": look(POOL, pending(6000), NOT_READY),
        "no Event came, however long": look(POOL, pending(6000)),
        "a zone has no room, at first": look(POOL, pending(9.9), STOCKOUT),
        "a zone has no room, but there is an instance": look(
            KNOWN, pending(600), STOCKOUT, lustre=instance()
        ),
        "an error of the service came once": look(POOL, pending(600), refused("Internal")),
        "a quota is used up, because the driver asks again": look(POOL, pending(600), QUOTA),
        "a quota is used up and the API cannot tell": look(
            KNOWN, pending(10), QUOTA, lustre=LustreFacts(error="no")
        ),
        "a quota is used up and the instance cannot be named": look(POOL, pending(10), QUOTA, lustre=ABSENT),
        "a quota is used up and an instance is under way": look(
            KNOWN, pending(10), QUOTA, lustre=instance("CREATING")
        ),
        "a permission lacks, which the driver asks for again": _for_good("PermissionDenied"),
        "a parameter is wrong and stays wrong": _for_good("InvalidArgument"),
        "an instance is in the way and stays in the way": _for_good("AlreadyExists"),
        "too many requests pass": look(KNOWN, pending(600), TOO_MANY, lustre=ABSENT),
        "a failure has no code": look(POOL, pending(600), event("ProvisioningFailed", "x")),
        "another size is asked for while an instance is being made": look(LARGER, pending(600), NOT_READY),
        "another size is asked for before the first answer": look(LARGER, pending(1)),
        "the same size is asked for in another unit": look(
            POOL, pending(spec=requesting(f"{18000 * 1024}Mi")), refused("InvalidArgument")
        ),
        "it is bound": look(LARGER, claim(POOL), STOCKOUT),
        "it is lost": look(LARGER, claim(POOL, "Lost"), STOCKOUT),
        "it names a volume": look(LARGER, pending(600, spec={"volumeName": "pv-1"}), STOCKOUT),
        "it goes already": look(LARGER, pending(600, **GOING), STOCKOUT),
    },
)
def test_is_kept_when(at: Context) -> None:
    assert _because(at) == ""


@table(
    "claim_uid, kept",
    {
        "the claim's own, not yet bound": ("PersistentVolumeClaim-uid", True),
        "one that somebody reserved for it": ("", True),
        "one of an earlier claim of its name": ("another", False),
    },
)
def test_a_volume_that_is_there_keeps_the_claim(claim_uid: str, kept: bool) -> None:
    volume = Volume("pv-1", "u", "p/z/i", phase="Released", claim=("team-a", NAME), claim_uid=claim_uid)
    assert (_because(look(POOL, pending(600), STOCKOUT, volumes=(volume,))) == "") is kept


@pytest.mark.parametrize(
    ("attempts", "minutes"), [(None, 10), (1, 10), (2, 20), (3, 40), (4, 80), (5, 120), (99, 120)]
)
def test_the_back_off_doubles_up_to_two_hours(attempts: int | None, minutes: int) -> None:
    of = pool(status={"tiers": [{"name": "lustre", "phase": "Failed", "attempts": attempts}]})
    early, due = (look(of, pending(age), STOCKOUT) for age in (minutes - 0.1, minutes))
    assert _because(early) == ""
    assert _because(due) == "the driver repeats ResourceExhausted for good"
    assert f"when it is {minutes} minutes old" in storage_ready(_derived(due)).message


# The replacement, step by step

TRIED: dict[str, Any] = {"tiers": [{"name": "lustre", "phase": "Failed", "attempts": 3}]}
REPLACING = {"conditions": [{"type": "StorageReady", "status": "False", "reason": "Replacing"}], **TRIED}


def _verdict(part: Part) -> tuple[str, int | None]:
    """Reason of StorageReady, and the number of claims."""
    (condition,), (tier,) = part.conditions, part.tiers
    return condition.reason, tier.attempts


def test_a_claim_that_has_to_be_replaced_is_deleted_and_not_written_in_one_plan() -> None:
    part = planned(look(POOL, pending(10), STOCKOUT))
    assert part.deletes == (Ref("PersistentVolumeClaim", NAME, "PersistentVolumeClaim-uid"),)
    assert kinds(part) == ["StorageClass"]
    assert _verdict(part) == ("Replacing", 2)
    (replaced,) = part.events
    assert (replaced.type, replaced.reason) == ("Normal", "ClaimReplaced")
    assert "repeats ResourceExhausted for good; nothing was stored" in replaced.message


def test_its_deletion_is_counted_once_and_gets_one_event_though_it_may_not_show_at_once() -> None:
    seen = replace(observed(CLASS, pending(10)), claim_events=(refused("InvalidArgument"),))
    first = plan(LARGER, seen, NOW)
    second = plan(with_status(LARGER, first.status), seen, NOW)
    assert [ref.kind for ref in second.deletes] == ["PersistentVolumeClaim"]
    assert [one.reason for one in first.events] == ["ClaimReplaced"]
    assert (second.events, second.status) == ((), first.status)


def test_the_old_claim_is_waited_for_without_a_write() -> None:
    part = planned(look(POOL, pending(10, **GOING), STOCKOUT))
    assert part.deletes == ()
    assert kinds(part) == ["StorageClass"]
    assert _verdict(part) == ("Replacing", 2)


@table(
    "status, found, attempts",
    {
        "not counted twice if its deletion shows later": (REPLACING, pending(10, **GOING), 3),
        "remembered until the next claim is made": (TRIED, None, 3),
        "remembered while the next claim waits": (TRIED, pending(), 3),
        "over once a claim is bound": (TRIED, claim(POOL), None),
    },
)
def test_the_number_of_claims_is(status: dict[str, Any], found: Any, attempts: int | None) -> None:
    assert _verdict(planned(look(pool(status=status), found, STOCKOUT)))[1] == attempts


def test_a_claim_is_not_replaced_while_another_could_not_be_made() -> None:
    found, broken = pending(600), live(CLASS, parameters={"perUnitStorageThroughput": "125"})
    assert planned(look(POOL, found, STOCKOUT), CapacityValid="False").deletes == ()
    assert planned(look(POOL, found, STOCKOUT, class_=broken)).deletes == ()
