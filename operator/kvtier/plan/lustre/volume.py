"""The volume that names an instance, and the claim that is reserved for it."""

from dataclasses import replace

from kvtier.api.conditions import STORAGE_READY, Condition, false, true
from kvtier.api.names import ANNOTATION_PROVISIONER, LUSTRE_DRIVER
from kvtier.api.quantities import canonical, gib
from kvtier.api.reasons import Reason
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
    """Volume and claim of an instance that is known.

    Nothing is made while a prerequisite does not hold or the instance cannot be used. What was made stays,
    whatever becomes of what is known: a tier that is mounted is not unmounted.
    """
    lustre, refused = context.lustre, blockers(checks, STORAGE, context.pool.spec.strict)
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
        # A process that has just begun: what was true before is so until the Lustre API has answered.
        return replace(part, conditions=(before,), tiers=(lustre.status,))
    state = differing or _state(view, lustre, refused)
    return replace(part, conditions=(state.condition,), tiers=(_tier(view, spec, lustre, state.phase),))


def _manifests(
    pool: KVCachePool, spec: LustreTier, source: Source, lustre: LustreView
) -> tuple[Manifest, ...]:
    """Volume and claim as they should be. The volume's size follows the instance, the claim's cannot."""
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
    # No ownerReference: the claim is the data, and only deletionPolicy may decide about it.
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
    """`wanted`, with what its binding needs; nothing while Kubernetes has it in hand.

    Case 1: the claim is Lost -> the volume is given back to just this claim.
    Case 2: the volume is Released -> the claim that is gone is taken out of it, for its namesake that is there.
    A volume that exists is written only as it was seen: taking the claim out of one that is bound loses the claim.
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
    """Why live objects cannot become what is wanted, or None: what they are about cannot change."""
    claim, live, name = lustre.claim, lustre.volume, lustre.volume_name
    if claim and claim.volume != name:
        said = (
            f"claim {claim.name} was not made for PersistentVolume {name}, but for "
            f"{claim.volume or claim.storage_class or 'another one'}: delete the claim if its data may go, or make the "
            "pool under another name"
        )
        return StorageState(false(STORAGE_READY, Reason.CLAIM_MISMATCH, said), "Failed")
    differing = _differing(source, live.volume) if source and live and live.volume else []
    if not differing:
        return None
    said = (
        f"PersistentVolume {name} differs from the instance in {', '.join(differing)}, which Kubernetes does not let "
        f"change: delete claim {lustre.claim_name} and the volume, and kvtier makes them again; the data stays in the "
        "instance"
    )
    return StorageState(false(STORAGE_READY, Reason.VOLUME_MISMATCH, said), "Failed")


def _differing(source: Source, live: Volume) -> list[str]:
    """The fields of the live volume that are about something else."""
    parts = {
        "volumeHandle": (source.handle, live.handle),
        "driver": (LUSTRE_DRIVER, live.driver),
        "ip": (source.address, live.address),
        "filesystem": (source.filesystem, live.filesystem),
        "nodeAffinity": (source.zone, live.zone),
    }
    return [field for field, (want, has) in parts.items() if want != has]


def _state(view: InstanceView, lustre: LustreView, refused: list[Condition]) -> StorageState:
    """The first of: how the bound claim is, what is wrong with the instance, what it waits for."""
    claim = lustre.claim
    if claim and claim.bound:
        return _bound(view, claim, lustre.unseen)
    if view.problem:
        return view.problem
    if claim is None and refused:
        return StorageState(nothing_created(refused), "Waiting")
    return _unbound(claim, lustre.holders)


def _bound(view: InstanceView, claim: Claim, unseen: str | None) -> StorageState:
    """An instance that is not seen is taken to be well: its Pods show best whether it is."""
    if view.source is None and unseen:
        said = f"claim {claim.name} is bound to {gib(claim.capacity)}; how the instance is cannot be seen"
        return StorageState(true(STORAGE_READY, Reason.BOUND, f"{said}: {unseen}"), "Bound")
    if view.problem:
        known = view.problem.condition.status != "Unknown"
        return view.problem if known else StorageState(view.problem.condition, "Bound")
    if view.change:
        return view.change
    size = view.source.capacity if view.source else claim.capacity
    said = f"claim {claim.name} is bound to {gib(size)}"
    return StorageState(true(STORAGE_READY, Reason.BOUND, said), "Bound")


def _unbound(claim: Claim | None, holders: tuple[str, ...]) -> StorageState:
    if claim is None:
        said = "volume and claim are being made"
        return StorageState(false(STORAGE_READY, Reason.CREATING, said), "Provisioning")
    if claim.deleting:
        using = f": {', '.join(holders)}" if holders else ""
        said = f"claim {claim.name} was deleted and goes when no Pod uses it any more{using}"
        return StorageState(false(STORAGE_READY, Reason.CLAIM_DELETED, said), "Failed")
    if claim.phase == "Lost":
        said = f"the volume of claim {claim.name} is gone, and is made again"
        return StorageState(false(STORAGE_READY, Reason.VOLUME_LOST, said), "Failed")
    said = f"claim {claim.name} waits to be bound to its volume"
    return StorageState(false(STORAGE_READY, Reason.CREATING, said), "Provisioning")


def _tier(view: InstanceView, spec: LustreTier, lustre: LustreView, phase: str) -> TierStatus:
    """The size of an instance that kvtier made counts once it is bound: one that was found again may be larger."""
    size = view.source.capacity if view.source else _provisioned(lustre)
    counts = spec.provisioner == "Existing" or (lustre.claim is not None and lustre.claim.phase == "Bound")
    # The status must remember an instance that exists, or that was asked for.
    there = lustre.instance or lustre.volume or lustre.operations.recorded.get("Create")
    return TierStatus(
        name="lustre",
        phase=phase,
        capacity=gib(size) if size and counts else None,
        instance=lustre.instance_name if there or view.part.operations or spec.instance else None,
    )


def _provisioned(lustre: LustreView) -> int:
    """Bytes of an instance that is not seen, as its volume says."""
    volume = lustre.volume.volume if lustre.volume else None
    return volume.capacity if volume and volume.capacity else lustre.claim.capacity if lustre.claim else 0
