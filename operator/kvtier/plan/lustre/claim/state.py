"""What a claim of the CSI driver is reported as: StorageReady, the tier, and when to look again."""

from kvtier.api.conditions import STORAGE_READY, Condition, false
from kvtier.api.quantities import gib
from kvtier.api.v1alpha1 import KVCachePool, LustreTier, TierStatus
from kvtier.facts.model import Observed
from kvtier.facts.objects import Object
from kvtier.plan.children import claim_name
from kvtier.plan.lustre.claim import claims, expansion, provisioning
from kvtier.plan.lustre.claim.replacement import attempts, prospect
from kvtier.plan.lustre.identity import instance_name
from kvtier.plan.lustre.instance.state import verdict
from kvtier.plan.model import Manifest, Part, Ref
from kvtier.plan.notices import Notice

_YOUNG_SECONDS, _SOON_SECONDS, _LATER_SECONDS = 5.0, 15.0, 60.0
_OLD_SECONDS = 3600.0
_REPLACING = "Replacing"
_NAMED_HOLDERS = 5


def reported(
    pool: KVCachePool, lustre: LustreTier, writes: tuple[Manifest, ...], observed: Observed, now: str
) -> Part:
    """The claim as it is, beside what is written."""
    claim = observed.child("PersistentVolumeClaim", claim_name(pool))
    condition = _condition(pool, lustre, claim, observed, now)
    tier = _tier(pool, claim, observed, _phase(lustre, claim, observed))
    return Part(writes, (condition,), (tier,), again=_again(lustre, claim, now))


def failed(pool: KVCachePool, claim: Object | None, observed: Observed, condition: Condition) -> Part:
    """A claim that cannot be worked on, or must not be made yet."""
    phase = "Waiting" if condition.reason == "PrerequisitesNotMet" else "Failed"
    # What its driver says may yet allow to replace one that never had a volume.
    again = _LATER_SECONDS if claim and not _had_volume(claim) else None
    return Part((), (condition,), (_tier(pool, claim, observed, phase),), again=again)


def replaced(
    pool: KVCachePool, wanted_class: Manifest, claim: Object, observed: Observed, because: str
) -> Part:
    """The claim's deletion. It is told of once, though it may be planned again until it shows."""
    name = claim["metadata"]["name"]
    message = f"claim {name} is made anew, because {because}"
    told = Notice("Normal", "ClaimReplaced", f"{message}; nothing was stored")
    return Part(
        applies=(wanted_class,),
        deletes=(Ref("PersistentVolumeClaim", name, claim["metadata"].get("uid", "")),),
        conditions=(false(STORAGE_READY, _REPLACING, message),),
        tiers=(_tier(pool, claim, observed, "Provisioning", replacing=True),),
        notices=() if _replacing(pool) else (told,),
        again=_SOON_SECONDS,
    )


def _condition(
    pool: KVCachePool, lustre: LustreTier, claim: Object | None, observed: Observed, now: str
) -> Condition:
    if claim is None:
        return false(STORAGE_READY, "Creating", "the claim is being made")
    name, phase = claim["metadata"]["name"], claims.phase(claim)
    if claims.going(claim):
        return _going(claim, observed.holders)
    if phase == "Lost":
        return false(
            STORAGE_READY, "VolumeLost", f"the volume of claim {name} is gone: restore it or delete the claim"
        )
    if phase != "Bound":
        return provisioning.waiting(claim, observed, now, prospect(pool, claim, observed))
    seen = observed.facts.lustre.instance if observed.facts.lustre else None
    return (verdict(seen) if seen else None) or expansion.bound(lustre, claim, observed, now)


def _going(claim: Object, holders: tuple[str, ...]) -> Condition:
    name = claim["metadata"]["name"]
    if not _had_volume(claim):
        return false(STORAGE_READY, _REPLACING, f"claim {name} is made anew when the old one is gone")
    named, more = ", ".join(holders[:_NAMED_HOLDERS]), len(holders) - _NAMED_HOLDERS
    using = f": {named}{f' and {more} more' if more > 0 else ''}" if holders else ""
    return false(
        STORAGE_READY,
        "ClaimDeleted",
        f"claim {name} was deleted and goes when no Pod uses it any more{using}",
    )


def _phase(lustre: LustreTier, claim: Object | None, observed: Observed) -> str:
    if claim is None:
        return "Waiting"
    if claims.phase(claim) == "Lost":
        return "Failed"
    if claims.phase(claim) != "Bound":
        met = provisioning.trouble(observed)
        return "Failed" if met and met.final else "Provisioning"
    return "Resizing" if expansion.growing(lustre, claim) else "Bound"


def _tier(
    pool: KVCachePool, claim: Object | None, observed: Observed, phase: str, replacing: bool = False
) -> TierStatus:
    """`attempts` counts a claim when its successor is decided on, whether that or its deletion shows first."""
    have, tries = claims.capacity(claim), attempts(pool)
    if claim and not _replacing(pool) and (replacing or (claims.going(claim) and not _had_volume(claim))):
        tries += 1
    return TierStatus(
        name="lustre",
        phase=phase,
        capacity=gib(have) if have else None,
        instance=instance_name(pool, observed),
        attempts=None if tries == 1 or (claim and claims.phase(claim) == "Bound") else tries,
    )


def _again(lustre: LustreTier, claim: Object | None, now: str) -> float | None:
    """Events are not watched: seconds until they are read again, None where there are none to expect."""
    if claim is None:
        return None
    if claims.going(claim) or expansion.growing(lustre, claim):
        return _LATER_SECONDS
    if claims.phase(claim) in ("Bound", "Lost"):
        return None
    waited = provisioning.age(claim, now)
    if waited < _YOUNG_SECONDS:
        return _YOUNG_SECONDS
    return _SOON_SECONDS if waited < _OLD_SECONDS else _LATER_SECONDS


def _had_volume(claim: Object) -> bool:
    return bool(claim["spec"].get("volumeName"))


def _replacing(pool: KVCachePool) -> bool:
    """Whether the status says so already."""
    return any(c.type == STORAGE_READY and c.reason == _REPLACING for c in pool.status.conditions)
