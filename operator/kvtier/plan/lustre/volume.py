"""The volume that names an instance, and the claim that is reserved for it."""

from dataclasses import replace
from typing import Any

from kvtier.api import quantities
from kvtier.api.conditions import STORAGE_READY, Condition, false, true
from kvtier.api.kinds import Object
from kvtier.api.names import ANNOTATION_PROVISIONER
from kvtier.api.quantities import canonical, gib
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool, LustreTier, TierStatus
from kvtier.facts.model import Observed
from kvtier.plan.children import child, claim_name
from kvtier.plan.gates import STORAGE, blockers, nothing_created
from kvtier.plan.lustre import claims
from kvtier.plan.lustre.api_instance import plan_instance
from kvtier.plan.lustre.existing import PENDING, Known, Source, existing
from kvtier.plan.lustre.identity import instance_name, volume_name
from kvtier.plan.lustre.operations import last
from kvtier.plan.model import Checks, Manifest, Part


def manifests(
    pool: KVCachePool, lustre: LustreTier, source: Source, claim: Object | None, volume: Object | None
) -> tuple[Manifest, ...]:
    """Volume and claim as they should be. The volume's size follows the instance, the claim's cannot."""
    wanted = _reserved(_volume(pool, lustre, source), claim, volume)
    # No ownerReference: the claim is the data, and only deletionPolicy may decide about it.
    wanted_claim = child(
        "persistentvolumeclaim",
        pool,
        claim_name(pool),
        storage_class="",
        volume=volume_name(pool),
        capacity=canonical(claims.requested(claim) or source.capacity),
    )
    return (wanted,) if claim and claims.going(claim) else (wanted, wanted_claim)


def mismatch(
    pool: KVCachePool, lustre: LustreTier, source: Source | None, claim: Object | None, volume: Object | None
) -> Condition | None:
    """Why live objects cannot become what is wanted, or None: what they are about cannot change."""
    name = claim_name(pool)
    if claim and (claim["spec"].get("volumeName") or "") != volume_name(pool):
        return false(
            STORAGE_READY,
            Reason.CLAIM_MISMATCH,
            f"claim {name} was not made for PersistentVolume {volume_name(pool)}, but for "
            f"{claim['spec'].get('volumeName') or claim['spec'].get('storageClassName') or 'another one'}: delete "
            "the claim if its data may go, or make the pool under another name",
        )
    differing = _differing(_volume(pool, lustre, source), volume) if source and volume else []
    if not differing:
        return None
    return false(
        STORAGE_READY,
        Reason.VOLUME_MISMATCH,
        f"PersistentVolume {volume_name(pool)} differs from the instance in {', '.join(differing)}, which Kubernetes "
        f"does not let change: delete claim {name} and the volume, and kvtier makes them again; the data stays in the "
        "instance",
    )


def _volume(pool: KVCachePool, lustre: LustreTier, source: Source) -> Manifest:
    return child(
        "persistentvolume",
        pool,
        volume_name(pool),
        marks={ANNOTATION_PROVISIONER: lustre.provisioner},
        claim=claim_name(pool),
        capacity=canonical(source.capacity),
        handle=source.handle,
        address=source.address,
        filesystem=source.filesystem,
        zone=source.zone,
    )


def _differing(wanted: Manifest, live: Object) -> list[str]:
    mine, theirs = wanted["spec"], live["spec"]
    source, theirs_source = mine["csi"], theirs.get("csi") or {}
    parts = {
        "volumeHandle": (source["volumeHandle"], theirs_source.get("volumeHandle")),
        "driver": (source["driver"], theirs_source.get("driver")),
        **{
            key: (value, (theirs_source.get("volumeAttributes") or {}).get(key))
            for key, value in source["volumeAttributes"].items()
        },
        "nodeAffinity": (mine["nodeAffinity"], theirs.get("nodeAffinity")),
    }
    return [key for key, (want, has) in parts.items() if want != has]


def _reserved(wanted: Manifest, claim: Object | None, volume: Object | None) -> Manifest:
    """`wanted`, with what its binding needs; nothing while Kubernetes has it in hand.

    Case 1: the claim is Lost -> the volume is given back to just this claim.
    Case 2: the volume is Released -> the claim that is gone is taken out of it, for its namesake that is there.
    A volume that exists is written only as it was seen: taking the claim out of one that is bound loses the claim.
    """
    reserved: Any = (volume or {}).get("spec", {}).get("claimRef") or {}
    if claim is None or claims.going(claim):
        return wanted
    if claims.phase(claim) == "Lost":
        given = {"uid": claim["metadata"].get("uid", "")}
    elif volume and volume.get("status", {}).get("phase") == "Released":
        given = {"uid": "", "resourceVersion": ""}
    else:
        return wanted
    if reserved.get("uid", "") == given["uid"]:
        return wanted
    seen = {key: volume["metadata"][key] for key in ("uid", "resourceVersion")} if volume else {}
    return {
        **wanted,
        "metadata": {**wanted["metadata"], **seen},
        "spec": {**wanted["spec"], "claimRef": {**wanted["spec"]["claimRef"], **given}},
    }


_MAKING = (Reason.CREATING, Reason.PROVISIONING)
_WAITING = (Reason.PREREQUISITES_NOT_MET, Reason.WAITING, Reason.INSTANCE_UNKNOWN)


def plan_static(pool: KVCachePool, lustre: LustreTier, observed: Observed, checks: Checks, now: str) -> Part:
    """Volume and claim of an instance that is known.

    Nothing is made while a prerequisite does not hold or the instance cannot be used. What was made stays,
    whatever becomes of what is known: a tier that is mounted is not unmounted.
    """
    if lustre.provisioner == "API":
        known = plan_instance(pool, lustre, observed, checks, now)
    else:
        known = existing(lustre, observed.facts.lustre)
    claim = observed.child("PersistentVolumeClaim", claim_name(pool))
    live = observed.child("PersistentVolume", volume_name(pool))
    problem = mismatch(pool, lustre, known.source, claim, live)
    refused = blockers(checks, STORAGE, pool.spec.strict)
    usable = known.source if known.condition is None or claim else None
    applies = manifests(pool, lustre, usable, claim, live) if usable and not (problem or refused) else ()
    condition = problem or _unchanged(pool, known) or _condition(known, claim, observed, refused)
    tier = _tier(pool, known, claim, observed, condition)
    return replace(known.part, applies=applies, conditions=(condition,), tiers=(tier,))


def _unchanged(pool: KVCachePool, known: Known) -> Condition | None:
    """What was true before, while the Lustre API has not answered a process that has just begun."""
    before = next((one for one in pool.status.conditions if one.type == STORAGE_READY), None)
    return before if before and before.status == "True" and known.unseen == PENDING else None


def _condition(known: Known, claim: Object | None, observed: Observed, refused: list[Condition]) -> Condition:
    """The first of: how the bound claim is, what is wrong with the instance, what it waits for."""
    if claim and claims.phase(claim) == "Bound" and not claims.going(claim):
        return _bound(known, claim)
    if known.condition:
        return known.condition
    if claim is None and refused:
        return nothing_created(refused)
    return _unbound(claim, observed)


def _bound(known: Known, claim: Object) -> Condition:
    """An instance that is not seen is taken to be well: its Pods show best whether it is."""
    name = claim["metadata"]["name"]
    if known.source is None and known.unseen:
        said = f"claim {name} is bound to {gib(claims.capacity(claim))}; how the instance is cannot be seen"
        return true(STORAGE_READY, Reason.BOUND, f"{said}: {known.unseen}")
    if known.condition:
        return known.condition
    if known.growth:
        return known.growth
    size = known.source.capacity if known.source else claims.capacity(claim)
    return true(STORAGE_READY, Reason.BOUND, f"claim {name} is bound to {gib(size)}")


def _unbound(claim: Object | None, observed: Observed) -> Condition:
    if claim is None:
        return false(STORAGE_READY, Reason.CREATING, "volume and claim are being made")
    name = claim["metadata"]["name"]
    if claims.going(claim):
        using = f": {', '.join(observed.holders)}" if observed.holders else ""
        said = f"claim {name} was deleted and goes when no Pod uses it any more{using}"
        return false(STORAGE_READY, Reason.CLAIM_DELETED, said)
    if claims.phase(claim) == "Lost":
        return false(
            STORAGE_READY, Reason.VOLUME_LOST, f"the volume of claim {name} is gone, and is made again"
        )
    return false(STORAGE_READY, Reason.CREATING, f"claim {name} waits to be bound to its volume")


def _tier(
    pool: KVCachePool, known: Known, claim: Object | None, observed: Observed, condition: Condition
) -> TierStatus:
    size = known.source.capacity if known.source else _provisioned(pool, claim, observed)
    return TierStatus(
        name="lustre",
        phase=_phase(claim, condition),
        capacity=gib(size) if size and _counts(pool, claim) else None,
        instance=instance_name(pool, observed) if _is_there(pool, known, observed) else None,
    )


def _counts(pool: KVCachePool, claim: Object | None) -> bool:
    """Whether the instance's size is the tier's by now: a larger one that is found again is taken up first."""
    lustre = pool.spec.tiers.lustre
    bound = claim is not None and claims.phase(claim) == "Bound"
    return bound or (lustre is not None and lustre.provisioner == "Existing")


def _phase(claim: Object | None, condition: Condition) -> str:
    if condition.status == "True":
        return "Resizing" if condition.reason == Reason.RESIZING else "Bound"
    if condition.reason in _MAKING:
        return "Provisioning"
    if condition.reason in _WAITING:
        return "Waiting"
    bound = claim is not None and claims.phase(claim) == "Bound" and not claims.going(claim)
    return "Bound" if bound and condition.status == "Unknown" else "Failed"


def _provisioned(pool: KVCachePool, claim: Object | None, observed: Observed) -> int:
    """Bytes of an instance that is not seen, as its volume has last been told."""
    live = observed.child("PersistentVolume", volume_name(pool))
    size = live["spec"].get("capacity", {}).get("storage") if live else None
    return quantities.parse(size) if size else claims.capacity(claim)


def _is_there(pool: KVCachePool, known: Known, observed: Observed) -> bool:
    """Whether the instance exists or was asked for: then the status must remember it."""
    lustre, facts = pool.spec.tiers.lustre, observed.facts.lustre
    seen = facts is not None and facts.instance is not None
    made = (
        observed.child("PersistentVolume", volume_name(pool)) or known.part.operations or last(pool, "Create")
    )
    return bool(seen or made or (lustre and lustre.instance))
