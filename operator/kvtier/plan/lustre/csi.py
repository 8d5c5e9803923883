"""Volumes that have outlived their claim are bound again, so that a pool that comes back finds its data."""

from typing import NamedTuple

from kvtier.api.conditions import STORAGE_READY, Condition, false
from kvtier.api.identity import instance_id, storage_class_name, storage_class_parameters
from kvtier.api.kinds import Object
from kvtier.api.quantities import canonical, gib
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool, LustreTier, TierStatus
from kvtier.facts.model import Observed
from kvtier.facts.volumes import Volume
from kvtier.plan.children import child, claim_name
from kvtier.plan.events import PoolEvent
from kvtier.plan.gates import STORAGE, blockers
from kvtier.plan.lustre import claims, provisioning, resize
from kvtier.plan.lustre.identity import instance_name
from kvtier.plan.lustre.instance import verdict
from kvtier.plan.lustre.provisioning import attempts, prospect, replaced_because
from kvtier.plan.model import Checks, Manifest, Part, Ref

_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
"""Annotation of a claim whose volume Kubernetes has chosen, and not who made the claim."""


class Reservation(NamedTuple):
    """The volume that a claim is made for, None where the driver is to make one; its bytes; what frees it."""

    volume: str | None = None
    capacity: int = 0
    writes: tuple[Manifest, ...] = ()


def reservation(pool: KVCachePool, class_name: str, observed: Observed) -> Reservation:
    """What the claim is, or is to be, reserved for.

    A volume is freed only for a claim that is there: the driver deletes none that is free, and in a namespace
    that goes no claim can be made any more.
    """
    claim = observed.child("PersistentVolumeClaim", claim_name(pool))
    if claim is None:
        volume = released(pool, class_name, observed)
        return Reservation(volume.name, volume.capacity) if volume else Reservation()
    name = reserved(claim)
    known = observed.facts.volumes.by_name.get(name or "")
    return Reservation(name, known.capacity if known else 0, _freed(known) if known else ())


def released(pool: KVCachePool, class_name: str, observed: Observed) -> Volume | None:
    """The volume that the driver once made for just this claim, from just this class; None where there is none.

    Of several, of which only one can be bound, the largest. One whose reclaim policy is Delete is about to go.
    """
    if observed.child("PersistentVolumeClaim", claim_name(pool)) is not None:
        return None
    volumes = observed.facts.volumes.by_claim.get((pool.namespace, claim_name(pool)), ())
    ours = [one for one in volumes if one.storage_class == class_name and _free(one)]
    return min(ours, key=lambda one: (-one.capacity, one.name), default=None)


def reserved(claim: Object) -> str | None:
    """The volume that a claim was made for, None where the driver made one for the claim."""
    annotations = claim["metadata"].get("annotations", {})
    return None if _BY_CONTROLLER in annotations else claim["spec"].get("volumeName") or None


def _freed(volume: Volume) -> tuple[Manifest, ...]:
    """What lets a volume be bound again by a claim of the same name.

    Only a Released volume is touched, and only as it was seen: taking the claim's identity from a volume that
    is bound would make the claim Lost.
    """
    if volume.phase != "Released" or not volume.claim_uid:
        return ()
    identity = {"name": volume.name, "uid": volume.uid, "resourceVersion": volume.version}
    return (
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": identity,
            "spec": {"claimRef": {"uid": "", "resourceVersion": ""}},
        },
    )


def _free(volume: Volume) -> bool:
    nobody = volume.phase == "Released" or (volume.phase == "Available" and not volume.claim_uid)
    return nobody and not volume.deleting and volume.reclaim != "Delete"


_YOUNG_SECONDS, _SOON_SECONDS, _LATER_SECONDS = 5.0, 15.0, 60.0
_OLD_SECONDS = 3600.0
_NAMED_HOLDERS = 5


def _reported(
    pool: KVCachePool, lustre: LustreTier, writes: tuple[Manifest, ...], observed: Observed, now: str
) -> Part:
    """The claim as it is, beside what is written."""
    claim = observed.child("PersistentVolumeClaim", claim_name(pool))
    condition = _condition(pool, lustre, claim, observed, now)
    tier = _tier(pool, claim, observed, _phase(lustre, claim, observed))
    return Part(writes, (condition,), (tier,), again=_again(lustre, claim, now))


def _failed(pool: KVCachePool, claim: Object | None, observed: Observed, condition: Condition) -> Part:
    """A claim that cannot be worked on, or must not be made yet."""
    phase = "Waiting" if condition.reason == Reason.PREREQUISITES_NOT_MET else "Failed"
    # What its driver says may yet allow to replace one that never had a volume.
    again = _LATER_SECONDS if claim and not _had_volume(claim) else None
    return Part((), (condition,), (_tier(pool, claim, observed, phase),), again=again)


def _replaced(
    pool: KVCachePool, wanted_class: Manifest, claim: Object, observed: Observed, because: str
) -> Part:
    """The claim's deletion. It is told of once, though it may be planned again until it shows."""
    name = claim["metadata"]["name"]
    message = f"claim {name} is made anew, because {because}"
    told = PoolEvent("Normal", "ClaimReplaced", f"{message}; nothing was stored")
    return Part(
        applies=(wanted_class,),
        deletes=(Ref("PersistentVolumeClaim", name, claim["metadata"].get("uid", "")),),
        conditions=(false(STORAGE_READY, Reason.REPLACING, message),),
        tiers=(_tier(pool, claim, observed, "Provisioning", replacing=True),),
        events=() if _replacing(pool) else (told,),
        again=_SOON_SECONDS,
    )


def _condition(
    pool: KVCachePool, lustre: LustreTier, claim: Object | None, observed: Observed, now: str
) -> Condition:
    if claim is None:
        return false(STORAGE_READY, Reason.CREATING, "the claim is being made")
    name, phase = claim["metadata"]["name"], claims.phase(claim)
    if claims.going(claim):
        return _going(claim, observed.holders)
    if phase == "Lost":
        return false(
            STORAGE_READY,
            Reason.VOLUME_LOST,
            f"the volume of claim {name} is gone: restore it or delete the claim",
        )
    if phase != "Bound":
        return provisioning.waiting(claim, observed, now, prospect(pool, claim, observed))
    seen = observed.facts.lustre.instance if observed.facts.lustre else None
    return (verdict(seen) if seen else None) or resize.bound(lustre, claim, observed, now)


def _going(claim: Object, holders: tuple[str, ...]) -> Condition:
    name = claim["metadata"]["name"]
    if not _had_volume(claim):
        return false(STORAGE_READY, Reason.REPLACING, f"claim {name} is made anew when the old one is gone")
    named, more = ", ".join(holders[:_NAMED_HOLDERS]), len(holders) - _NAMED_HOLDERS
    using = f": {named}{f' and {more} more' if more > 0 else ''}" if holders else ""
    return false(
        STORAGE_READY,
        Reason.CLAIM_DELETED,
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
    return "Resizing" if resize.growing(lustre, claim) else "Bound"


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
    if claims.going(claim) or resize.growing(lustre, claim):
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
    return any(c.type == STORAGE_READY and c.reason == Reason.REPLACING for c in pool.status.conditions)


_IMMUTABLE = ("provisioner", "parameters", "reclaimPolicy", "volumeBindingMode")


def plan_csi(pool: KVCachePool, lustre: LustreTier, observed: Observed, checks: Checks, now: str) -> Part:
    """Class and claim of the Lustre tier.

    Nothing is made while a prerequisite does not hold, and a claim that exists is not touched while the
    wanted capacity cannot be reached, or while it is on its way out.
    """
    claim = observed.child("PersistentVolumeClaim", claim_name(pool))
    wanted_class = _storage_class(pool, lustre)
    refused = blockers(checks, STORAGE, pool.spec.strict)
    changed = _changed(wanted_class, observed)
    if claim and not changed and not refused:
        because = replaced_because(pool, wanted_class["metadata"]["name"], claim, observed, now)
        if because:
            return _replaced(pool, wanted_class, claim, observed, because)
    problem = changed or _mismatch(wanted_class, claim)
    if problem:
        return _failed(pool, claim, observed, problem)
    if claim is None and refused:
        return _failed(pool, claim, observed, _blocked(refused))
    kept = reservation(pool, wanted_class["metadata"]["name"], observed)
    wanted_claim = _claim(pool, wanted_class["metadata"]["name"], _request(lustre, claim, kept), kept)
    going = claim is not None and claims.going(claim)
    writes = (wanted_class,) if going else (*kept.writes, wanted_class, wanted_claim)
    return _reported(pool, lustre, () if refused else writes, observed, now)


def _storage_class(pool: KVCachePool, lustre: LustreTier) -> Manifest:
    return child(
        "storageclass",
        pool,
        storage_class_name(pool, lustre),
        **storage_class_parameters(pool, lustre),
        instance_labels=f"kvtier-pool={instance_id(pool)}",
        description=f"KV cache of {pool.namespace}/{pool.name}, made by kvtier",
    )


def _claim(pool: KVCachePool, class_name: str, request: int, kept: Reservation) -> Manifest:
    # No ownerReference: the claim is the data, and only deletionPolicy may decide about it.
    return child(
        "persistentvolumeclaim",
        pool,
        claim_name(pool),
        storage_class=class_name,
        volume=kept.volume,
        capacity=canonical(request),
    )


def _request(lustre: LustreTier, claim: Object | None, kept: Reservation) -> int:
    """Bytes to ask for.

    Kubernetes refuses every change of a claim that is not bound, and a request at or below what a bound
    one has. A growth that is taken back in the spec therefore stays requested until another size above
    the present one replaces it. A volume that is there already grows once it is bound.
    """
    if claim is None and kept.volume:
        return kept.capacity
    want, have = lustre.size, claims.capacity(claim)
    requested = claims.requested(claim)
    if requested and not have:
        return requested
    return want if want > have else max(want, requested)


def _changed(wanted: Manifest, observed: Observed) -> Condition | None:
    """Why the class cannot become the one that the spec describes, or None."""
    name = wanted["metadata"]["name"]
    live = observed.child("StorageClass", name)
    changed = [key for key in _IMMUTABLE if live and live.get(key) != wanted.get(key)]
    if changed:
        return false(
            STORAGE_READY,
            Reason.STORAGE_CLASS_IMMUTABLE,
            f"StorageClass {name} differs in {', '.join(changed)}, which Kubernetes does not let change: delete the "
            "class, and kvtier makes it again; claims that exist keep their volume",
        )
    return None


def _mismatch(wanted: Manifest, claim: Object | None) -> Condition | None:
    """Why the claim is not the one that the spec describes, or None."""
    name = wanted["metadata"]["name"]
    if claim and not claims.going(claim) and claim["spec"].get("storageClassName") != name:
        return false(
            STORAGE_READY,
            Reason.CLAIM_MISMATCH,
            f"claim {claim['metadata']['name']} was made for StorageClass {claim['spec'].get('storageClassName')}, "
            f"the spec describes {name} (another tier, zone, network or filesystem): restore the spec, or delete the "
            "claim if its data may go",
        )
    return None


def _blocked(refused: list[Condition]) -> Condition:
    reasons = ", ".join(f"{condition.type} is {condition.status}" for condition in refused)
    return false(STORAGE_READY, Reason.PREREQUISITES_NOT_MET, f"nothing is created while {reasons}")
