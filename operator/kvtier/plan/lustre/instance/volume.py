"""The volume that names an instance, and the claim that is reserved for it."""

from typing import Any

from kvtier.api.conditions import STORAGE_READY, Condition, false
from kvtier.api.names import ANNOTATION_PROVISIONER
from kvtier.api.quantities import canonical
from kvtier.api.v1alpha1 import KVCachePool, LustreTier
from kvtier.facts.objects import Object
from kvtier.plan.children import child, claim_name
from kvtier.plan.lustre.claim import claims
from kvtier.plan.lustre.identity import volume_name
from kvtier.plan.lustre.instance.source import Source
from kvtier.plan.model import Manifest


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
            "ClaimMismatch",
            f"claim {name} was not made for PersistentVolume {volume_name(pool)}, but for "
            f"{claim['spec'].get('volumeName') or claim['spec'].get('storageClassName') or 'another one'}: delete "
            "the claim if its data may go, or make the pool under another name",
        )
    differing = _differing(_volume(pool, lustre, source), volume) if source and volume else []
    if not differing:
        return None
    return false(
        STORAGE_READY,
        "VolumeMismatch",
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
