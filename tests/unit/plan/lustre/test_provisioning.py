"""What a claim that waits is said to wait for, and whether an instance is being made for it."""

from typing import Any

import pytest

from kvtier.api.conditions import Condition
from kvtier.context import build
from kvtier.facts.model import Event, LustreFacts, Observed
from kvtier.plan.lustre.provisioning import Provisioning, derive, storage_ready, under_way
from unit.builders import NOW, pool
from unit.plan.lustre.hearing import hearing, instance, pending, refused, said
from unit.tables import table
from unit.verdicts import assert_verdict

POOL = pool()


def _derived(world: Observed) -> Provisioning:
    view = build(POOL, world, NOW).lustre
    assert view.claim
    return derive(view, view.claim, NOW)


def waiting(found: Any, world: Observed, now: str) -> Condition:
    return storage_ready(_derived(world))


CREATING = "Volume pvc-1 not ready, current state: CREATING"
BUSY = "An operation with the given volume key pvc-1 already exists"
HANDED_OVER = said("ExternalProvisioning", "Waiting for a volume to be created")
STARTED = said("Provisioning", "External provisioner is provisioning volume")
NORMAL = "10 to 30 minutes are normal, up to 2 hours for a large one"


@table(
    "news, reason, words",
    {
        "no news is progress": ([], "Provisioning", NORMAL),
        "a claim that was handed over is progress": ([HANDED_OVER], "Provisioning", NORMAL),
        "a driver that has begun is progress": ([STARTED, HANDED_OVER], "Provisioning", NORMAL),
        "the driver's own time limit is progress": (
            [refused("DeadlineExceeded", "context deadline exceeded")],
            "Provisioning",
            NORMAL,
        ),
        "an instance that is being made is progress": (
            [refused("DeadlineExceeded", CREATING)],
            "Provisioning",
            NORMAL,
        ),
        "a request that meets another one is progress": ([refused("Aborted", BUSY)], "Provisioning", NORMAL),
        "a service that is away is waited for, and named": (
            [refused("Unavailable", "the service is away")],
            "Provisioning",
            "the driver answers Unavailable: the service is away",
        ),
        "the newest failure counts": (
            [refused("DeadlineExceeded"), refused("PermissionDenied")],
            "Provisioning",
            NORMAL,
        ),
        "another try does not make a failure undone": (
            [STARTED, refused("PermissionDenied", "denied")],
            "PermissionDenied",
            "the driver answers PermissionDenied: denied; grant roles/lustre.admin",
        ),
        "a quota that is used up": (
            [refused("ResourceExhausted", "Quota limit 'LustreCapacityGib' has been exceeded")],
            "QuotaExceeded",
            "ask for more Managed Lustre quota",
        ),
        "a zone without room": (
            [refused("ResourceExhausted", "The zone does not have enough resources available")],
            "Stockout",
            "create a pool in another zone",
        ),
        "too many requests": (
            [refused("ResourceExhausted", "Requests per minute exceeded the rate limit")],
            "RateLimited",
            "tries again by itself",
        ),
        "a parameter that is wrong": (
            [refused("InvalidArgument", "capacity 1 is invalid")],
            "InvalidArgument",
            "capacity 1 is invalid; correct the field that the message names",
        ),
        "a network that is missing": ([refused("NotFound", "network x")], "NotFound", "network x"),
        "an instance that is in the way": ([refused("AlreadyExists", "x")], "AlreadyExists", "delete it"),
        "a network without private services access": (
            [refused("FailedPrecondition", "x")],
            "FailedPrecondition",
            "private services access",
        ),
        "an error of the service": ([refused("Internal", "internal error")], "Failed", "internal error"),
        "a code that nobody knows": ([refused("Strange", "x")], "Failed", "the driver answers Strange: x"),
        "a failure without a code is quoted": (
            [said("ProvisioningFailed", 'storageclass "c" not found')],
            "ProvisioningFailed",
            'is not provisioned: storageclass "c" not found',
        ),
    },
)
def test_waiting(news: list[Event], reason: str, words: str) -> None:
    found = pending(POOL)
    condition = waiting(found, hearing(POOL, found, *news), NOW)
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
    found = pending(POOL, minutes)
    condition = waiting(found, hearing(POOL, found, refused("DeadlineExceeded", CREATING)), NOW)
    assert_verdict(condition, "StorageReady", "False", reason, words)


@table(
    "minutes, news, reason",
    {
        "a driver that does nothing is told of": (2, [HANDED_OVER], "NotPickedUp"),
        "though not at once": (1, [HANDED_OVER], "Provisioning"),
        "one that has begun has not": (2, [HANDED_OVER, STARTED], "Provisioning"),
        "Events that cannot be read prove nothing": (30, [], "Provisioning"),
    },
)
def test_a_claim_that_nobody_picks_up(minutes: float, news: list[Event], reason: str) -> None:
    found = pending(POOL, minutes)
    assert waiting(found, hearing(POOL, found, *news), NOW).reason == reason


def test_what_comes_next_is_only_told_of_a_final_failure() -> None:
    found = pending(POOL)
    final = waiting(found, hearing(POOL, found, refused("Internal")), NOW)
    passing = waiting(found, hearing(POOL, found, refused("ResourceExhausted", "rate limit")), NOW)
    assert "if this stays after that" in final.message
    assert "if this stays after that" not in passing.message


def test_the_same_failure_reads_the_same_however_often_it_came() -> None:
    found = pending(POOL)
    first, later = (
        waiting(found, hearing(POOL, found, refused("Internal", f"x (Help Token: {n})", count=n)), NOW)
        for n in (3, 99)
    )
    assert first == later


def test_failures_of_one_code_are_counted_together() -> None:
    news = [refused("Internal", "a", count=3), refused("Aborted", count=5), refused("Internal", "b")]
    met = _derived(hearing(POOL, pending(POOL), *news)).failure
    assert met is not None
    assert met.times == 4


ANNOTATED = {"metadata": {"annotations": {"volume.kubernetes.io/storage-provisioner": "lustre.csi"}}}


@table(
    "found, news, lustre, verdict",
    {
        "a claim that was just handed over": (pending(POOL, 0.1, **ANNOTATED), [], None, True),
        "a claim that was handed over to nobody": (pending(POOL, 0.1), [], None, False),
        "a claim of which nothing was ever heard": (pending(POOL, 1, **ANNOTATED), [], None, False),
        "a driver that has begun": (pending(POOL), [STARTED], None, True),
        "a driver that will begin": (pending(POOL), [HANDED_OVER], None, True),
        "a driver that does nothing": (pending(POOL, 5), [HANDED_OVER], None, False),
        "an instance that is being made": (
            pending(POOL),
            [refused("DeadlineExceeded", CREATING)],
            None,
            True,
        ),
        "a driver that is still busy": (pending(POOL), [refused("Aborted", BUSY)], None, True),
        "an instance that is not ready": (
            pending(POOL),
            [refused("Unavailable", "current state: REPAIRING")],
            None,
            True,
        ),
        "a service that was never reached": (pending(POOL), [refused("Unavailable", "away")], None, False),
        "a service that has gone away meanwhile": (
            pending(POOL),
            [refused("Unavailable", "away"), refused("DeadlineExceeded", CREATING)],
            None,
            True,
        ),
        "a failure for good": (pending(POOL), [refused("ResourceExhausted")], None, False),
        "a failure for good while the API shows an instance": (
            pending(POOL),
            [refused("Internal")],
            instance("CREATING"),
            True,
        ),
        "an instance that is not bound yet": (pending(POOL), [], instance(), True),
        "an instance that is being deleted": (pending(POOL), [], instance("DELETING"), False),
        "an API that shows none, and a driver that has begun": (
            pending(POOL),
            [STARTED],
            LustreFacts(),
            True,
        ),
        "a claim that has its volume": (
            pending(POOL, spec={"volumeName": "pvc-1"}),
            [refused("DeadlineExceeded", CREATING)],
            None,
            False,
        ),
    },
)
def test_under_way(found: Any, news: list[Event], lustre: LustreFacts | None, verdict: bool) -> None:
    assert under_way(build(POOL, hearing(POOL, found, *news, lustre=lustre), NOW).lustre, NOW) is verdict


@pytest.mark.parametrize("annotations", [None, {}])
def test_a_claim_without_annotations_is_handed_over_to_nobody(annotations: Any) -> None:
    found = pending(POOL, 0.1)
    found["metadata"]["annotations"] = annotations
    assert not under_way(build(POOL, hearing(POOL, found), NOW).lustre, NOW)
