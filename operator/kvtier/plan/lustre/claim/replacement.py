"""When a claim is deleted and made anew, because its instance can never be made.

The driver repeats the outcome of a failed creation to every later request for the same claim, and asks for no
instance again (lustre-csi-driver, GetCreateInstanceOp). Only another claim, with another uid, gets another try.
"""

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Observed
from kvtier.facts.objects import Object
from kvtier.plan.lustre.advice import advice
from kvtier.plan.lustre.claim import claims
from kvtier.plan.lustre.claim.provisioning import Trouble, age, trouble, under_way
from kvtier.plan.lustre.identity import instance_name

_FIRST_MINUTES, _LAST_MINUTES = 10, 120
_OFTEN = 3

_REPEATED = ("Stockout", "Failed")
"""Reasons for which a creation fails after it was accepted, so that the driver repeats them for good."""

_PERHAPS_REPEATED = ("QuotaExceeded", "FailedPrecondition", "NotFound", "KeyNotUsable")
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
    if reason == "Stockout":
        return met.final
    known_absent = (
        observed.facts.lustre is not None
        and observed.facts.lustre.error is None
        and instance_name(pool, observed) is not None
    )
    listed = (*_REPEATED, *_PERHAPS_REPEATED) if known_absent else _REPEATED
    return met.final and reason in listed and met.times >= _OFTEN
