"""A claim that waits for the CSI driver to make its instance: how far it is, what is wrong, and when to replace it.

The driver waits for the instance in steps of 250 seconds and calls each of them a failure, so most failures
are progress. After some 25 of a type, client-go passes on one Event in 5 minutes (tools/record/events_cache.go):
the newest failure may be that old, and an attempt that is under way shows nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from kvtier.api.conditions import STORAGE_READY, Condition, false
from kvtier.api.quantities import gib
from kvtier.api.reasons import Reason
from kvtier.api.times import elapsed
from kvtier.api.v1alpha1 import LustreTier
from kvtier.context import LustreView
from kvtier.facts.children import Claim
from kvtier.facts.model import Event
from kvtier.plan.lustre.api_errors import Retry
from kvtier.plan.lustre.csi_errors import SILENT_SECONDS, DriverError, parse

_HANDED_OVER_SECONDS = 15.0
"""How long the driver may take to report that it has begun."""

_OVERDUE_SECONDS = 7200.0
"""No instance takes longer to be made."""

_OFTEN = 3
"""Answers of one code after which it is no error of the moment."""

_FIRST_MINUTES, _LAST_MINUTES = 10, 120
"""How old a claim has to be to be replaced; it doubles with every claim. StorageReady promises these minutes."""


@dataclass(frozen=True)
class Failure:
    """The newest failure to provision a claim.

    `times` is how often the driver answered its code, `reached` whether it ever reached the Lustre API.
    """

    error: DriverError
    times: int
    reached: bool

    @property
    def goes_on(self) -> bool:
        """Whether it is progress: the instance is being made, or may be."""
        return self.error.goes_on or "current state: CREATING" in self.error.words

    @property
    def final(self) -> bool:
        """Whether nothing is under way, and nothing will be before something changes."""
        return bool(self.error.code) and not self.goes_on and self.error.advice.retry is not Retry.PASSES


@dataclass(frozen=True)
class Provisioning:
    """Where a claim that is not bound stands, by its driver's Events and the Lustre API.

    `age` is in seconds, `attempts` counts the pool's claims up to this one. `ignored`: Kubernetes waits for a driver
    that does nothing. `under_way`: an instance may be being made right now, and deleting the claim would leave it
    behind. `stored`: a volume is or was the claim's, or is reserved for it. `repeated`: the driver repeats its failure
    for good, so that only another claim helps.
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
        """Whether nothing goes on before something changes."""
        return self.failure is not None and self.failure.final

    @property
    def retry_minutes(self) -> int:
        """How old the claim has to be to be replaced."""
        return int(min(_FIRST_MINUTES * 2 ** min(self.attempts - 1, 10), _LAST_MINUTES))


def derive(lustre: LustreView, claim: Claim, now: str) -> Provisioning:
    """The one place that reads the Events of a claim that is not bound."""
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
    """Whether an instance may be being made for the claim right now: deleting the claim would leave it behind."""
    return lustre.claim is not None and derive(lustre, lustre.claim, now).under_way


def attempts(lustre: LustreView) -> int:
    """Claims that were made so far, the present one included."""
    return (lustre.status.attempts if lustre.status else None) or 1


def storage_ready(found: Provisioning) -> Condition:
    """StorageReady of a claim that is not bound."""
    failure, name = found.failure, found.claim.name
    if failure is None:
        return _not_picked_up(name) if found.ignored else _progress(found)
    if failure.goes_on:
        return _progress(found, failure.error)
    code, words, advice = failure.error.code, failure.error.words, failure.error.advice
    if not code:
        return false(STORAGE_READY, Reason.PROVISIONING_FAILED, f"claim {name} is not provisioned: {words}")
    said = f"claim {name} is not provisioned: the driver answers {code}: {words}; {advice.text}"
    return false(STORAGE_READY, advice.reason, f"{said}; {_prospect(found)}" if failure.final else said)


def replacement(found: Provisioning, spec: LustreTier, class_name: str) -> str:
    """Why a claim has to be replaced now, as a part of a sentence; empty to keep it.

    Case 1: it has, had or may be getting a volume, or is going already -> keep it.
    Case 2: its failure may pass -> keep it.
    Case 3: the spec asks for another size or class by now, which no waiting claim can take on -> now.
    Case 4: the driver repeats the failure for good -> once its back-off is over.
    """
    claim, failure = found.claim, found.failure
    if claim.deleting or found.stored or found.under_way or failure is None or not failure.final:
        return ""
    if claim.requested != spec.size:
        return f"the spec asks for {spec.capacity} by now"
    if claim.storage_class != class_name:
        return f"the spec asks for StorageClass {class_name} by now"
    due = found.age >= found.retry_minutes * 60
    return f"the driver repeats {failure.error.code} for good" if due and found.repeated else ""


NORMAL = "10 to 30 minutes are normal, up to 2 hours for a large one"
"""How long an instance takes to be made."""

_STEPS = ((7200, "2 hours"), (3600, "an hour"), (1800, "30 minutes"), (600, "10 minutes"))
"""Few, because each is a write of the status."""


def so_far(seconds: float) -> str:
    """How long an instance has been waited for, as a part of a sentence; empty at first."""
    return next((f", for more than {text} by now" for step, text in _STEPS if seconds >= step), "")


def _failure(events: Iterable[Event]) -> Failure | None:
    failed = [(parse(one.message), one.count) for one in events if one.reason == "ProvisioningFailed"]
    if not failed:
        return None
    newest, _ = failed[0]
    times = sum(count for error, count in failed if error.code == newest.code)
    return Failure(newest, times, reached=any(_reached(error) for error, _ in failed))


def _reached(error: DriverError) -> bool:
    """Whether the Lustre API could be reached: else nothing was asked for."""
    return error.code != "Unavailable" or "current state" in error.words


def _ignored(events: Iterable[Event], age: float) -> bool:
    """Whether Kubernetes waits for a driver that does nothing. Events that cannot be read prove nothing."""
    reasons = {event.reason for event in events}
    return "ExternalProvisioning" in reasons and "Provisioning" not in reasons and age >= SILENT_SECONDS


def _under_way(lustre: LustreView, claim: Claim, age: float, failure: Failure | None, ignored: bool) -> bool:
    """What the Lustre API shows counts most, then the newest failure, then any Event."""
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
    """Whether a volume is reserved for just this claim, or for whichever has its name."""
    return any(volume.claim_uid in ("", claim.uid) for volume in lustre.volumes)


def _repeated(lustre: LustreView, failure: Failure) -> bool:
    """Whether the driver repeats a final failure for good."""
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


def _prospect(found: Provisioning) -> str:
    """What comes after a final failure, as a part of a sentence."""
    if found.repeated:
        return (
            f"the driver repeats this for good, so kvtier makes the claim anew when it is {found.retry_minutes} "
            "minutes old"
        )
    delete = f"kubectl -n {found.claim.namespace} delete pvc {found.claim.name}"
    return f"if this stays after that: {delete} makes kvtier try anew, no data is lost"


def _progress(found: Provisioning, error: DriverError | None = None) -> Condition:
    claim, overdue = found.claim, found.age >= _OVERDUE_SECONDS
    said = f"claim {claim.name} waits for its Lustre instance of {gib(claim.requested)}{so_far(found.age)}"
    if error and (overdue or error.code == "Unavailable"):
        said += f"; the driver answers {error.code}: {error.words}"
    progress = f"Progress: kubectl -n {claim.namespace} describe pvc {claim.name}"
    if overdue:
        return false(
            STORAGE_READY, Reason.OVERDUE, f"{said}; see the instance in the Cloud Console. {progress}"
        )
    return false(STORAGE_READY, Reason.PROVISIONING, f"{said}; {NORMAL}. {progress}")


def _not_picked_up(name: str) -> Condition:
    return false(
        STORAGE_READY,
        Reason.NOT_PICKED_UP,
        f"the Lustre CSI driver has not picked claim {name} up: see that the add-on is enabled "
        "(gcloud container clusters update CLUSTER --update-addons=LustreCsiDriver=ENABLED) and that "
        "kubectl get csidriver lustre.csi.storage.gke.io finds it",
    )
