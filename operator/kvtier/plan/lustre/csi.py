"""A shared tier whose instance the CSI driver makes: its StorageClass, its claim, and what the status says of them.

A volume that has outlived its claim is bound again, so that a pool that comes back finds its data.
"""

from collections.abc import Iterable

from kvtier.api import names
from kvtier.api.conditions import STORAGE_READY, Condition, false
from kvtier.api.identity import instance_id, storage_class_parameters
from kvtier.api.quantities import canonical, gib
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool, LustreTier, TierStatus
from kvtier.checks import STORAGE, Checks, blockers
from kvtier.context import Context, LustreView
from kvtier.facts.children import Claim, StorageClass, fixed_fields
from kvtier.facts.volumes import Volume
from kvtier.pace import Pace
from kvtier.plan.children import child
from kvtier.plan.events import PoolEvent
from kvtier.plan.lustre import provisioning, resize
from kvtier.plan.lustre.instance import StorageState, nothing_created, verdict
from kvtier.plan.lustre.provisioning import Provisioning
from kvtier.plan.model import Manifest, Part, Ref

_LONG_SECONDS = 3600.0
"""From this age on, little happens to a claim that is not bound yet."""

_NAMED_HOLDERS = 5


def plan_csi(context: Context, spec: LustreTier, checks: Checks) -> Part:
    """Class and claim of the tier.

    Case 1: the claim has failed for good -> it is deleted, and the next one is made when it is gone.
    Case 2: the live class or claim cannot become what the spec describes -> nothing is written.
    Case 3: a prerequisite does not hold -> nothing is made, and a claim that is there is left as it is.
    Case 4: else -> both are written.
    """
    pool, lustre, claim = context.pool, context.lustre, context.lustre.claim
    wanted_class = _storage_class(pool, spec, lustre.class_name)
    waiting = _waiting(lustre, context.now)
    refused = blockers(checks, STORAGE, pool.spec.strict)
    immutable = _immutable(wanted_class, context.children.storage_class(lustre.class_name))
    if waiting and not immutable and not refused:
        because = provisioning.replacement(waiting, spec, lustre.class_name)
        if because:
            return _replaced(lustre, wanted_class, waiting.claim, because, context.pace)
    problem = immutable or _mismatch(lustre)
    if problem:
        # The driver's Events may yet allow to replace a claim that never had a volume.
        again = context.pace.waiting if claim and not claim.volume else None
        return Part((), (problem,), (_tier(lustre, "Failed"),), again=again)
    if claim is None and refused:
        return Part((), (nothing_created(refused),), (_tier(lustre, "Waiting"),))
    writes = () if refused else _writes(pool, spec, lustre, wanted_class)
    condition, phase = _state(lustre, spec.size, waiting, context.now)
    again = _again(claim, spec.size, waiting, context.pace)
    return Part(writes, (condition,), (_tier(lustre, phase),), again=again)


def _waiting(lustre: LustreView, now: str) -> Provisioning | None:
    """The claim while it waits for a volume."""
    claim = lustre.claim
    if claim is None or claim.phase in ("Bound", "Lost"):
        return None
    return provisioning.derive(lustre, claim, now)


def _storage_class(pool: KVCachePool, spec: LustreTier, name: str) -> Manifest:
    return child(
        "storageclass",
        pool,
        name,
        **storage_class_parameters(pool, spec),
        instance_labels=f"kvtier-pool={instance_id(pool)}",
        description=f"KV cache of {pool.namespace}/{pool.name}, made by kvtier",
    )


def _immutable(wanted: Manifest, live: StorageClass | None) -> Condition | None:
    """Why the live class cannot become the one that the spec describes, or None."""
    if live is None:
        return None
    differing = [field for field, value in fixed_fields(wanted).items() if live.fixed[field] != value]
    if not differing:
        return None
    return false(
        STORAGE_READY,
        Reason.STORAGE_CLASS_IMMUTABLE,
        f"StorageClass {live.name} differs in {', '.join(differing)}, which Kubernetes does not let change: delete the "
        "class, and kvtier makes it again; claims that exist keep their volume",
    )


def _mismatch(lustre: LustreView) -> Condition | None:
    """Why the claim is not the one that the spec describes, or None."""
    claim = lustre.claim
    if claim is None or claim.deleting or lustre.described:
        return None
    return false(
        STORAGE_READY,
        Reason.CLAIM_MISMATCH,
        f"claim {claim.name} was made for StorageClass {claim.storage_class}, the spec describes {lustre.class_name} "
        "(another tier, zone, network or filesystem): restore the spec, or delete the claim if its data may go",
    )


def _replaced(lustre: LustreView, wanted_class: Manifest, claim: Claim, because: str, pace: Pace) -> Part:
    """The claim's deletion. It gets one Event, though it may be planned again until it shows."""
    message = f"claim {claim.name} is made anew, because {because}"
    event = PoolEvent("Normal", "ClaimReplaced", f"{message}; nothing was stored")
    return Part(
        applies=(wanted_class,),
        deletes=(Ref("PersistentVolumeClaim", claim.name, claim.uid),),
        conditions=(false(STORAGE_READY, Reason.REPLACING, message),),
        tiers=(_tier(lustre, "Provisioning", replaced=True),),
        events=() if _replacing(lustre.reported) else (event,),
        again=pace.moving,
    )


def _writes(
    pool: KVCachePool, spec: LustreTier, lustre: LustreView, wanted_class: Manifest
) -> tuple[Manifest, ...]:
    """Class and claim, and what lets the claim's volume be bound.

    A volume is freed only for a claim that is there: the driver deletes none that is free, and in a namespace
    that goes no claim can be made any more.
    """
    claim = lustre.claim
    if claim is None:
        outlived = _outlived(lustre.volumes, lustre.class_name)
        name, size = (outlived.name, outlived.capacity) if outlived else ("", spec.size)
        return (wanted_class, _claim(pool, lustre.class_name, name, size))
    if claim.deleting:
        return (wanted_class,)
    name = "" if claim.chosen_by_controller else claim.volume
    freed = (_freed(one) for one in lustre.volumes if one.name == name and _held_by_gone_claim(one))
    return (*freed, wanted_class, _claim(pool, lustre.class_name, name, _request(claim, spec.size)))


def _claim(pool: KVCachePool, class_name: str, volume: str, size: int) -> Manifest:
    """The claim, made for a volume, or for one that the driver is to make where its name is empty."""
    # No ownerReference: the claim is the data, and only deletionPolicy may decide about it.
    return child(
        "persistentvolumeclaim",
        pool,
        names.claim(pool.name),
        storage_class=class_name,
        volume=volume,
        capacity=canonical(size),
    )


def _request(claim: Claim, want: int) -> int:
    """Bytes that a claim which is there should ask for.

    Kubernetes refuses every change of a claim that is not bound, and a request at or below what a bound
    one has. A growth that is taken back in the spec therefore stays requested until another size above
    the present one replaces it. A volume that was there before its claim grows once it is bound.
    """
    if claim.requested and not claim.capacity:
        return claim.requested
    return want if want > claim.capacity else max(want, claim.requested)


def _outlived(volumes: Iterable[Volume], class_name: str) -> Volume | None:
    """The volume that the driver once made for just this claim, from just this class; None where there is none.

    Of several, of which only one can be bound, the largest. One whose reclaim policy is Delete is about to go.
    """
    ours = [one for one in volumes if one.storage_class == class_name and _unclaimed(one)]
    return min(ours, key=lambda one: (-one.capacity, one.name), default=None)


def _unclaimed(volume: Volume) -> bool:
    nobody = volume.phase == "Released" or (volume.phase == "Available" and not volume.claim_uid)
    return nobody and not volume.deleting and volume.reclaim != "Delete"


def _held_by_gone_claim(volume: Volume) -> bool:
    return volume.phase == "Released" and bool(volume.claim_uid)


def _freed(volume: Volume) -> Manifest:
    """What lets a Released volume be bound again by a claim of the same name.

    It is written only as it was seen: taking the claim's identity from a volume that is bound would make the claim
    Lost.
    """
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": volume.name, "uid": volume.uid, "resourceVersion": volume.version},
        "spec": {"claimRef": {"uid": "", "resourceVersion": ""}},
    }


def _state(lustre: LustreView, want: int, waiting: Provisioning | None, now: str) -> StorageState:
    """The claim as it is, that is to have `want` bytes. One that is being deleted says so first."""
    claim = lustre.claim
    if claim is None:
        return StorageState(false(STORAGE_READY, Reason.CREATING, "the claim is being made"), "Waiting")
    if waiting:
        phase = "Failed" if waiting.failed else "Provisioning"
        state = StorageState(provisioning.storage_ready(waiting), phase)
    elif claim.phase == "Lost":
        said = f"the volume of claim {claim.name} is gone: restore it or delete the claim"
        state = StorageState(false(STORAGE_READY, Reason.VOLUME_LOST, said), "Failed")
    else:
        unusable = verdict(lustre.instance) if lustre.instance else None
        condition = unusable or resize.bound(claim, want, lustre.claim_events, now)
        state = StorageState(condition, "Resizing" if resize.growing(claim, want) else "Bound")
    return StorageState(_deleted(claim, lustre.holders), state.phase) if claim.deleting else state


def _deleted(claim: Claim, holders: tuple[str, ...]) -> Condition:
    if not claim.volume:
        said = f"claim {claim.name} is made anew when the old one is gone"
        return false(STORAGE_READY, Reason.REPLACING, said)
    named, more = ", ".join(holders[:_NAMED_HOLDERS]), len(holders) - _NAMED_HOLDERS
    using = f": {named}{f' and {more} more' if more > 0 else ''}" if holders else ""
    said = f"claim {claim.name} was deleted and goes when no Pod uses it any more{using}"
    return false(STORAGE_READY, Reason.CLAIM_DELETED, said)


def _again(claim: Claim | None, want: int, waiting: Provisioning | None, pace: Pace) -> float | None:
    """Seconds until Events, which are not watched, are read again; None where there are none to expect."""
    if claim and (claim.deleting or resize.growing(claim, want)):
        return pace.waiting
    if waiting is None:
        return None
    if waiting.age < pace.young:
        return pace.young
    return pace.moving if waiting.age < _LONG_SECONDS else pace.waiting


def _tier(lustre: LustreView, phase: str, replaced: bool = False) -> TierStatus:
    """`attempts` counts a claim when its successor is decided on, whether that or its deletion shows first."""
    claim, tries = lustre.claim, provisioning.attempts(lustre)
    given_up = replaced or (claim is not None and claim.deleting and not claim.volume)
    if given_up and not _replacing(lustre.reported):
        tries += 1
    bound = claim is not None and claim.phase == "Bound"
    return TierStatus(
        name="lustre",
        phase=phase,
        capacity=gib(claim.capacity) if claim and claim.capacity else None,
        instance=lustre.instance_name,
        attempts=None if tries == 1 or bound else tries,
    )


def _replacing(reported: Condition | None) -> bool:
    """Whether the status says already that the claim is replaced."""
    return reported is not None and reported.reason == Reason.REPLACING
