"""What the driver's Events say about a claim that waits for its instance.

The driver waits for the instance in steps of 250 seconds and calls each of them a failure, so most failures
are progress. After some 25 of a type, client-go passes on one Event in 5 minutes (tools/record/events_cache.go):
the newest failure may be that old, and an attempt that is under way shows nothing.
"""

from dataclasses import dataclass
from datetime import datetime

from kvtier.api.conditions import STORAGE_READY, Condition, false
from kvtier.api.quantities import gib
from kvtier.facts.model import Observed
from kvtier.facts.objects import Object
from kvtier.plan.lustre.advice import advice
from kvtier.plan.lustre.claim import claims
from kvtier.plan.lustre.claim.driver_errors import DriverError, parse

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
        return bool(self.error.code) and not self.passing and reason != "RateLimited"


def trouble(observed: Observed) -> Trouble | None:
    """What keeps the claim from being provisioned, as far as Events tell."""
    failed = [news for news in observed.claim_news if news.reason == "ProvisioningFailed"]
    if not failed:
        return None
    error = parse(failed[0].message)
    times = sum(news.count for news in failed if parse(news.message).code == error.code)
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
        return false(STORAGE_READY, "ProvisioningFailed", f"claim {name} is not provisioned: {words}")
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
    if observed.claim_news:
        return not _ignored(claim, observed, now)
    handed_over = _PROVISIONER in (claim["metadata"].get("annotations") or {})
    return handed_over and age(claim, now) < _HANDED_OVER_SECONDS


def age(claim: Object, now: str) -> float:
    """Seconds since a claim was made, 0 where it does not say."""
    created = claim["metadata"].get("creationTimestamp")
    return (datetime.fromisoformat(now) - datetime.fromisoformat(created)).total_seconds() if created else 0.0


def _unanswered(observed: Observed) -> bool:
    """Whether the service could not be reached, ever: then nothing was asked for."""
    failed = [news for news in observed.claim_news if news.reason == "ProvisioningFailed"]
    answers = [parse(news.message) for news in failed]
    return all(one.code == "Unavailable" and "current state" not in one.words for one in answers)


def _ignored(claim: Object, observed: Observed, now: str) -> bool:
    """Whether Kubernetes waits for a driver that does nothing. Events that cannot be read prove nothing."""
    heard = {news.reason for news in observed.claim_news}
    handed_over = "ExternalProvisioning" in heard and "Provisioning" not in heard
    return handed_over and age(claim, now) >= _UNHEARD_SECONDS


def _unheard(claim: Object) -> Condition:
    return false(
        STORAGE_READY,
        "NotPickedUp",
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
        return false(STORAGE_READY, "Overdue", f"{said}; see the instance in the Cloud Console. {progress}")
    normal = "10 to 30 minutes are normal, up to 2 hours for a large one"
    return false(STORAGE_READY, "Provisioning", f"{said}; {normal}. {progress}")
