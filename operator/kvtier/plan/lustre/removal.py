"""The shared tier is taken away with its data: claim, volume and instance, each once what needs it is gone."""

from collections.abc import Mapping
from typing import Any

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Observed
from kvtier.facts.objects import Object
from kvtier.facts.volumes import Volume
from kvtier.plan.children import claim_name
from kvtier.plan.lustre.claim import claims
from kvtier.plan.lustre.claim.provisioning import under_way
from kvtier.plan.lustre.identity import volume_name
from kvtier.plan.lustre.instance.deletion import Removal, remove_instance
from kvtier.plan.model import Manifest, Part, to_delete

_CLAIM, _VOLUME = "PersistentVolumeClaim", "PersistentVolume"


def remove(pool: KVCachePool, observed: Observed, now: str) -> Removal:
    """The next step.

    Case 1: the driver makes an instance for the claim -> that is waited for: it would be left behind.
    Case 2: the claim is there -> the driver's volume is switched to Delete, the claim deleted.
    Case 3: the driver's volume is there -> the driver deletes it, and the instance with it.
    Case 4: kvtier made the instance -> it is deleted, while the volume still tells its name.
    Case 5: kvtier's own volume is there -> it is deleted. It has no data: an existing instance stays as it is.
    """
    held = {key: obj for key, obj in observed.children.items() if key[0] == _CLAIM}
    if making := [claim for claim in held.values() if under_way(claim, observed, now)]:
        name = making[0]["metadata"]["name"]
        return Removal(waits=(f"{_CLAIM} {name}, for which an instance is being made",))
    volumes = driven(pool, observed)
    applies = tuple(write for one in volumes for write in _delivered(pool, one, claimed=bool(held)))
    if held:
        part = Part((*applies, *_unknown(observed, held)), deletes=to_delete(held))
        return Removal(part, tuple(claim_text(name, observed) for _, name in sorted(held)))
    if volumes:
        return Removal(Part(applies), tuple(volume_text(one) for one in volumes))
    step = _awaited(pool, observed) or remove_instance(pool, observed, now)
    return step if step.waits else _own_volume(pool, observed, step)


def driven(pool: KVCachePool, observed: Observed) -> tuple[Volume, ...]:
    """The volumes of the driver that go with the pool.

    A namesake of the pool may have left some that were to be retained: only what is bound to the claim, or is
    the instance that the status names, is this pool's.
    """
    claim = observed.child(_CLAIM, claim_name(pool))
    uid = claim["metadata"].get("uid", "") if claim else ""
    named = [tier.instance for tier in pool.status.tiers if tier.name == "lustre" and tier.instance]

    def goes(volume: Volume) -> bool:
        if not volume.storage_class or volume.name == volume_name(pool):
            return False
        mine = (uid and volume.claim_uid == uid) or volume.instance in named
        return bool(mine or volume.reclaim == "Delete")

    found = observed.facts.volumes.by_claim.get((pool.namespace, claim_name(pool)), ())
    return tuple(one for one in found if goes(one))


def claim_text(name: str, observed: Observed) -> str:
    """The claim, with what keeps it."""
    using = f", which Pods {', '.join(observed.holders)} use" if observed.holders else ""
    return f"{_CLAIM} {name}{using}"


def volume_text(volume: Volume) -> str:
    """A volume of the driver's with its instance, and why it does not go."""
    why = f" (see kubectl describe pv {volume.name})"
    if volume.phase == "Failed":
        why = f", which the driver could not delete: {volume.message or 'it gives no reason'}"
    return f"{_VOLUME} {volume.name} with instance {volume.instance or volume.handle}{why}"


def _unknown(observed: Observed, held: Mapping[tuple[str, str], Object]) -> tuple[Manifest, ...]:
    """Switches of volumes that are bound to a claim, but have not been heard of yet."""
    names = [
        claim["spec"].get("volumeName", "")
        for claim in held.values()
        if claims.phase(claim) == "Bound"
        and not claims.going(claim)
        and claim["spec"].get("storageClassName")
    ]
    known = observed.facts.volumes.by_name
    return tuple(_switched(name) for name in names if name and name not in known)


def _delivered(pool: KVCachePool, volume: Volume, claimed: bool) -> tuple[Manifest, ...]:
    """What makes the driver delete a volume, unless that is so already.

    It deletes only what a claim has left. A volume that no claim ever took up, because the pool went while it
    was bound again, is given to one that does not exist.
    """
    free = not claimed and volume.phase == "Available"
    if volume.deleting or (volume.reclaim == "Delete" and not free):
        return ()
    return (_switched(volume.name, **({"claimRef": {"uid": pool.uid}} if free else {})),)


def _switched(name: str, **spec: Any) -> Manifest:
    """The reclaim policy that lets the driver delete the instance."""
    return {
        "apiVersion": "v1",
        "kind": _VOLUME,
        "metadata": {"name": name},
        "spec": {"persistentVolumeReclaimPolicy": "Delete", **spec},
    }


def _awaited(pool: KVCachePool, observed: Observed) -> Removal | None:
    """A claim that has gone by other hands while its instance was made: the driver makes the volume nevertheless."""
    lustre, facts = pool.spec.tiers.lustre, observed.facts.lustre
    making = any(tier.name == "lustre" and tier.phase == "Provisioning" for tier in pool.status.tiers)
    if lustre is None or lustre.provisioner != "CSI" or not making or facts is None or facts.instance is None:
        return None
    return Removal(waits=(f"the volume that the driver makes of instance {facts.instance.name}",))


def _own_volume(pool: KVCachePool, observed: Observed, step: Removal) -> Removal:
    """After `step`, which has nothing left to wait for."""
    name = volume_name(pool)
    volume = observed.child(_VOLUME, name)
    if volume is None:
        return step
    deletes = to_delete({(_VOLUME, name): volume})
    part = Part(deletes=deletes, calls=step.part.calls, operations=step.part.operations)
    return Removal(part, (f"{_VOLUME} {name}",), step.keeps)
