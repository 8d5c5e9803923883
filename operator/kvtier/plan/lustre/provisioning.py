"""A PVC that waits for the CSI driver to create its instance: progress, errors, and when to recreate the PVC.

The driver waits for the instance in steps of 250 seconds and reports each step as a failure, so most failures
are progress. After about 25 Events of a type, client-go sends only one in 5 minutes (tools/record/events_cache.go).
So the newest failure may be that old, and an attempt that is in progress may have no Event.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from kvtier.api import gcloud
from kvtier.api.conditions import STORAGE_READY, Condition, false
from kvtier.api.quantities import gib
from kvtier.api.reasons import Reason
from kvtier.api.sentences import sentences
from kvtier.api.times import elapsed
from kvtier.api.v1alpha1 import LustreTier
from kvtier.api.v1alpha1.pool import Cluster
from kvtier.context import LustreView
from kvtier.facts.children import Claim
from kvtier.facts.model import Event
from kvtier.plan.lustre.api_errors import Retry
from kvtier.plan.lustre.csi_errors import SILENT_SECONDS, DriverError, parse

_HANDED_OVER_SECONDS = 15.0
"""How long the driver may take to report that it has started."""

_OVERDUE_SECONDS = 7200.0
"""The creation of an instance takes no longer than this."""

_OFTEN = 3
"""From this number of errors with the same code on, the error is not temporary."""

_FIRST_MINUTES, _LAST_MINUTES = 10, 120
"""The age at which a PVC is recreated. It doubles with every PVC. The message of StorageReady names it."""


@dataclass(frozen=True)
class Failure:
    """The newest failure to provision a PVC.

    `times`: how often the driver reported its code. `reached`: whether the driver ever reached the Lustre API.
    """

    error: DriverError
    times: int
    reached: bool

    @property
    def goes_on(self) -> bool:
        """Whether the failure is progress: the driver creates the instance, or may do so."""
        return self.error.goes_on or "current state: CREATING" in self.error.words

    @property
    def final(self) -> bool:
        """Whether no creation is in progress, and none starts until something changes."""
        return bool(self.error.code) and not self.goes_on and self.error.advice.retry is not Retry.PASSES


@dataclass(frozen=True)
class Provisioning:
    """The state of a PVC that is not bound, from the Events of its driver and from the Lustre API.

    `age`: seconds. `attempts`: number of PVCs of this pool so far. `ignored`: Kubernetes waits for a driver that does
    nothing. `under_way`: the driver may be creating an instance now, and would leave it behind if the PVC were deleted.
    `stored`: the PVC has or had a PersistentVolume, or one is reserved for it. `repeated`: the driver repeats its
    failure until the PVC is recreated.
    """

    claim: Claim
    age: float
    attempts: int
    failure: Failure | None
    ignored: bool
    under_way: bool
    stored: bool
    repeated: bool

    @property
    def failed(self) -> bool:
        """Whether the creation has stopped until something changes."""
        return self.failure is not None and self.failure.final

    @property
    def retry_minutes(self) -> int:
        """The age in minutes at which the PVC is recreated."""
        return int(min(_FIRST_MINUTES * 2 ** min(self.attempts - 1, 10), _LAST_MINUTES))


def derive(lustre: LustreView, claim: Claim, now: str) -> Provisioning:
    """Read the Events of a PVC that is not bound. No other code reads them."""
    age = elapsed(claim.created, now) if claim.created else 0.0
    failure, ignored = _failure(lustre.claim_events), _ignored(lustre.claim_events, age)
    return Provisioning(
        claim=claim,
        age=age,
        attempts=attempts(lustre),
        failure=failure,
        ignored=ignored,
        under_way=_under_way(lustre, claim, age, failure, ignored),
        stored=claim.phase != "Pending" or bool(claim.volume) or _reserved(lustre, claim),
        repeated=failure is not None and failure.final and _repeated(lustre, failure),
    )


def under_way(lustre: LustreView, now: str) -> bool:
    """Whether the driver may be creating an instance now, and would leave it behind if the PVC were deleted."""
    return lustre.claim is not None and derive(lustre, lustre.claim, now).under_way


def attempts(lustre: LustreView) -> int:
    """Number of PVCs of this pool so far, with the present one."""
    return (lustre.status.attempts if lustre.status else None) or 1


def storage_ready(found: Provisioning, cluster: Cluster | None = None) -> Condition:
    """StorageReady of a PVC that is not bound."""
    failure, name = found.failure, found.claim.name
    if failure is None:
        return _not_picked_up(name, cluster) if found.ignored else _progress(found)
    if failure.goes_on:
        return _progress(found, failure.error)
    seen, error = f"PVC {name} is not provisioned", failure.error
    if not error.code:
        text = sentences(
            seen,
            f"The CSI driver reports: {error.words or 'no details'}",
            f"Details: kubectl -n {found.claim.namespace} describe pvc {name}",
        )
        return false(STORAGE_READY, Reason.PROVISIONING_FAILED, text)
    if found.repeated:
        text = sentences(seen, _reported(error), _recreation(found), error.advice.text)
    else:
        step = _deletion(found) if failure.final else "The driver retries"
        text = sentences(seen, _reported(error), error.advice.text, step)
    return false(STORAGE_READY, error.advice.reason, text)


def replacement(found: Provisioning, spec: LustreTier, class_name: str) -> str:
    """Why a PVC must be recreated now, as a clause after "because"; empty to keep it.

    Case 1: it has, had or may be getting a PersistentVolume, or is already being deleted -> keep it.
    Case 2: its failure may pass -> keep it.
    Case 3: the spec now requests another size or class, which a waiting PVC cannot change -> recreate it now.
    Case 4: the driver repeats the failure and does not recover -> recreate it when its back-off has ended.
    """
    claim, failure = found.claim, found.failure
    if claim.deleting or found.stored or found.under_way or failure is None or not failure.final:
        return ""
    if claim.requested != spec.size:
        return f"the spec now requests {spec.capacity}"
    if claim.storage_class != class_name:
        return f"the spec now requests StorageClass {class_name}"
    due = found.age >= found.retry_minutes * 60
    return f"the driver repeats {failure.error.code} and does not recover" if due and found.repeated else ""


NORMAL = "This usually takes 10 to 30 minutes, and up to 2 hours for a large instance"
"""How long the creation of an instance takes."""

_STEPS = ((7200, "2 hours"), (3600, "an hour"), (1800, "30 minutes"), (600, "10 minutes"))
"""Few steps, because each of them is a write of the status."""


def so_far(seconds: float) -> str:
    """How long the creation has taken so far, as the end of a sentence; empty at first."""
    return next((f", for more than {text} so far" for step, text in _STEPS if seconds >= step), "")


def _failure(events: Iterable[Event]) -> Failure | None:
    failed = [(parse(one.message), one.count) for one in events if one.reason == "ProvisioningFailed"]
    if not failed:
        return None
    newest, _ = failed[0]
    times = sum(count for error, count in failed if error.code == newest.code)
    return Failure(newest, times, reached=any(_reached(error) for error, _ in failed))


def _reached(error: DriverError) -> bool:
    """Whether the driver reached the Lustre API. If not, it requested no instance."""
    return error.code != "Unavailable" or "current state" in error.words


def _ignored(events: Iterable[Event], age: float) -> bool:
    """Whether Kubernetes waits for a driver that does nothing. Without readable Events the answer is no."""
    reasons = {event.reason for event in events}
    return "ExternalProvisioning" in reasons and "Provisioning" not in reasons and age >= SILENT_SECONDS


def _under_way(lustre: LustreView, claim: Claim, age: float, failure: Failure | None, ignored: bool) -> bool:
    """Decide by the Lustre API first, then by the newest failure, then by any Event."""
    if claim.volume:
        return False
    if lustre.instance:
        return lustre.instance.state != "DELETING"
    if failure:
        return failure.goes_on and failure.reached
    if lustre.claim_events:
        return not ignored
    return claim.handed_over and age < _HANDED_OVER_SECONDS


def _reserved(lustre: LustreView, claim: Claim) -> bool:
    """Whether a PersistentVolume is reserved for this PVC, or for any PVC of its name."""
    return any(volume.claim_uid in ("", claim.uid) for volume in lustre.volumes)


def _repeated(lustre: LustreView, failure: Failure) -> bool:
    """Whether the driver repeats a final failure until the PVC is recreated."""
    often = failure.times >= _OFTEN
    match failure.error.advice.retry:
        case Retry.REPEATED:
            return True
        case Retry.REPEATED_IF_OFTEN:
            return often
        case Retry.REPEATED_IF_ABSENT:
            return often and lustre.unseen is None and lustre.instance_name is not None
        case _:
            return False


def _reported(error: DriverError) -> str:
    return f"The driver reports {error.code}: {error.words or 'no details'}"


def _recreation(found: Provisioning) -> str:
    """What kvtier does after a failure that the driver repeats."""
    return (
        f"kvtier recreates the PVC when it is {found.retry_minutes} minutes old, because the driver does not recover "
        "from this error"
    )


def _deletion(found: Provisioning) -> str:
    """What to do after a final failure that nothing else ends."""
    delete = f"kubectl -n {found.claim.namespace} delete pvc {found.claim.name}"
    return f"If the error remains, delete the PVC (it holds no data, and kvtier recreates it): {delete}"


def _progress(found: Provisioning, error: DriverError | None = None) -> Condition:
    claim, overdue = found.claim, found.age >= _OVERDUE_SECONDS
    seen = f"PVC {claim.name} waits for its Lustre instance of {gib(claim.requested)}{so_far(found.age)}"
    reported = _reported(error) if error and (overdue or error.code == "Unavailable") else ""
    progress = f"Progress: kubectl -n {claim.namespace} describe pvc {claim.name}"
    if overdue:
        text = sentences(seen, reported, "Check the instance in the Cloud Console", progress)
        return false(STORAGE_READY, Reason.OVERDUE, text)
    return false(STORAGE_READY, Reason.PROVISIONING, sentences(seen, reported, NORMAL, progress))


def _not_picked_up(name: str, cluster: Cluster | None) -> Condition:
    return false(
        STORAGE_READY,
        Reason.NOT_PICKED_UP,
        f"The Lustre CSI driver is not processing PVC {name}. Check that CSIDriver lustre.csi.storage.gke.io exists "
        "and that the Lustre CSI add-on is enabled. To enable the add-on: "
        f"{gcloud.clusters('update', cluster, '--update-addons=LustreCsiDriver=ENABLED')}",
    )
