"""A PVC that waits for its instance: the condition, whether a creation is in progress, and when it is recreated."""

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
        "no Event": [],
        "a PVC that was handed to the driver": [HANDED_OVER],
        "a driver that has started": [STARTED, HANDED_OVER],
        "the driver's own time limit": [refused("DeadlineExceeded", "context deadline exceeded")],
        "an instance that is being created": [NOT_READY],
        "a request during another one": [refused("Aborted", BUSY)],
        "progress after a failure": [NOT_READY, refused("PermissionDenied")],
    },
)
def test_progress_is_reported_after(events: list[Event]) -> None:
    condition = storage_ready(_derived(look(POOL, pending(), *events)))
    normal = "This usually takes 10 to 30 minutes, and up to 2 hours for a large instance."
    assert_verdict(condition, "StorageReady", "False", "Provisioning", normal)


@table(
    "events, reason, words",
    {
        "an unavailable service, which kvtier waits for": (
            [AWAY],
            "Provisioning",
            "The driver reports Unavailable: away.",
        ),
        "a failure before another attempt": (
            [STARTED, refused("PermissionDenied", "denied")],
            "PermissionDenied",
            "The driver reports PermissionDenied: denied. Grant roles/lustre.admin",
        ),
        "a zone without capacity": ([STOCKOUT], "Stockout", "create a pool in another zone"),
        "a quota": ([QUOTA], "QuotaExceeded", "Request more Managed Lustre quota"),
        "too many requests": ([TOO_MANY], "RateLimited", "No action is needed. The driver retries."),
        "an unknown code": ([refused("Strange", "x")], "Failed", "The driver reports Strange: x."),
        "a failure without a code, which is quoted": (
            [event("ProvisioningFailed", 'storageclass "c" not found')],
            "ProvisioningFailed",
            'is not provisioned. The CSI driver reports: storageclass "c" not found.',
        ),
        "a failure without a text": (
            [event("ProvisioningFailed")],
            "ProvisioningFailed",
            "is not provisioned. The CSI driver reports: no details.",
        ),
    },
)
def test_the_reason_and_message_of(events: list[Event], reason: str, words: str) -> None:
    condition = storage_ready(_derived(look(POOL, pending(), *events)))
    assert_verdict(condition, "StorageReady", "False", reason, words)


@table(
    "minutes, reason, words",
    {
        "not at first": (9, "Provisioning", "of 18000Gi. This usually takes 10 to 30 minutes"),
        "then in steps": (
            10,
            "Provisioning",
            "of 18000Gi, for more than 10 minutes so far. This usually takes 10 to 30",
        ),
        "so that the message seldom changes": (29, "Provisioning", "for more than 10 minutes so far."),
        "half an hour": (30, "Provisioning", "for more than 30 minutes so far."),
        "an hour": (119, "Provisioning", "for more than an hour so far."),
        "longer than any creation takes, as Overdue": (
            120,
            "Overdue",
            "for more than 2 hours so far. The driver reports DeadlineExceeded: Volume pvc-1 not ready",
        ),
    },
)
def test_the_message_names_the_time_so_far(minutes: float, reason: str, words: str) -> None:
    condition = storage_ready(_derived(look(POOL, pending(minutes), NOT_READY)))
    assert_verdict(condition, "StorageReady", "False", reason, words)


@table(
    "minutes, events, reason",
    {
        "a driver that does nothing": (2, [HANDED_OVER], "NotPickedUp"),
        "not at once": (1, [HANDED_OVER], "Provisioning"),
        "not a driver that has started": (2, [HANDED_OVER, STARTED], "Provisioning"),
        "not without readable Events": (30, [], "Provisioning"),
    },
)
def test_a_driver_that_does_not_process_the_pvc_is_reported(
    minutes: float, events: list[Event], reason: str
) -> None:
    assert storage_ready(_derived(look(POOL, pending(minutes), *events))).reason == reason


@table(
    "cluster, command",
    {
        "the names to fill in": (None, "update CLUSTER --location=LOCATION --project=PROJECT"),
        "the names of the spec": (
            {"project": "p", "location": "us-central1", "name": "c"},
            "update c --location=us-central1 --project=p",
        ),
    },
)
def test_the_command_that_enables_the_driver_has(cluster: dict[str, str] | None, command: str) -> None:
    of = pool(cluster=cluster)
    (condition,) = planned(look(of, pending(2), HANDED_OVER)).conditions
    assert f"not processing PVC {NAME}. Check that" in condition.message
    enable = f": gcloud container clusters {command} --update-addons=LustreCsiDriver=ENABLED"
    assert condition.message.endswith(enable)


@table(
    "failure, end",
    {
        "a failure that the driver repeats": (
            STOCKOUT,
            ". Wait, or create a pool in another zone, with another performance tier, or with less capacity.",
        ),
        "another final failure": (
            refused("PermissionDenied"),
            ". If the error remains, delete the PVC (it holds no data, and kvtier recreates it): "
            f"kubectl -n team-a delete pvc {NAME}",
        ),
        "a failure that passes": (TOO_MANY, ". No action is needed. The driver retries."),
        "a failure without a code": (
            event("ProvisioningFailed", "x"),
            f"is not provisioned. The CSI driver reports: x. Details: kubectl -n team-a describe pvc {NAME}",
        ),
    },
)
def test_the_message_ends_with_the_next_step_after(failure: Event, end: str) -> None:
    assert storage_ready(_derived(look(POOL, pending(), failure))).message.endswith(end)


def test_the_recreation_of_the_pvc_is_named_before_the_advice() -> None:
    message = storage_ready(_derived(look(POOL, pending(), STOCKOUT))).message
    first = "kvtier recreates the PVC when it is 10 minutes old, because the driver does not recover from this error."
    assert f"{first} The zone has no capacity" in message


def test_the_message_of_a_failure_does_not_depend_on_its_count() -> None:
    reported = [refused("Internal", f"x (Help Token: {times})", count=times) for times in (3, 99)]
    first, later = (storage_ready(_derived(look(POOL, pending(), one))) for one in reported)
    assert first == later


def test_failures_of_one_code_are_counted_together() -> None:
    events = [refused("Internal", "a", count=3), refused("Aborted", count=5), refused("Internal", "b")]
    failure = _derived(look(POOL, pending(), *events)).failure
    assert failure is not None
    assert failure.times == 4


# Whether the driver may be creating an instance

HANDLED = {"metadata": {"annotations": {"volume.kubernetes.io/storage-provisioner": "lustre.csi"}}}


@table(
    "at",
    {
        "a PVC that was just handed to the driver": look(POOL, pending(0.1, **HANDLED)),
        "a driver that has started": look(POOL, pending(), STARTED),
        "a driver that will start": look(POOL, pending(), HANDED_OVER),
        "a driver that has started, while the API shows no instance": look(
            POOL, pending(), STARTED, lustre=LustreFacts()
        ),
        "an instance that is being created": look(POOL, pending(), NOT_READY),
        "a driver that is still busy": look(POOL, pending(), refused("Aborted", BUSY)),
        "an instance that is not ready": look(
            POOL, pending(), refused("Unavailable", "current state: REPAIRING")
        ),
        "a service that became unavailable": look(POOL, pending(), AWAY, NOT_READY),
        "a final failure while the API shows an instance": look(
            POOL, pending(), STOCKOUT, lustre=instance("CREATING")
        ),
        "an instance that is not bound yet": look(POOL, pending(), lustre=instance()),
    },
)
def test_a_creation_may_be_in_progress_with(at: Context) -> None:
    assert under_way(at.lustre, NOW)


@table(
    "at",
    {
        "a PVC that was not handed to a driver": look(POOL, pending(0.1)),
        "a PVC without annotations": look(POOL, pending(0.1, metadata={"annotations": None})),
        "a PVC without any Event": look(POOL, pending(1, **HANDLED)),
        "a driver that does nothing": look(POOL, pending(5), HANDED_OVER),
        "a service that was never reached": look(POOL, pending(), AWAY),
        "a final failure": look(POOL, pending(), STOCKOUT),
        "an instance that is being deleted": look(POOL, pending(), lustre=instance("DELETING")),
        "a PVC that has its PersistentVolume": look(POOL, pending(spec={"volumeName": "pvc-1"}), NOT_READY),
        "no PVC": look(POOL, None),
    },
)
def test_no_creation_is_in_progress_with(at: Context) -> None:
    assert not under_way(at.lustre, NOW)


# When kvtier recreates a PVC that never had a PersistentVolume, and when it must not

KNOWN = pool(cluster={"project": "my-project", "location": "us-central1", "name": "a"})
ELSEWHERE = pool(tiers={"lustre": {"network": "projects/my-project/global/networks/other"}})
LARGER, ABSENT = of_size("27000Gi"), LustreFacts()


def _because(at: Context) -> str:
    assert at.lustre.spec is not None
    return replacement(_derived(at), at.lustre.spec, at.lustre.class_name)


@table(
    "at, because",
    {
        "a zone has no capacity, after a while": (
            look(POOL, pending(10), STOCKOUT),
            "the driver repeats ResourceExhausted and does not recover",
        ),
        "an error of the service occurs often": (
            look(POOL, pending(10), refused("Internal", count=3)),
            "the driver repeats Internal and does not recover",
        ),
        "a quota is exhausted and the API shows no instance": (
            look(KNOWN, pending(10), QUOTA, lustre=ABSENT),
            "the driver repeats ResourceExhausted and does not recover",
        ),
        "the spec requests another size after a final failure": (
            look(LARGER, pending(1), refused("InvalidArgument")),
            "the spec now requests 27000Gi",
        ),
        "the spec requests another class after a final failure": (
            look(ELSEWHERE, pending(1), refused("NotFound", "network")),
            "the spec now requests StorageClass",
        ),
    },
)
def test_a_pvc_is_recreated_when(at: Context, because: str) -> None:
    assert because in _because(at)


def _final(code: str) -> Context:
    """A failure that occurred often, of an old PVC, while the API shows no instance."""
    return look(KNOWN, pending(600), refused(code, count=9), lustre=ABSENT)


@table(
    "at",
    {
        "it makes progress, even for days": look(POOL, pending(6000), NOT_READY),
        "there is no Event, even for days": look(POOL, pending(6000)),
        "a zone has no capacity, at first": look(POOL, pending(9.9), STOCKOUT),
        "a zone has no capacity, but an instance exists": look(
            KNOWN, pending(600), STOCKOUT, lustre=instance()
        ),
        "an error of the service occurred once": look(POOL, pending(600), refused("Internal")),
        "a quota is exhausted, because the driver retries": look(POOL, pending(600), QUOTA),
        "a quota is exhausted and the API reports an error": look(
            KNOWN, pending(10), QUOTA, lustre=LustreFacts(error="no")
        ),
        "a quota is exhausted and the name of the instance is unknown": look(
            POOL, pending(10), QUOTA, lustre=ABSENT
        ),
        "a quota is exhausted and an instance is being created": look(
            KNOWN, pending(10), QUOTA, lustre=instance("CREATING")
        ),
        "a permission is missing, because the driver retries": _final("PermissionDenied"),
        "a parameter is invalid, because another PVC has the same": _final("InvalidArgument"),
        "an instance of this name exists, because another PVC does not change that": _final("AlreadyExists"),
        "there are too many requests, which passes": look(KNOWN, pending(600), TOO_MANY, lustre=ABSENT),
        "a failure has no code": look(POOL, pending(600), event("ProvisioningFailed", "x")),
        "the spec requests another size while an instance is being created": look(
            LARGER, pending(600), NOT_READY
        ),
        "the spec requests another size before the first Event": look(LARGER, pending(1)),
        "the spec requests the same size in another unit": look(
            POOL, pending(spec=requesting(f"{18000 * 1024}Mi")), refused("InvalidArgument")
        ),
        "it is bound": look(LARGER, claim(POOL), STOCKOUT),
        "it is lost": look(LARGER, claim(POOL, "Lost"), STOCKOUT),
        "it names a PersistentVolume": look(LARGER, pending(600, spec={"volumeName": "pv-1"}), STOCKOUT),
        "it is already being deleted": look(LARGER, pending(600, **GOING), STOCKOUT),
    },
)
def test_a_pvc_is_kept_when(at: Context) -> None:
    assert _because(at) == ""


@table(
    "claim_uid, kept",
    {
        "reserved for this PVC, not yet bound": ("PersistentVolumeClaim-uid", True),
        "reserved for its name by somebody": ("", True),
        "reserved for an earlier PVC of its name": ("another", False),
    },
)
def test_a_pvc_with_a_reserved_persistent_volume_is_kept(claim_uid: str, kept: bool) -> None:
    volume = Volume("pv-1", "u", "p/z/i", phase="Released", claim=("team-a", NAME), claim_uid=claim_uid)
    assert (_because(look(POOL, pending(600), STOCKOUT, volumes=(volume,))) == "") is kept


@pytest.mark.parametrize(
    ("attempts", "minutes"), [(None, 10), (1, 10), (2, 20), (3, 40), (4, 80), (5, 120), (99, 120)]
)
def test_the_back_off_doubles_up_to_two_hours(attempts: int | None, minutes: int) -> None:
    of = pool(status={"tiers": [{"name": "lustre", "phase": "Failed", "attempts": attempts}]})
    early, due = (look(of, pending(age), STOCKOUT) for age in (minutes - 0.1, minutes))
    assert _because(early) == ""
    assert _because(due) == "the driver repeats ResourceExhausted and does not recover"
    assert f"when it is {minutes} minutes old" in storage_ready(_derived(due)).message


# The recreation, step by step

TRIED: dict[str, Any] = {"tiers": [{"name": "lustre", "phase": "Failed", "attempts": 3}]}
REPLACING = {"conditions": [{"type": "StorageReady", "status": "False", "reason": "Replacing"}], **TRIED}


def _verdict(part: Part) -> tuple[str, int | None]:
    """Reason of StorageReady, and the number of PVCs."""
    (condition,), (tier,) = part.conditions, part.tiers
    return condition.reason, tier.attempts


def test_a_pvc_that_must_be_recreated_is_deleted_and_not_written_in_one_plan() -> None:
    part = planned(look(POOL, pending(10), STOCKOUT))
    assert part.deletes == (Ref("PersistentVolumeClaim", NAME, "PersistentVolumeClaim-uid"),)
    assert kinds(part) == ["StorageClass"]
    assert _verdict(part) == ("Replacing", 2)
    (replaced,) = part.events
    assert (replaced.type, replaced.reason) == ("Normal", "ClaimReplaced")
    assert "repeats ResourceExhausted and does not recover. The old PVC held no data." in replaced.message


def test_a_deletion_that_is_not_visible_at_once_is_counted_once_and_has_one_event() -> None:
    seen = replace(observed(CLASS, pending(10)), claim_events=(refused("InvalidArgument"),))
    first = plan(LARGER, seen, NOW)
    second = plan(with_status(LARGER, first.status), seen, NOW)
    assert [ref.kind for ref in second.deletes] == ["PersistentVolumeClaim"]
    assert [one.reason for one in first.events] == ["ClaimReplaced"]
    assert (second.events, second.status) == ((), first.status)


def test_the_next_pvc_is_not_written_before_the_deletion_completes() -> None:
    part = planned(look(POOL, pending(10, **GOING), STOCKOUT))
    assert part.deletes == ()
    assert kinds(part) == ["StorageClass"]
    assert _verdict(part) == ("Replacing", 2)


@table(
    "status, found, attempts",
    {
        "not counted twice if its deletion is visible later": (REPLACING, pending(10, **GOING), 3),
        "kept until the next PVC is created": (TRIED, None, 3),
        "kept while the next PVC waits": (TRIED, pending(), 3),
        "removed when a PVC is bound": (TRIED, claim(POOL), None),
    },
)
def test_the_number_of_pvcs_is(status: dict[str, Any], found: Any, attempts: int | None) -> None:
    assert _verdict(planned(look(pool(status=status), found, STOCKOUT)))[1] == attempts


def test_a_pvc_is_not_recreated_while_kvtier_could_not_create_another() -> None:
    found, broken = pending(600), live(CLASS, parameters={"perUnitStorageThroughput": "125"})
    assert planned(look(POOL, found, STOCKOUT), CapacityValid="False").deletes == ()
    assert planned(look(POOL, found, STOCKOUT, class_=broken)).deletes == ()
