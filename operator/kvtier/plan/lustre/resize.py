"""Changes to a Lustre tier in use: a PVC that is resized, and updates of an instance that kvtier created.

StorageReady stays True during a change, and after a failed one: Pods keep using the present size.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from kvtier.api.conditions import STORAGE_READY, Condition, true
from kvtier.api.quantities import gib
from kvtier.api.reasons import Reason
from kvtier.api.sentences import sentences
from kvtier.api.times import elapsed
from kvtier.api.v1alpha1 import KVCachePool, LustreTier, OperationStatus
from kvtier.facts.children import Claim, ResizeError
from kvtier.facts.model import Event, Instance, OwnCluster
from kvtier.plan.lustre.api_errors import explained
from kvtier.plan.lustre.csi_errors import SILENT_SECONDS, DriverError, parse
from kvtier.plan.lustre.instance import StorageState, digest, growth_body, settings_body
from kvtier.plan.lustre.operations import DesiredOperation

_UNMARKED = ("ResourceExhausted",)
"""Errors that the external-resizer does not record in the status of the PVC (its util.go, IsFinalError)."""

_BUSY = re.compile(r"in (UPDATING|UPGRADING|REPAIRING) state|already in progress")
"""The driver's text if the instance has another operation in progress, or this resize."""


def bound(claim: Claim, want: int, events: Sequence[Event], now: str) -> Condition:
    """StorageReady of a bound PVC whose desired size is `want` bytes."""
    is_bound = f"PVC {claim.name} is bound to {gib(claim.capacity)}"
    if want > claim.capacity:
        return _growing(claim, want, events, now)
    if claim.requested > claim.capacity:
        return true(
            STORAGE_READY,
            Reason.GROWTH_ABANDONED,
            sentences(
                f"{is_bound}, as the spec requests, but the PVC still requests {gib(claim.requested)} from an earlier "
                f"resize, because Kubernetes does not let kvtier lower the request to {gib(claim.capacity)}",
                "No action is needed",
            ),
        )
    return true(STORAGE_READY, Reason.BOUND, sentences(is_bound))


def growing(claim: Claim, want: int) -> bool:
    """Whether a PVC with a volume is smaller than `want` bytes."""
    return 0 < claim.capacity < want


def _growing(claim: Claim, want: int, events: Sequence[Event], now: str) -> Condition:
    pvc, size, have = f"PVC {claim.name}", gib(want), gib(claim.capacity)
    error = _failure(claim, events) if claim.requested == want else None
    if error is not None:
        tried = size if claim.allocated in (0, want) else gib(claim.allocated)
        text = sentences(
            f"{pvc} could not be resized to {tried}, and Pods keep using {have}",
            f"The driver reports {error.code or 'an error'}: {error.words or 'no details'}",
            error.advice.of_existing,
            _way_back(claim, want),
        )
        return true(STORAGE_READY, Reason.RESIZE_FAILED, text)
    if _ignored(claim, events, now):
        text = sentences(
            f"{pvc} has {have} and waits to be resized to {size}. The Lustre CSI driver is not processing the resize",
            "Check that the driver can expand volumes in this version of GKE, and that StorageClass "
            f"{claim.storage_class} has allowVolumeExpansion",
        )
        return true(STORAGE_READY, Reason.RESIZING, text)
    return _resizing(f"{pvc} is being resized from {have} to {size}")


def _resizing(what: str) -> Condition:
    text = sentences(f"{what}, which may take 90 minutes", "Pods keep using it")
    return true(STORAGE_READY, Reason.RESIZING, text)


def _way_back(claim: Claim, want: int) -> str:
    """How to end a resize that fails.

    After an error that it does not record in the PVC, the external-resizer keeps retrying the size that it started with
    (its expand_and_recover.go). It ignores a new request until somebody sets the status of the PVC by hand.
    """
    have = gib(claim.capacity)
    if claim.allocated in (0, want):
        return (
            f"To cancel the resize, set spec.tiers.lustre.capacity to {have} again, or to a larger valid size"
        )
    return (
        f"The driver still retries {gib(claim.allocated)}, and has not started the new request of {gib(want)}. To "
        "make it use the new request: kubectl "
        f"-n {claim.namespace} patch pvc {claim.name} --subresource=status --type=merge -p "
        '\'{"status":{"allocatedResourceStatuses":{"storage":"ControllerResizeInfeasible"}}}\''
    )


def _failure(claim: Claim, events: Sequence[Event]) -> DriverError | None:
    """Why the resize of the PVC fails, None while it is in progress. The mark is the error in the status of the PVC.

    Case 1: there is no mark, or it is about an earlier size -> only an Event about an error that leaves no mark counts.
            Any other Event is about an earlier size too.
    Case 2: there is a mark, and the newest Event is later and shows progress -> the resize is in progress.
    Case 3: there is a mark -> the error in the mark.
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
    """Whether Kubernetes handed the resize to the driver, and the driver has not started it for two minutes."""
    oldest = {event.reason: event for event in events}
    asked = oldest.get("ExternalExpanding")
    if asked is None or claim.resizing or {"Resizing", "VolumeResizeFailed"} & set(oldest):
        return False
    return elapsed(asked.first or now, now) >= SILENT_SECONDS


_CHANGEABLE = ("ACTIVE", "UPDATING")


def change(
    pool: KVCachePool, spec: LustreTier, cluster: OwnCluster, instance: Instance, *, may_grow: bool
) -> DesiredOperation | None:
    """The next update, None if the instance matches the spec, or cannot be updated now.

    Labels and settings come first, so that a resize that fails for lack of capacity in the zone does not block them.
    """
    if instance.state not in _CHANGEABLE:
        return None
    if settings := settings_body(pool, spec, cluster, instance):
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
    """StorageReady while an update is in progress or has failed. It stays True: an update stops no Pod.

    A failure that needs an Event stays as it was `reported` while kvtier retries, so that there is one Event.
    """
    name, have = f"Lustre instance {instance.name}", gib(instance.capacity)
    if update and update.state == "Failed" and update.subject == desired.subject:
        reason, why = explained(update)
        text = sentences(
            f"{name} has {have} and could not be updated. Pods keep using it",
            f"The Lustre API reports {why}",
            "kvtier retries within 30 minutes",
        )
        return StorageState(true(STORAGE_READY, reason.of_update(), text), "Bound")
    if update and update.state == "Running" and update.attempt > 1 and reported and reported.deserves_event:
        return StorageState(reported, "Bound")
    if spec.size > instance.capacity:
        return StorageState(_resizing(f"{name} is being resized from {have} to {spec.capacity}"), "Resizing")
    text = sentences(f"The settings of {name} are being updated", "Pods keep using it")
    return StorageState(true(STORAGE_READY, Reason.UPDATING, text), "Bound")


def _update(instance: Instance, what: str, body: Mapping[str, Any]) -> DesiredOperation:
    """The subject has the creation time, so that a later instance of the same name gets its own update."""
    subject = f"{what} of {instance.created}" if instance.created else what
    return DesiredOperation("Update", subject, instance.name, body)
