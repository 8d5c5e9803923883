"""The PersistentVolume of an instance, and the PVC that is bound to it."""

from dataclasses import replace

from kvtier.api.conditions import ACCESS_GRANTED, STORAGE_READY, Condition, false, true
from kvtier.api.names import ANNOTATION_PROVISIONER, LUSTRE_DRIVER
from kvtier.api.quantities import canonical, gib
from kvtier.api.reasons import Reason
from kvtier.api.sentences import sentences
from kvtier.api.v1alpha1 import KVCachePool, LustreTier, TierStatus
from kvtier.checks import STORAGE, Checks, blockers
from kvtier.context import Context, LustreView
from kvtier.facts.children import Claim, PersistentVolume
from kvtier.facts.volumes import Volume
from kvtier.plan.children import child
from kvtier.plan.lustre.api_instance import plan_instance
from kvtier.plan.lustre.existing import existing
from kvtier.plan.lustre.instance import InstanceView, Source, StorageState, nothing_created
from kvtier.plan.model import Manifest, Part


def plan_static(context: Context, spec: LustreTier, checks: Checks) -> Part:
    """PersistentVolume and PVC of an instance that exists or that kvtier creates through the Lustre API.

    kvtier creates neither while a prerequisite is not met or the instance cannot be used. It keeps both even if the
    instance fails or becomes unknown, so that a mounted tier is not unmounted.
    """
    lustre, refused = context.lustre, blockers(checks, STORAGE, context.pool.spec)
    if spec.provisioner == "API":
        view = plan_instance(context, spec, checks, blocked=bool(refused))
    else:
        view = existing(spec, lustre, context.pace)
    differing = _mismatch(lustre, view.source)
    usable = view.source if view.problem is None or lustre.claim else None
    made = _manifests(context.pool, spec, usable, lustre) if usable and not (differing or refused) else ()
    part = replace(view.part, applies=made)
    before = lustre.reported
    if lustre.pending and before and before.status == "True" and lustre.status and not differing:
        # After a start of the operator, the last status stays until the Lustre API has returned the instance.
        return replace(part, conditions=(before,), tiers=(lustre.status,))
    state = differing or _state(view, lustre, refused)
    return replace(part, conditions=(state.condition,), tiers=(_tier(view, spec, lustre, state.phase),))


def _manifests(
    pool: KVCachePool, spec: LustreTier, source: Source, lustre: LustreView
) -> tuple[Manifest, ...]:
    """PersistentVolume and PVC to apply. The PersistentVolume has the size of the instance; the PVC keeps its own."""
    claim = lustre.claim
    volume = child(
        "persistentvolume",
        pool,
        lustre.volume_name,
        marks={ANNOTATION_PROVISIONER: spec.provisioner},
        claim=lustre.claim_name,
        capacity=canonical(source.capacity),
        handle=source.handle,
        address=source.address,
        filesystem=source.filesystem,
        zone=source.zone,
    )
    if claim:
        volume = _reserved(volume, claim, lustre.volume)
    # No ownerReference: the PVC keeps the data, and only deletionPolicy may decide about it.
    wanted_claim = child(
        "persistentvolumeclaim",
        pool,
        lustre.claim_name,
        storage_class="",
        volume=lustre.volume_name,
        capacity=canonical((claim.requested if claim else 0) or source.capacity),
    )
    return (volume,) if claim and claim.deleting else (volume, wanted_claim)


def _reserved(wanted: Manifest, claim: Claim, live: PersistentVolume | None) -> Manifest:
    """`wanted`, with a claimRef if the PVC lost its PersistentVolume or was recreated, so that both are bound again.

    Case 1: the PVC is Lost -> the claimRef gets the UID of this PVC.
    Case 2: the PersistentVolume is Released -> the UID of the deleted PVC is removed, so that the new PVC can be bound.
    Both are written with the resourceVersion that was read. If the UID were removed from a PersistentVolume that was
    bound meanwhile, its PVC would become Lost.
    """
    volume = live.volume if live else None
    if claim.phase == "Lost":
        given = {"uid": claim.uid}
    elif volume and volume.phase == "Released":
        given = {"uid": "", "resourceVersion": ""}
    else:
        return wanted
    if claim.deleting or given["uid"] == (volume.claim_uid if volume else ""):
        return wanted
    seen = {"uid": live.uid, "resourceVersion": live.version} if live else {}
    reference = {"namespace": claim.namespace, "name": claim.name, **given}
    return {
        **wanted,
        "metadata": {**wanted["metadata"], **seen},
        "spec": {**wanted["spec"], "claimRef": reference},
    }


def _mismatch(lustre: LustreView, source: Source | None) -> StorageState | None:
    """StorageReady if the live PVC or PersistentVolume differs in an immutable field, else None."""
    claim, live, name = lustre.claim, lustre.volume, lustre.volume_name
    if claim and claim.volume != name:
        used = f"PersistentVolume {claim.volume}" if claim.volume else f"StorageClass '{claim.storage_class}'"
        text = sentences(
            f"PVC {claim.name} exists and uses {used}, not PersistentVolume {name}",
            "Recreate the pool with another name, or delete the PVC if its data is not needed: "
            f"kubectl -n {claim.namespace} delete pvc {claim.name}",
        )
        return StorageState(false(STORAGE_READY, Reason.CLAIM_MISMATCH, text), "Failed")
    differing = _differing(source, live.volume) if source and live and live.volume else []
    if not differing:
        return None
    text = sentences(
        f"PersistentVolume {name} differs from the Lustre instance in {', '.join(differing)}, which is immutable",
        f"Delete PVC {lustre.claim_name} and the PersistentVolume. kvtier recreates both, and the instance keeps its "
        "data",
    )
    return StorageState(false(STORAGE_READY, Reason.VOLUME_MISMATCH, text), "Failed")


def _differing(source: Source, live: Volume) -> list[str]:
    """The fields of the live PersistentVolume that differ from the instance."""
    parts = {
        "volumeHandle": (source.handle, live.handle),
        "driver": (LUSTRE_DRIVER, live.driver),
        "ip": (source.address, live.address),
        "filesystem": (source.filesystem, live.filesystem),
        "nodeAffinity": (source.zone, live.zone),
    }
    return [field for field, (want, has) in parts.items() if want != has]


def _state(view: InstanceView, lustre: LustreView, refused: list[Condition]) -> StorageState:
    """The state of a bound PVC first, then a problem of the instance, then why the PVC is not bound.

    Nothing is said about an instance that the pool may not use.
    """
    claim = lustre.claim
    if claim and claim.bound:
        return _bound(view, claim, lustre.unseen)
    if claim is None and any(one.type == ACCESS_GRANTED for one in refused):
        return StorageState(nothing_created(refused), "Waiting")
    if view.problem:
        return view.problem
    if claim is None and refused:
        return StorageState(nothing_created(refused), "Waiting")
    return _unbound(claim, lustre.holders)


def _bound(view: InstanceView, claim: Claim, unseen: str | None) -> StorageState:
    """An instance that could not be read counts as usable: failing Pods would show that it is not."""
    if view.source is None and unseen:
        text = sentences(
            f"PVC {claim.name} is bound to {gib(claim.capacity)}",
            "The state of its Lustre instance is unknown",
            unseen,
        )
        return StorageState(true(STORAGE_READY, Reason.BOUND, text), "Bound")
    if view.problem:
        known = view.problem.condition.status != "Unknown"
        return view.problem if known else StorageState(view.problem.condition, "Bound")
    if view.change:
        return view.change
    size = view.source.capacity if view.source else claim.capacity
    text = f"PVC {claim.name} is bound to {gib(size)}."
    return StorageState(true(STORAGE_READY, Reason.BOUND, text), "Bound")


def _unbound(claim: Claim | None, holders: tuple[str, ...]) -> StorageState:
    if claim is None:
        text = "The PVC and the PersistentVolume are being created."
        return StorageState(false(STORAGE_READY, Reason.CREATING, text), "Provisioning")
    if claim.deleting:
        users = f"Pods that use it: {', '.join(holders)}" if holders else ""
        seen = f"PVC {claim.name} is being deleted. Kubernetes removes it when no Pod uses it"
        text = sentences(seen, users)
        return StorageState(false(STORAGE_READY, Reason.CLAIM_DELETED, text), "Failed")
    if claim.phase == "Lost":
        text = f"The PersistentVolume of PVC {claim.name} was deleted. kvtier recreates the PersistentVolume."
        return StorageState(false(STORAGE_READY, Reason.VOLUME_LOST, text), "Failed")
    text = f"PVC {claim.name} waits to be bound to its PersistentVolume."
    return StorageState(false(STORAGE_READY, Reason.CREATING, text), "Provisioning")


def _tier(view: InstanceView, spec: LustreTier, lustre: LustreView, phase: str) -> TierStatus:
    """The Lustre tier for the status.

    The size of an instance that kvtier created is reported once its PVC is bound: an instance that already existed may
    be larger than the spec.
    """
    size = view.source.capacity if view.source else _provisioned(lustre)
    counts = spec.provisioner == "Existing" or (lustre.claim is not None and lustre.claim.phase == "Bound")
    # The status must keep the name of an instance that exists, or whose creation was requested.
    there = lustre.instance or lustre.volume or lustre.operations.recorded.get("Create")
    return TierStatus(
        name="lustre",
        phase=phase,
        capacity=gib(size) if size and counts else None,
        instance=lustre.instance_name if there or view.part.operations or spec.instance else None,
    )


def _provisioned(lustre: LustreView) -> int:
    """Bytes of an instance that could not be read: from its PersistentVolume, or from the PVC."""
    volume = lustre.volume.volume if lustre.volume else None
    return volume.capacity if volume and volume.capacity else lustre.claim.capacity if lustre.claim else 0
