"""A claim that is bound: whether it has the size that the spec wants, and how its growth gets on.

StorageReady stays True meanwhile: Pods use the volume as it is, whatever becomes of its growth.
"""

import re

from kvtier.api.conditions import CAPACITY_VALID, STORAGE_READY, Condition, true
from kvtier.api.kinds import Object
from kvtier.api.quantities import gib
from kvtier.api.reasons import Reason
from kvtier.api.times import elapsed
from kvtier.api.v1alpha1 import KVCachePool, LustreTier
from kvtier.facts.model import Event, Instance, Observed
from kvtier.plan.lustre import claims
from kvtier.plan.lustre.api_errors import advice
from kvtier.plan.lustre.csi_errors import DriverError, parse
from kvtier.plan.lustre.instance import digest, growth_body, settings_body
from kvtier.plan.lustre.operations import DesiredOperation, Followed
from kvtier.plan.model import Checks

_PASSING = ("DeadlineExceeded", "Unavailable", "Aborted", "Cancelled")
_UNMARKED = ("ResourceExhausted",)
"""Failures after which the external-resizer does not mark the claim (its util.go, IsFinalError)."""

_BUSY = re.compile(r"in (UPDATING|UPGRADING|REPAIRING) state")
_UNHEARD_SECONDS = 120.0


def bound(lustre: LustreTier, claim: Object, observed: Observed, now: str) -> Condition:
    """StorageReady of a bound claim."""
    have, want = claims.capacity(claim), lustre.size
    is_bound = f"claim {claim['metadata']['name']} is bound to {gib(have)}"
    if want > have:
        return _growing(is_bound, want, claim, observed, now)
    if claims.requested(claim) > have:
        return true(
            STORAGE_READY,
            Reason.GROWTH_ABANDONED,
            f"{is_bound}; it still asks for {gib(claims.requested(claim))}, because Kubernetes does not let a "
            "request go back to the present size",
        )
    return true(STORAGE_READY, Reason.BOUND, is_bound)


def growing(lustre: LustreTier, claim: Object | None) -> bool:
    """Whether a bound claim is still smaller than the spec wants it."""
    return claim is not None and 0 < claims.capacity(claim) < lustre.size


def _growing(is_bound: str, want: int, claim: Object, observed: Observed, now: str) -> Condition:
    met = _failure(claim, observed) if claims.requested(claim) == want else None
    if met is not None:
        why = f"the driver answers {met.code or 'an error'}: {met.words}; {advice(*met)[1]}"
        said = f"{is_bound} and does not grow to {gib(want)}: {why}. {_way_back(want, claim)}"
        return true(STORAGE_READY, Reason.RESIZE_FAILED, said)
    if _ignored(claim, observed, now):
        return true(
            STORAGE_READY,
            Reason.RESIZING,
            f"{is_bound} and waits to grow to {gib(want)}: the Lustre CSI driver has not picked it up; see that the "
            "driver can expand volumes in this version of GKE, and that StorageClass "
            f"{claim['spec'].get('storageClassName')} has allowVolumeExpansion",
        )
    return true(
        STORAGE_READY,
        Reason.RESIZING,
        f"{is_bound} and grows to {gib(want)}, which may take 90 minutes; Pods go on using it meanwhile",
    )


def _way_back(want: int, claim: Object) -> str:
    """How to end a growth that fails.

    After a failure that leaves no mark, the external-resizer goes on with the size that it has once begun with
    (its expand_and_recover.go): another request does not reach it before the claim is marked by hand.
    """
    have, tried = gib(claims.capacity(claim)), claims.allocated(claim)
    if tried in (0, want):
        return (
            f"Pods go on with {have}; to give the growth up, set capacity to {have}, or to another size above"
        )
    name = f"-n {claim['metadata']['namespace']} patch pvc {claim['metadata']['name']}"
    return (
        f"The driver is still asked for {gib(tried)}; to have it asked for {gib(want)}: kubectl {name} "
        "--subresource=status --type=merge -p "
        '\'{"status":{"allocatedResourceStatuses":{"storage":"ControllerResizeInfeasible"}}}\''
    )


def _failure(claim: Object, observed: Observed) -> DriverError | None:
    """Why the growth does not get on, None while it does.

    Case 1: the claim is not marked, or for an earlier size -> its newest Event counts only for a failure that
            leaves no mark: any other is about an earlier size too.
    Case 2: it is marked, and the newest Event after that is progress -> it gets on.
    Case 3: it is marked -> for what the mark says.
    """
    event = next((one for one in observed.claim_events if one.reason == "VolumeResizeFailed"), None)
    about = claims.allocated(claim) in (0, claims.requested(claim))
    mark = _condition(claim, "ControllerResizeError") if about else None
    said = parse(event.message) if event else None
    if mark is None:
        return said if said and said.code in _UNMARKED else None
    if event and said and _passes(said) and not _older(event, mark):
        return None
    marked = parse(str(mark.get("message", "")))
    return None if _passes(marked) else marked


def _passes(error: DriverError) -> bool:
    return error.code in _PASSING or bool(_BUSY.search(error.words)) or "already in progress" in error.words


def _older(event: Event, mark: Object) -> bool:
    since = mark.get("lastTransitionTime")
    return bool(since and event.last and elapsed(event.last, since) > 0)


def _ignored(claim: Object, observed: Observed, now: str) -> bool:
    """Whether Kubernetes waits for a resizer that does nothing."""
    heard = {event.reason: event for event in observed.claim_events}
    started = claim.get("status", {}).get("allocatedResourceStatuses") or _condition(claim, "Resizing")
    asked = heard.get("ExternalExpanding")
    if asked is None or started or {"Resizing", "VolumeResizeFailed"} & set(heard):
        return False
    return elapsed(asked.first or now, now) >= _UNHEARD_SECONDS


def _condition(claim: Object, type_: str) -> Object | None:
    found = claim.get("status", {}).get("conditions") or []
    return next((one for one in found if one["type"] == type_ and one["status"] == "True"), None)


_CHANGEABLE = ("ACTIVE", "UPDATING")


def change(
    pool: KVCachePool, lustre: LustreTier, instance: Instance, checks: Checks
) -> DesiredOperation | None:
    """The next change, None if the instance is as the spec wants it, or cannot be changed now.

    Settings go first: a growth that fails for want of room does not hold them up.
    """
    if instance.state not in _CHANGEABLE:
        return None
    if settings := settings_body(pool, lustre, instance):
        return DesiredOperation(
            "Update", _of(instance, f"settings {digest(settings)}"), instance.name, settings
        )
    if lustre.size <= instance.capacity or checks[CAPACITY_VALID].status == "False":
        return None
    growth = f"{gib(instance.capacity)} to {lustre.capacity}"
    return DesiredOperation("Update", _of(instance, growth), instance.name, growth_body(lustre.size))


def changing(pool: KVCachePool, instance: Instance, wish: DesiredOperation, update: Followed) -> Condition:
    """StorageReady while a change is under way or has failed. It stays True: a change holds up no Pod."""
    has, status = f"instance {instance.name} has {gib(instance.capacity)}", update.status
    if status and status.state == "Failed" and status.subject == wish.subject:
        reason, what = advice(status.code or "", status.message or "")
        said = f"{has} and was not changed: {status.code}: {status.message or 'no details'}; {what}"
        return true(STORAGE_READY, reason.of_update(), f"{said}. Pods go on using it as it is")
    lustre = pool.spec.tiers.lustre
    if lustre and lustre.size > instance.capacity:
        grows = f"{has} and grows to {lustre.capacity}, which may take 90 minutes"
        return true(STORAGE_READY, Reason.RESIZING, f"{grows}; Pods go on using it meanwhile")
    return true(
        STORAGE_READY, Reason.UPDATING, f"{has}, and its settings are changed; Pods go on using it meanwhile"
    )


def _of(instance: Instance, what: str) -> str:
    """A namesake that is made later is changed anew."""
    return f"{what} of {instance.created}" if instance.created else what
