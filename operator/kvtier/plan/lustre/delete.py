"""Deletion of the shared tier: of claim, volume and instance, one after the other.

A pool that is deleted asks for it, and a pool whose spec has no shared tier any more; both only under deletionPolicy
Delete. An existing instance is never deleted.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kvtier.api.quantities import gib
from kvtier.api.times import elapsed
from kvtier.api.v1alpha1 import TierStatus
from kvtier.context import Context, LustreView
from kvtier.facts.children import Claim
from kvtier.facts.model import Instance
from kvtier.facts.operations import Operations
from kvtier.facts.volumes import Volume
from kvtier.plan.events import PoolEvent
from kvtier.plan.lustre.api_errors import explained
from kvtier.plan.lustre.instance import ours
from kvtier.plan.lustre.operations import UNANSWERED, DesiredOperation, Followed, follow, part
from kvtier.plan.lustre.provisioning import under_way
from kvtier.plan.model import Manifest, Part, references

_IN_FLIGHT_SECONDS = 60.0
"""How long a request may take to be carried out after nobody waits for its answer any more."""


@dataclass(frozen=True)
class Step:
    """A step of a deletion.

    `part` is what to do now, `waits` names what has to go before the next step, empty when all has gone. `events`
    say what was not deleted although it was to go; they are recorded once, when the pool is let go.
    """

    part: Part = field(default_factory=Part)
    waits: tuple[str, ...] = ()
    events: tuple[PoolEvent, ...] = ()


def plan_tier_deletion(context: Context) -> Part:
    """A shared tier that has left the spec of a pool that lives on.

    The status remembers an instance for as long as it may be there.

    Case 1: nothing is there -> nothing is reported.
    Case 2: Retain -> all stays.
    Case 3: Delete, and an engine mounts it -> it is waited for.
    Case 4: Delete -> claim, volume and instance go.
    """
    lustre, instance = context.lustre, own_instance(context.lustre)
    if not (lustre.claim or lustre.volume or driver_volumes(lustre) or instance):
        return Part()
    create = follow(lustre.operations, "Create", None)
    if context.pool.spec.deletion_policy == "Retain":
        return Part(tiers=(_tier(lustre, "Retained"),), operations=create.operations) if instance else Part()
    reported = Part(
        tiers=(_tier(lustre, "Deleting"),), operations=create.operations, again=context.pace.moving
    )
    if any(one.mounts_lustre for one in context.children.deployments):
        return reported
    step = delete_tier(context)
    if not step.waits:
        return step.part
    operations = step.part.operations or create.operations
    return replace(step.part, tiers=reported.tiers, operations=operations, again=reported.again)


def delete_tier(context: Context) -> Step:
    """The next step.

    Case 1: the driver makes an instance for the claim -> that is waited for: it would be left behind.
    Case 2: the claim is there -> the driver's volume is switched to Delete, the claim deleted.
    Case 3: the driver's volume is there -> the driver deletes it, and the instance with it.
    Case 4: kvtier made the instance -> it is deleted, while the volume still has its name.
    Case 5: kvtier's own volume is there -> it is deleted. It has no data: an existing instance stays as it is.
    """
    lustre, claims = context.lustre, context.children.claims
    if under_way(lustre, context.now):
        return Step(waits=(f"{claim_text(lustre.claim_name)}, for which an instance is being made",))
    volumes = driver_volumes(lustre)
    switches = (_deletable(one, context.pool.uid, claimed=bool(claims)) for one in volumes)
    writes = tuple(one for one in switches if one)
    if claims:
        unseen = _unseen_volumes(claims, context.facts.volumes.by_name)
        switched = Part((*writes, *(_switched(name) for name in unseen)), deletes=references(claims))
        return Step(switched, tuple(claim_text(one.name, lustre.holders) for one in claims))
    if volumes:
        return Step(Part(writes), tuple(volume_text(one) for one in volumes))
    if coming := _coming(lustre):
        return Step(waits=(f"the volume that the driver makes of instance {coming.name}",))
    step = _delete_instance(context)
    return step if step.waits else _delete_own_volume(lustre, step)


def own_instance(lustre: LustreView) -> str | None:
    """Name of an instance that kvtier made, unless the Lustre API says that there is none and there will be none."""
    absent = lustre.api is not None and lustre.api.absent
    gone = absent and not _may_appear(lustre.operations)
    return lustre.instance_name if _made_by_kvtier(lustre) and not gone else None


def driver_volumes(lustre: LustreView) -> tuple[Volume, ...]:
    """The volumes of the driver that go with the pool.

    A namesake of the pool may have left some that were to be retained: only what is bound to the claim, or is
    the instance that the status names, is this pool's.
    """
    uid = lustre.claim.uid if lustre.claim else ""
    reported = (lustre.status.instance if lustre.status else None) or ""

    def goes(volume: Volume) -> bool:
        if not volume.storage_class or volume.name == lustre.volume_name:
            return False
        mine = (uid and volume.claim_uid == uid) or (reported and volume.instance == reported)
        return bool(mine or volume.reclaim == "Delete")

    return tuple(one for one in lustre.volumes if goes(one))


def claim_text(name: str, holders: Iterable[str] = ()) -> str:
    """The claim, with what keeps it."""
    pods = ", ".join(holders)
    return f"PersistentVolumeClaim {name}" + (f", which Pods {pods} use" if pods else "")


def volume_text(volume: Volume) -> str:
    """A volume of the driver's with its instance, and why it does not go."""
    why = f" (see kubectl describe pv {volume.name})"
    if volume.phase == "Failed":
        why = f", which the driver could not delete: {volume.message or 'it gives no reason'}"
    return f"PersistentVolume {volume.name} with instance {volume.instance or volume.handle}{why}"


def _tier(lustre: LustreView, phase: str) -> TierStatus:
    size = lustre.claim.capacity if lustre.claim else 0
    return TierStatus(
        name="lustre", phase=phase, capacity=gib(size) if size else None, instance=lustre.instance_name
    )


def _unseen_volumes(claims: Iterable[Claim], known: Mapping[str, Volume]) -> list[str]:
    """Names of volumes that the driver has made for a claim, but that the operator has not seen yet."""
    bound = (one for one in claims if one.bound and one.storage_class)
    return [one.volume for one in bound if one.volume and one.volume not in known]


def _deletable(volume: Volume, pool_uid: str, *, claimed: bool) -> Manifest | None:
    """What makes the driver delete a volume, None where it does so by itself.

    It deletes only what a claim has left. A volume that no claim ever took up, because the pool went while it
    was bound again, is given to one that does not exist.
    """
    free = not claimed and volume.phase == "Available"
    if volume.deleting or (volume.reclaim == "Delete" and not free):
        return None
    return _switched(volume.name, **({"claimRef": {"uid": pool_uid}} if free else {}))


def _switched(name: str, **spec: Any) -> Manifest:
    """The reclaim policy that lets the driver delete the instance."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {"persistentVolumeReclaimPolicy": "Delete", **spec},
    }


def _coming(lustre: LustreView) -> Instance | None:
    """The instance of a claim that others have deleted while it was made: the driver makes its volume all the same."""
    by_driver = lustre.spec is not None and lustre.spec.provisioner == "CSI"
    making = lustre.status is not None and lustre.status.phase == "Provisioning"
    return lustre.instance if by_driver and making else None


def _delete_own_volume(lustre: LustreView, step: Step) -> Step:
    """After `step`, which has nothing left to wait for."""
    if lustre.volume is None:
        return step
    deleting = replace(step.part, deletes=references([lustre.volume]))
    return replace(step, part=deleting, waits=(f"PersistentVolume {lustre.volume_name}",))


def _delete_instance(context: Context) -> Step:
    """The deletion, until the Lustre API knows the instance no more.

    Case 1: it is not kvtier's -> it stays: an existing one, or the driver's, which goes with its volume.
    Case 2: the API does not say -> it is waited for.
    Case 3: the creation may still be carried out -> it is waited for.
    Case 4: there is none -> done.
    Case 5: its labels say that it is not this pool's -> it stays, and an Event says so.
    Case 6: else -> its deletion is asked for. The API refuses that while it is at something else.
    """
    lustre, name, operations = context.lustre, context.lustre.instance_name, context.lustre.operations
    if name is None or not _made_by_kvtier(lustre):
        return Step()
    create = follow(operations, "Create", None)
    if lustre.unseen is not None:
        return Step(part(create), (f"instance {name} ({lustre.unseen})",))
    if lustre.instance is None:
        waits = (f"the creation of instance {name}",) if _may_appear(operations) else ()
        return Step(part(create, follow(operations, "Delete", None)), waits)
    if not ours(context.pool, lustre.instance):
        said = f"instance {name}, which is not this pool's by its labels, stays: delete it by hand"
        return Step(part(create), events=(PoolEvent("Warning", "DataKept", said),))
    delete = follow(operations, "Delete", _deletion(lustre.instance))
    return Step(part(create, delete), (f"instance {name}{_trouble(delete)}",))


def _made_by_kvtier(lustre: LustreView) -> bool:
    """Whether kvtier made the instance. Without a tier in the spec, the volume or the status says so."""
    if lustre.spec is not None:
        return lustre.spec.provisioner == "API"
    if lustre.volume is not None:
        return lustre.volume.provisioner == "API"
    return lustre.operations.last("Create") is not None


def _may_appear(operations: Operations) -> bool:
    """Whether an instance may yet appear.

    Case 1: the status names no creation -> only if it could not be written since one was asked for.
    Case 2: the creation has ended with an answer -> no.
    Case 3: nobody has its answer -> it may be carried out for another minute.
    Case 4: it runs -> yes, unless the instance was deleted meanwhile.
    """
    create, delete, now = operations.last("Create"), operations.last("Delete"), operations.now
    if create is None:
        return operations.unrecorded()
    ended = create.state != "Running"
    if ended and (create.name or create.code not in UNANSWERED):
        return False
    if ended or operations.lost(create):
        return elapsed(create.progress_time or create.start_time, now) < _IN_FLIGHT_SECONDS
    if delete is None or delete.state != "Succeeded":
        return True
    return elapsed(create.start_time, delete.progress_time or now) < 0


def _deletion(instance: Instance) -> DesiredOperation:
    """Of this very instance: a namesake that is made later is another one."""
    made = f" of {instance.created}" if instance.created else ""
    return DesiredOperation("Delete", f"deletion{made}", instance.name)


def _trouble(delete: Followed) -> str:
    status = delete.status
    if status is None or status.state != "Failed":
        return ""
    return f" ({explained(status)[1]})"
