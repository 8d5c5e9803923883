"""The deletion of an instance that kvtier made."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kvtier.api.kinds import Object
from kvtier.api.names import ANNOTATION_PROVISIONER
from kvtier.api.quantities import gib
from kvtier.api.times import elapsed
from kvtier.api.v1alpha1 import KVCachePool, OperationStatus, TierStatus
from kvtier.context import build
from kvtier.facts.model import Instance, Observed
from kvtier.facts.operations import operations_of
from kvtier.facts.volumes import Volume
from kvtier.plan.children import claim_name, mounts_lustre
from kvtier.plan.lustre import claims
from kvtier.plan.lustre.api_errors import advice
from kvtier.plan.lustre.identity import instance_name, volume_name
from kvtier.plan.lustre.instance import ours
from kvtier.plan.lustre.operations import POLL_SECONDS, UNANSWERED, DesiredOperation, Followed, follow, last
from kvtier.plan.lustre.provisioning import under_way
from kvtier.plan.model import Manifest, Part, to_delete

_IN_FLIGHT_SECONDS = 60.0
"""How long a request may take to be carried out after nobody waits for its answer any more."""


@dataclass(frozen=True)
class Removal:
    """A step of taking the shared tier away.

    `waits` names what has to go before the next one, empty when all is gone; `keeps` what was not kvtier's to
    delete, with the reason.
    """

    part: Part = field(default_factory=Part)
    waits: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()


def made_here(pool: KVCachePool, observed: Observed) -> bool:
    """Whether kvtier made the instance. Of a tier that is not in the spec any more, its volume tells, or the status."""
    lustre = pool.spec.tiers.lustre
    if lustre is not None:
        return lustre.provisioner == "API"
    volume = observed.child("PersistentVolume", volume_name(pool))
    if volume is not None:
        return bool(volume["metadata"].get("annotations", {}).get(ANNOTATION_PROVISIONER) == "API")
    return last(pool, "Create") is not None


def may_exist(pool: KVCachePool, observed: Observed, now: str) -> str | None:
    """Name of an instance that kvtier made, unless the Lustre API says that there is none and there will be none."""
    name, facts = instance_name(pool, observed), observed.facts.lustre
    gone = facts is not None and facts.error is None and facts.instance is None
    if name is None or not made_here(pool, observed) or (gone and not _making(pool, observed, now)):
        return None
    return name


def remove_instance(pool: KVCachePool, observed: Observed, now: str) -> Removal:
    """The deletion, until the Lustre API knows the instance no more.

    Case 1: it is not kvtier's -> it stays: an existing one, or the driver's, which goes with its volume.
    Case 2: the API does not tell -> it is waited for.
    Case 3: the creation may still be carried out -> it is waited for.
    Case 4: there is none -> done.
    Case 5: there is one, but another's by its labels -> it stays, and is told of.
    Case 6: else -> its deletion is asked for. The API refuses that while it is at something else.
    """
    name, facts = instance_name(pool, observed), observed.facts.lustre
    if name is None or not made_here(pool, observed):
        return Removal()
    seen = operations_of(pool, observed.facts.lustre, now)
    create = follow(seen, "Create", None)
    if facts is None or facts.error:
        error = facts.error if facts and facts.error else "the Lustre API was not asked"
        return Removal(_part(create), (f"instance {name} ({error})",))
    if facts.instance is None:
        waits = (f"the creation of instance {name}",) if _making(pool, observed, now) else ()
        return Removal(_part(create, follow(seen, "Delete", None)), waits)
    if not ours(pool, facts.instance):
        return Removal(_part(create), keeps=(f"instance {name}, which is not this pool's by its labels",))
    delete = follow(seen, "Delete", _deletion(facts.instance))
    return Removal(_part(create, delete), (f"instance {name}{_trouble(delete)}",))


def _deletion(instance: Instance) -> DesiredOperation:
    """For this very instance: a namesake that is made later is deleted anew."""
    made = f" of {instance.created}" if instance.created else ""
    return DesiredOperation("Delete", f"deletion{made}", instance.name)


def _making(pool: KVCachePool, observed: Observed, now: str) -> bool:
    """Whether an instance may yet appear.

    Case 1: the status tells of no creation -> only if it could not be written since one was asked for.
    Case 2: the creation has ended with an answer -> no.
    Case 3: nobody has its answer -> it may be carried out for another minute.
    Case 4: it runs -> yes, unless the instance was deleted meanwhile.
    """
    seen = operations_of(pool, observed.facts.lustre, now)
    create, delete = seen.last("Create"), seen.last("Delete")
    if create is None:
        return seen.unrecorded()
    if create.state != "Running" and (create.name or create.code not in UNANSWERED):
        return False
    if create.state != "Running" or seen.lost(create):
        return elapsed(create.progress_time or create.start_time, now) < _IN_FLIGHT_SECONDS
    if delete is None or delete.state != "Succeeded":
        return True
    return elapsed(create.start_time, delete.progress_time or now) < 0


def _trouble(delete: Followed) -> str:
    status = delete.status
    if status is None or status.state != "Failed":
        return ""
    known = advice(status.code or "", status.message or "")
    return f" ({status.code}: {status.message or 'no details'}; {known.text})"


def _part(*followed: Followed) -> Part:
    return Part(
        calls=tuple(call for one in followed for call in one.calls),
        operations=tuple(operation for one in followed for operation in one.operations),
    )


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
    if under_way(build(pool, observed, now).lustre, now):
        return Removal(waits=(f"{_CLAIM} {claim_name(pool)}, for which an instance is being made",))
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


def plan_removed(pool: KVCachePool, observed: Observed, now: str) -> Part:
    """What goes of it, and a status that remembers an instance for as long as it may be there.

    Case 1: nothing is there -> nothing is said.
    Case 2: Retain -> all stays.
    Case 3: Delete, and an engine mounts it -> it is waited for.
    Case 4: Delete -> claim, volume and instance go.
    """
    claim = observed.child("PersistentVolumeClaim", claim_name(pool))
    volume = observed.child("PersistentVolume", volume_name(pool))
    if not (claim or volume or driven(pool, observed) or may_exist(pool, observed, now)):
        return Part()
    tier = TierStatus(
        name="lustre",
        phase="Retained",
        capacity=gib(claims.capacity(claim)) if claims.capacity(claim) else None,
        instance=instance_name(pool, observed),
    )
    if pool.spec.deletion_policy == "Retain":
        known = may_exist(pool, observed, now)
        return Part(tiers=(tier,), operations=_operations(pool, observed, now)) if known else Part()
    going = tier.model_copy(update={"phase": "Deleting"})
    if any(mounts_lustre(obj) for (kind, _), obj in observed.children.items() if kind == "Deployment"):
        return Part(tiers=(going,), operations=_operations(pool, observed, now), again=POLL_SECONDS)
    step = remove(pool, observed, now)
    if not step.waits:
        return step.part
    operations = step.part.operations or _operations(pool, observed, now)
    return replace(step.part, tiers=(going,), operations=operations, again=POLL_SECONDS)


def _operations(pool: KVCachePool, observed: Observed, now: str) -> tuple[OperationStatus, ...]:
    return follow(operations_of(pool, observed.facts.lustre, now), "Create", None).operations
