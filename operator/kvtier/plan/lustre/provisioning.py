"""What the driver's Events say about a claim that waits for its instance.

The driver waits for the instance in steps of 250 seconds and calls each of them a failure, so most failures
are progress. After some 25 of a type, client-go passes on one Event in 5 minutes (tools/record/events_cache.go):
the newest failure may be that old, and an attempt that is under way shows nothing.
"""

from dataclasses import dataclass
from datetime import datetime

from kvtier.api.conditions import STORAGE_READY, Condition, false
from kvtier.api.kinds import Object
from kvtier.api.quantities import gib
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Observed
from kvtier.plan.lustre import claims
from kvtier.plan.lustre.api_errors import advice
from kvtier.plan.lustre.csi_errors import DriverError, parse
from kvtier.plan.lustre.identity import instance_name

_PROVISIONER = "volume.kubernetes.io/storage-provisioner"
"""Set by Kubernetes when it hands a claim to its driver."""

_PASSING = ("DeadlineExceeded", "Unavailable", "Aborted", "Cancelled")
"""Codes after which the external-provisioner takes the creation to go on (its controller.go, checkError)."""

_HANDED_OVER_SECONDS = 15.0
_UNHEARD_SECONDS = 120.0
_OVERDUE_SECONDS = 7200.0
_STEPS = ((7200, "2 hours"), (3600, "an hour"), (1800, "30 minutes"), (600, "10 minutes"))


@dataclass(frozen=True)
class Trouble:
    """The newest failure to provision a claim; `times` is how often its code came."""

    error: DriverError
    times: int
    last: str

    @property
    def passing(self) -> bool:
        """Whether it is progress: the instance is being made, or may be."""
        return self.error.code in _PASSING or "current state: CREATING" in self.error.words

    @property
    def final(self) -> bool:
        """Whether nothing is under way, and nothing will be before something changes."""
        reason, _ = advice(*self.error)
        return bool(self.error.code) and not self.passing and reason is not Reason.RATE_LIMITED


def trouble(observed: Observed) -> Trouble | None:
    """What keeps the claim from being provisioned, as far as Events tell."""
    failed = [event for event in observed.claim_events if event.reason == "ProvisioningFailed"]
    if not failed:
        return None
    error = parse(failed[0].message)
    times = sum(event.count for event in failed if parse(event.message).code == error.code)
    return Trouble(error, times, failed[0].last)


def waiting(claim: Object, observed: Observed, now: str, then: str = "") -> Condition:
    """StorageReady of a claim that is not bound. `then` is what comes after a final failure."""
    met = trouble(observed)
    if met is None:
        return _unheard(claim) if _ignored(claim, observed, now) else _progress(claim, now)
    if met.passing:
        return _progress(claim, now, met.error)
    name, (code, words) = claim["metadata"]["name"], met.error
    if not code:
        return false(STORAGE_READY, Reason.PROVISIONING_FAILED, f"claim {name} is not provisioned: {words}")
    reason, what = advice(code, words)
    said = f"claim {name} is not provisioned: the driver answers {code}: {words}; {what}"
    return false(STORAGE_READY, reason, f"{said}; {then}" if then and met.final else said)


def under_way(claim: Object, observed: Observed, now: str) -> bool:
    """Whether an instance may be being made for a claim right now: deleting the claim would leave it behind."""
    if claim["spec"].get("volumeName"):
        return False
    if observed.facts.lustre and observed.facts.lustre.instance:
        return observed.facts.lustre.instance.state != "DELETING"
    met = trouble(observed)
    if met is not None:
        return met.passing and not _unanswered(observed)
    if observed.claim_events:
        return not _ignored(claim, observed, now)
    handed_over = _PROVISIONER in (claim["metadata"].get("annotations") or {})
    return handed_over and age(claim, now) < _HANDED_OVER_SECONDS


def age(claim: Object, now: str) -> float:
    """Seconds since a claim was made, 0 where it does not say."""
    created = claim["metadata"].get("creationTimestamp")
    return (datetime.fromisoformat(now) - datetime.fromisoformat(created)).total_seconds() if created else 0.0


def _unanswered(observed: Observed) -> bool:
    """Whether the service could not be reached, ever: then nothing was asked for."""
    failed = [event for event in observed.claim_events if event.reason == "ProvisioningFailed"]
    answers = [parse(event.message) for event in failed]
    return all(one.code == "Unavailable" and "current state" not in one.words for one in answers)


def _ignored(claim: Object, observed: Observed, now: str) -> bool:
    """Whether Kubernetes waits for a driver that does nothing. Events that cannot be read prove nothing."""
    heard = {event.reason for event in observed.claim_events}
    handed_over = "ExternalProvisioning" in heard and "Provisioning" not in heard
    return handed_over and age(claim, now) >= _UNHEARD_SECONDS


def _unheard(claim: Object) -> Condition:
    return false(
        STORAGE_READY,
        Reason.NOT_PICKED_UP,
        f"the Lustre CSI driver has not picked claim {claim['metadata']['name']} up: see that the add-on is enabled "
        "(gcloud container clusters update CLUSTER --update-addons=LustreCsiDriver=ENABLED) and that "
        "kubectl get csidriver lustre.csi.storage.gke.io finds it",
    )


def _progress(claim: Object, now: str, error: DriverError | None = None) -> Condition:
    name, namespace = claim["metadata"]["name"], claim["metadata"]["namespace"]
    waited = age(claim, now)
    so_far = next((f", for more than {text} by now" for step, text in _STEPS if waited >= step), "")
    said = f"claim {name} waits for its Lustre instance of {gib(claims.requested(claim))}{so_far}"
    if error and (waited >= _OVERDUE_SECONDS or error.code == "Unavailable"):
        said += f"; the driver answers {error.code}: {error.words}"
    progress = f"Progress: kubectl -n {namespace} describe pvc {name}"
    if waited >= _OVERDUE_SECONDS:
        return false(
            STORAGE_READY, Reason.OVERDUE, f"{said}; see the instance in the Cloud Console. {progress}"
        )
    normal = "10 to 30 minutes are normal, up to 2 hours for a large one"
    return false(STORAGE_READY, Reason.PROVISIONING, f"{said}; {normal}. {progress}")


_FIRST_MINUTES, _LAST_MINUTES = 10, 120
_OFTEN = 3

_REPEATED = (Reason.STOCKOUT, Reason.FAILED)
"""Reasons for which a creation fails after it was accepted, so that the driver repeats them for good."""

_PERHAPS_REPEATED = (
    Reason.QUOTA_EXCEEDED,
    Reason.FAILED_PRECONDITION,
    Reason.NOT_FOUND,
    Reason.KEY_NOT_USABLE,
)
"""Reasons that may have refused the request itself, which the driver then makes again by itself: a new claim
could cross a creation that has just begun. Only the Lustre API can exclude that."""


def replaced_because(
    pool: KVCachePool, class_name: str, claim: Object, observed: Observed, now: str
) -> str | None:
    """Why a claim has to be replaced now, as a part of a sentence; None to keep it.

    Case 1: it has, had or may be getting a volume, or is going already -> keep it.
    Case 2: its failure may pass -> keep it.
    Case 3: the spec asks for another size or class by now, which no waiting claim can take on -> now.
    Case 4: the driver repeats the failure for good -> once its back-off is over.
    """
    met = trouble(observed)
    if claims.going(claim) or _stored(claim, observed) or under_way(claim, observed, now):
        return None
    if met is None or not met.final:
        return None
    lustre = pool.spec.tiers.lustre
    if lustre and claims.requested(claim) != lustre.size:
        return f"the spec asks for {lustre.capacity} by now"
    if claim["spec"].get("storageClassName") != class_name:
        return f"the spec asks for StorageClass {class_name} by now"
    due = age(claim, now) >= retry_minutes(pool) * 60
    return f"the driver repeats {met.error.code} for good" if due and _hopeless(pool, met, observed) else None


def prospect(pool: KVCachePool, claim: Object, observed: Observed) -> str:
    """What comes after a final failure, as a part of a sentence."""
    met = trouble(observed)
    if met and _hopeless(pool, met, observed):
        return (
            f"the driver repeats this for good, so kvtier makes the claim anew when it is {retry_minutes(pool)} "
            "minutes old"
        )
    namespace, name = claim["metadata"]["namespace"], claim["metadata"]["name"]
    return f"if this stays after that: kubectl -n {namespace} delete pvc {name} makes kvtier try anew, no data is lost"


def attempts(pool: KVCachePool) -> int:
    """Claims that were made so far, the present one included."""
    return next((tier.attempts for tier in pool.status.tiers if tier.name == "lustre" and tier.attempts), 1)


def retry_minutes(pool: KVCachePool) -> int:
    """How old a claim has to be to be replaced; it doubles with every claim."""
    return int(min(_FIRST_MINUTES * 2 ** min(attempts(pool) - 1, 10), _LAST_MINUTES))


def _stored(claim: Object, observed: Observed) -> bool:
    """Whether a volume is or was the claim's, or is reserved for it."""
    metadata, volumes = claim["metadata"], observed.facts.volumes
    named = (metadata["namespace"], metadata["name"])
    reserved = [one for one in volumes.by_claim.get(named, ()) if one.claim_uid in ("", metadata.get("uid"))]
    return bool(reserved or claim["spec"].get("volumeName") or claims.phase(claim) != "Pending")


def _hopeless(pool: KVCachePool, met: Trouble, observed: Observed) -> bool:
    reason, _ = advice(*met.error)
    if reason is Reason.STOCKOUT:
        return met.final
    known_absent = (
        observed.facts.lustre is not None
        and observed.facts.lustre.error is None
        and instance_name(pool, observed) is not None
    )
    listed = (*_REPEATED, *_PERHAPS_REPEATED) if known_absent else _REPEATED
    return met.final and reason in listed and met.times >= _OFTEN
