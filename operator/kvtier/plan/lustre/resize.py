"""A tier in use that changes: a claim that grows, and an instance of kvtier's own that follows the spec.

StorageReady stays True meanwhile: Pods use the volume as it is, whatever becomes of its growth.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from kvtier.api.conditions import STORAGE_READY, Condition, true
from kvtier.api.quantities import gib
from kvtier.api.reasons import Reason
from kvtier.api.times import elapsed
from kvtier.api.v1alpha1 import KVCachePool, LustreTier, OperationStatus
from kvtier.facts.children import Claim, ResizeError
from kvtier.facts.model import Event, Instance
from kvtier.plan.lustre.api_errors import explained
from kvtier.plan.lustre.csi_errors import SILENT_SECONDS, DriverError, parse
from kvtier.plan.lustre.instance import StorageState, digest, growth_body, settings_body
from kvtier.plan.lustre.operations import DesiredOperation

_UNMARKED = ("ResourceExhausted",)
"""Failures after which the external-resizer does not mark the claim (its util.go, IsFinalError)."""

_BUSY = re.compile(r"in (UPDATING|UPGRADING|REPAIRING) state|already in progress")
"""The driver's words about an instance that has something else to do first, or is at just this."""


def bound(claim: Claim, want: int, events: Sequence[Event], now: str) -> Condition:
    """StorageReady of a bound claim that is to have `want` bytes."""
    is_bound = f"claim {claim.name} is bound to {gib(claim.capacity)}"
    if want > claim.capacity:
        return _growing(is_bound, claim, want, events, now)
    if claim.requested > claim.capacity:
        return true(
            STORAGE_READY,
            Reason.GROWTH_ABANDONED,
            f"{is_bound}; it still asks for {gib(claim.requested)}, because Kubernetes does not let a request go back "
            "to the present size",
        )
    return true(STORAGE_READY, Reason.BOUND, is_bound)


def growing(claim: Claim, want: int) -> bool:
    """Whether a claim that has a volume is still smaller than it is to be."""
    return 0 < claim.capacity < want


def _growing(is_bound: str, claim: Claim, want: int, events: Sequence[Event], now: str) -> Condition:
    error = _failure(claim, events) if claim.requested == want else None
    if error is not None:
        why = f"the driver answers {error.code or 'an error'}: {error.words}; {error.advice.text}"
        said = f"{is_bound} and does not grow to {gib(want)}: {why}. {_way_back(claim, want)}"
        return true(STORAGE_READY, Reason.RESIZE_FAILED, said)
    if _ignored(claim, events, now):
        return true(
            STORAGE_READY,
            Reason.RESIZING,
            f"{is_bound} and waits to grow to {gib(want)}: the Lustre CSI driver has not picked it up; see that the "
            f"driver can expand volumes in this version of GKE, and that StorageClass {claim.storage_class} has "
            "allowVolumeExpansion",
        )
    return _grows(is_bound, gib(want))


def _grows(has: str, size: str) -> Condition:
    said = f"{has} and grows to {size}, which may take 90 minutes; Pods go on using it meanwhile"
    return true(STORAGE_READY, Reason.RESIZING, said)


def _way_back(claim: Claim, want: int) -> str:
    """How to end a growth that fails.

    After a failure that leaves no mark, the external-resizer goes on with the size that it has once begun with
    (its expand_and_recover.go): another request does not reach it before the claim is marked by hand.
    """
    have = gib(claim.capacity)
    if claim.allocated in (0, want):
        return (
            f"Pods go on with {have}; to give the growth up, set capacity to {have}, or to another size above"
        )
    return (
        f"The driver is still asked for {gib(claim.allocated)}; to have it asked for {gib(want)}: kubectl "
        f"-n {claim.namespace} patch pvc {claim.name} --subresource=status --type=merge -p "
        '\'{"status":{"allocatedResourceStatuses":{"storage":"ControllerResizeInfeasible"}}}\''
    )


def _failure(claim: Claim, events: Sequence[Event]) -> DriverError | None:
    """Why the claim does not grow, None while it does.

    Case 1: the claim is not marked, or for an earlier size -> its newest Event counts only for a failure that
            leaves no mark: any other is about an earlier size too.
    Case 2: it is marked, and the newest Event after that is progress -> it grows.
    Case 3: it is marked -> for what the mark says.
    """
    event = next((one for one in events if one.reason == "VolumeResizeFailed"), None)
    newest = parse(event.message) if event else None
    mark = claim.resize_error if claim.allocated in (0, claim.requested) else None
    if mark is None:
        return newest if newest and newest.code in _UNMARKED else None
    if event and newest and _goes_on(newest) and not _older(event, mark):
        return None
    marked = parse(mark.message)
    return None if _goes_on(marked) else marked


def _goes_on(error: DriverError) -> bool:
    return error.goes_on or bool(_BUSY.search(error.words))


def _older(event: Event, mark: ResizeError) -> bool:
    return bool(mark.since and event.last) and elapsed(event.last, mark.since) > 0


def _ignored(claim: Claim, events: Sequence[Event], now: str) -> bool:
    """Whether Kubernetes waits for a resizer that does nothing."""
    oldest = {event.reason: event for event in events}
    asked = oldest.get("ExternalExpanding")
    if asked is None or claim.resizing or {"Resizing", "VolumeResizeFailed"} & set(oldest):
        return False
    return elapsed(asked.first or now, now) >= SILENT_SECONDS


_CHANGEABLE = ("ACTIVE", "UPDATING")


def change(
    pool: KVCachePool, spec: LustreTier, instance: Instance, *, may_grow: bool
) -> DesiredOperation | None:
    """The next change, None if the instance is as the spec wants it, or cannot be changed now.

    Settings go first: a growth that fails for want of room does not hold them up.
    """
    if instance.state not in _CHANGEABLE:
        return None
    if settings := settings_body(pool, spec, instance):
        return _update(instance, f"settings {digest(settings)}", settings)
    if spec.size <= instance.capacity or not may_grow:
        return None
    return _update(instance, f"{gib(instance.capacity)} to {spec.capacity}", growth_body(spec.size))


def changing(
    spec: LustreTier,
    instance: Instance,
    desired: DesiredOperation,
    update: OperationStatus | None,
    reported: Condition | None,
) -> StorageState:
    """While a change is under way or has failed. StorageReady stays True: a change holds up no Pod.

    A failure that deserves an Event stays as it was `reported` while it is tried again, so that it is one Event.
    """
    has = f"instance {instance.name} has {gib(instance.capacity)}"
    if update and update.state == "Failed" and update.subject == desired.subject:
        reason, why = explained(update)
        said = f"{has} and was not changed: {why}. Pods go on using it as it is"
        return StorageState(true(STORAGE_READY, reason.of_update(), said), "Bound")
    if update and update.state == "Running" and update.attempt > 1 and reported and reported.deserves_event:
        return StorageState(reported, "Bound")
    if spec.size > instance.capacity:
        return StorageState(_grows(has, str(spec.capacity)), "Resizing")
    said = f"{has}, and its settings are changed; Pods go on using it meanwhile"
    return StorageState(true(STORAGE_READY, Reason.UPDATING, said), "Bound")


def _update(instance: Instance, what: str, body: Mapping[str, Any]) -> DesiredOperation:
    """A namesake that is made later is another instance, and is changed as well."""
    subject = f"{what} of {instance.created}" if instance.created else what
    return DesiredOperation("Update", subject, instance.name, body)
