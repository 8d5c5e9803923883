"""A shared tier whose instance the CSI driver creates: its StorageClass, its PVC, and their status.

kvtier binds a PersistentVolume again after its PVC was deleted, so that a recreated pool finds its data.
"""

from collections.abc import Iterable

from kvtier.api import names
from kvtier.api.conditions import STORAGE_READY, Condition, false
from kvtier.api.identity import instance_id, storage_class_parameters
from kvtier.api.quantities import canonical, gib
from kvtier.api.reasons import Reason
from kvtier.api.sentences import sentences
from kvtier.api.v1alpha1 import KVCachePool, LustreTier, TierStatus
from kvtier.api.v1alpha1.pool import Cluster
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
"""From this age on, an unbound PVC changes seldom."""

_NAMED_HOLDERS = 5


def plan_csi(context: Context, spec: LustreTier, checks: Checks) -> Part:
    """StorageClass and PVC of the tier.

    Case 1: the PVC cannot succeed -> delete it. A later plan creates the next PVC after the deletion completes.
    Case 2: the live class or PVC cannot become what the spec describes -> write nothing.
    Case 3: a prerequisite is not met -> create nothing, and leave an existing PVC as it is.
    Case 4: otherwise -> write both.
    """
    pool, lustre, claim = context.pool, context.lustre, context.lustre.claim
    wanted_class = _storage_class(pool, spec, lustre.class_name)
    waiting = _waiting(lustre, context.now)
    refused = blockers(checks, STORAGE, pool.spec)
    immutable = _immutable(wanted_class, context.children.storage_class(lustre.class_name))
    if waiting and lustre.claim_owned and not immutable and not refused:
        because = provisioning.replacement(waiting, spec, lustre.class_name)
        if because:
            return _replaced(lustre, wanted_class, waiting.claim, because, context.pace)
    problem = immutable or _mismatch(lustre)
    if problem:
        # Later Events of the driver may allow kvtier to recreate a PVC that never had a PersistentVolume.
        again = context.pace.waiting if claim and not claim.volume else None
        return Part((), (problem,), (_tier(lustre, "Failed"),), again=again)
    if claim is None and refused:
        return Part((), (nothing_created(refused),), (_tier(lustre, "Waiting"),))
    writes = () if refused else _writes(pool, spec, lustre, wanted_class)
    condition, phase = _state(lustre, spec.size, waiting, pool.spec.cluster, context.now)
    again = _again(claim, spec.size, waiting, context.pace)
    return Part(writes, (condition,), (_tier(lustre, phase),), again=again)


def _waiting(lustre: LustreView, now: str) -> Provisioning | None:
    """The PVC while it waits for a PersistentVolume."""
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
    """Why the live StorageClass cannot become the one that the spec describes, or None."""
    if live is None:
        return None
    differing = [field for field, value in fixed_fields(wanted).items() if live.fixed[field] != value]
    if not differing:
        return None
    return false(
        STORAGE_READY,
        Reason.STORAGE_CLASS_IMMUTABLE,
        f"StorageClass {live.name} differs from the spec in immutable fields: {', '.join(differing)}. Delete "
        "it, and kvtier recreates it (existing PVCs keep their PersistentVolumes): "
        f"kubectl delete storageclass {live.name}",
    )


def _mismatch(lustre: LustreView) -> Condition | None:
    """Why the PVC is not the one that the spec describes, or None."""
    claim = lustre.claim
    if claim is None or claim.deleting or lustre.described:
        return None
    return false(
        STORAGE_READY,
        Reason.CLAIM_MISMATCH,
        f"PVC {claim.name} has StorageClass {claim.storage_class}, but this pool needs {lustre.class_name} (another "
        "throughputPerTiB, zone, network or filesystem). Recreate the pool with the values of the PVC, or delete the "
        "PVC if its data is not needed: "
        f"kubectl -n {claim.namespace} delete pvc {claim.name}",
    )


def _replaced(lustre: LustreView, wanted_class: Manifest, claim: Claim, because: str, pace: Pace) -> Part:
    """Delete the PVC. There is one Event, although the plan repeats until the deletion is visible."""
    message = sentences(f"kvtier recreates PVC {claim.name}, because {because}")
    event = PoolEvent("Normal", "ClaimReplaced", sentences(message, "The old PVC held no data"))
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
    """StorageClass and PVC, and a PersistentVolume that is freed for the PVC.

    A PersistentVolume is freed only for a PVC that exists. The driver never deletes a free one, and a namespace that
    is being deleted accepts no new PVC.
    """
    claim = lustre.claim
    if claim is None:
        kept = _kept_volume(lustre.provisioned, lustre.class_name)
        name, size = (kept.name, kept.capacity) if kept else ("", spec.size)
        return (wanted_class, _claim(pool, lustre.class_name, name, size))
    if claim.deleting:
        return (wanted_class,)
    name = "" if claim.chosen_by_controller else claim.volume
    freed = (_freed(one) for one in lustre.provisioned if one.name == name and _held_by_deleted_claim(one))
    return (*freed, wanted_class, _claim(pool, lustre.class_name, name, _request(claim, spec.size)))


def _claim(pool: KVCachePool, class_name: str, volume: str, size: int) -> Manifest:
    """The PVC for a PersistentVolume; with an empty name, the driver creates one."""
    # No ownerReference: only deletionPolicy decides whether the PVC, and with it the data, is deleted.
    return child(
        "persistentvolumeclaim",
        pool,
        names.claim(pool.name),
        storage_class=class_name,
        volume=volume,
        capacity=canonical(size),
    )


def _request(claim: Claim, want: int) -> int:
    """Bytes that an existing PVC should request.

    Kubernetes refuses every change to an unbound PVC, and a request at or below the capacity of a bound one. So a
    resize that was cancelled in the spec stays requested until the spec has another size above the capacity. A
    PersistentVolume that is older than its PVC is resized after the PVC is bound.
    """
    if claim.requested and not claim.capacity:
        return claim.requested
    return want if want > claim.capacity else max(want, claim.requested)


def _kept_volume(volumes: Iterable[Volume], class_name: str) -> Volume | None:
    """The PersistentVolume that the driver created for an earlier PVC of this name and class, or None.

    If there are several, the largest one. One with reclaim policy Delete does not count: it will be deleted.
    """
    ours = [one for one in volumes if one.storage_class == class_name and _unclaimed(one)]
    return min(ours, key=lambda one: (-one.capacity, one.name), default=None)


def _unclaimed(volume: Volume) -> bool:
    nobody = volume.phase == "Released" or (volume.phase == "Available" and not volume.claim_uid)
    return nobody and not volume.deleting and volume.reclaim != "Delete"


def _held_by_deleted_claim(volume: Volume) -> bool:
    return volume.phase == "Released" and bool(volume.claim_uid)


def _freed(volume: Volume) -> Manifest:
    """The patch after which a PVC of the same name can bind a Released PersistentVolume.

    It has the resourceVersion that kvtier read. If the PersistentVolume has been bound since, the write fails: without
    the identity of its PVC in a bound PersistentVolume, the PVC would become Lost.
    """
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": volume.name, "uid": volume.uid, "resourceVersion": volume.version},
        "spec": {"claimRef": {"uid": "", "resourceVersion": ""}},
    }


def _state(
    lustre: LustreView, want: int, waiting: Provisioning | None, cluster: Cluster | None, now: str
) -> StorageState:
    """The state of the PVC, which should have `want` bytes. The deletion of the PVC is reported first."""
    claim = lustre.claim
    if claim is None:
        text = f"PVC {lustre.claim_name} is being created."
        return StorageState(false(STORAGE_READY, Reason.CREATING, text), "Waiting")
    if waiting:
        phase = "Failed" if waiting.failed else "Provisioning"
        state = StorageState(provisioning.storage_ready(waiting, cluster), phase)
    elif claim.phase == "Lost":
        text = (
            f"The PersistentVolume of PVC {claim.name} does not exist. Recreate the PersistentVolume from a backup, or "
            f"delete the PVC to get a new, empty instance: kubectl -n {claim.namespace} delete pvc {claim.name}"
        )
        state = StorageState(false(STORAGE_READY, Reason.VOLUME_LOST, text), "Failed")
    else:
        unusable = verdict(lustre.instance) if lustre.instance else None
        condition = unusable or resize.bound(claim, want, lustre.claim_events, now)
        state = StorageState(condition, "Resizing" if resize.growing(claim, want) else "Bound")
    return StorageState(_deleted(claim, lustre.holders), state.phase) if claim.deleting else state


def _deleted(claim: Claim, holders: tuple[str, ...]) -> Condition:
    if not claim.volume:
        text = f"PVC {claim.name} will be recreated after the deletion completes."
        return false(STORAGE_READY, Reason.REPLACING, text)
    named, more = ", ".join(holders[:_NAMED_HOLDERS]), len(holders) - _NAMED_HOLDERS
    using = f"Pods that use it: {named}{f' and {more} more' if more > 0 else ''}" if holders else ""
    seen = f"PVC {claim.name} is being deleted. Kubernetes removes it when no Pod uses it"
    return false(STORAGE_READY, Reason.CLAIM_DELETED, sentences(seen, using))


def _again(claim: Claim | None, want: int, waiting: Provisioning | None, pace: Pace) -> float | None:
    """Seconds until kvtier reads the Events again, because it does not watch them; None if it expects none."""
    if claim and (claim.deleting or resize.growing(claim, want)):
        return pace.waiting
    if waiting is None:
        return None
    if waiting.age < pace.young:
        return pace.young
    return pace.moving if waiting.age < _LONG_SECONDS else pace.waiting


def _tier(lustre: LustreView, phase: str, replaced: bool = False) -> TierStatus:
    """The status of the tier. `attempts` increases once, when kvtier decides to recreate the PVC."""
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
    """Whether the status already reports that the PVC is being recreated."""
    return reported is not None and reported.reason == Reason.REPLACING
