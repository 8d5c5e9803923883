"""Deletion of the Lustre tier: of PVC, PersistentVolume and instance, in this order.

It happens with deletionPolicy Delete, when a pool is deleted or when its spec no longer has a Lustre tier. An existing
instance is never deleted. Of the objects that others may have written, such as a PVC with kvtier's labels, only those
are touched that are as kvtier and its driver create them for this pool (`kvtier.facts.identity`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kvtier.api.quantities import gib
from kvtier.api.sentences import sentences
from kvtier.api.times import elapsed
from kvtier.api.v1alpha1 import TierStatus
from kvtier.context import Context, LustreView
from kvtier.facts.children import Claim
from kvtier.facts.model import Instance
from kvtier.facts.operations import Operations
from kvtier.facts.volumes import Volume, Volumes
from kvtier.plan.events import PoolEvent
from kvtier.plan.lustre.api_errors import explained
from kvtier.plan.lustre.operations import UNANSWERED, DesiredOperation, Followed, follow, part
from kvtier.plan.lustre.ownership import Owner, owner
from kvtier.plan.lustre.provisioning import under_way
from kvtier.plan.model import Manifest, Part, references

_IN_FLIGHT_SECONDS = 60.0
"""How long the API may still carry out a request after kvtier stopped waiting for the response."""


@dataclass(frozen=True)
class Step:
    """A step of a deletion.

    `part`: what to do now. `waits`: what must happen before the next step, in full sentences; empty after the last
    step. `events`: what was not deleted, although deletionPolicy is Delete; recorded when the finalizer is removed.
    """

    part: Part = field(default_factory=Part)
    waits: tuple[str, ...] = ()
    events: tuple[PoolEvent, ...] = ()


def plan_tier_deletion(context: Context) -> Part:
    """The deletion of a Lustre tier that was removed from the spec of a pool.

    The status keeps the instance until it is known to be deleted.

    Case 1: no object exists -> report nothing.
    Case 2: Retain -> keep all.
    Case 3: Delete, and an engine mounts the tier -> wait.
    Case 4: Delete -> delete PVC, PersistentVolume and instance.
    """
    lustre, instance = context.lustre, own_instance(context.lustre)
    if not (lustre.own_claim or lustre.volume or driver_volumes(lustre) or instance):
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
    """The next step of the deletion.

    Case 1: the driver is creating an instance for the PVC, or its PersistentVolume was not read yet -> wait, else
            nothing would delete that instance.
    Case 2: the PVC exists -> set reclaim policy Delete on the driver's PersistentVolume, and delete the PVC.
    Case 3: the driver's PersistentVolume exists -> wait until the driver deletes it together with the instance.
    Case 4: kvtier created the instance -> delete it. The PersistentVolume still has its name meanwhile.
    Case 5: kvtier's own PersistentVolume exists -> delete it. This deletes no data of an existing instance.
    """
    lustre, claim = context.lustre, context.lustre.own_claim
    if unread := _coming_volume(context):
        return Step(waits=(unread,))
    volumes = driver_volumes(lustre)
    switches = (_deletable(one, context.pool.uid, claimed=claim is not None) for one in volumes)
    writes = tuple(one for one in switches if one)
    if claim:
        text = claim_text(claim.name, lustre.holders)
        return Step(Part(writes, deletes=references([claim])), (text,))
    if volumes:
        return Step(Part(writes), (volumes_text(volumes),))
    if coming := _coming(lustre):
        text = (
            f"kvtier waits for the CSI driver to create the PersistentVolume of instance {coming.name}, and then "
            "deletes both."
        )
        return Step(waits=(text,))
    step = _delete_instance(context)
    return step if step.waits else _delete_own_volume(lustre, step)


def own_instance(lustre: LustreView) -> str | None:
    """Name of an instance that kvtier created; None if the Lustre API reports that it does not exist.

    An instance whose creation may still be in progress counts.
    """
    absent = lustre.api is not None and lustre.api.absent
    gone = absent and not _may_appear(lustre.operations)
    return lustre.instance_name if _made_by_kvtier(lustre) and not gone else None


def driver_volumes(lustre: LustreView) -> tuple[Volume, ...]:
    """The PersistentVolumes of the driver that are deleted with the pool.

    An earlier pool of the same name may have left retained ones. This pool owns only a PersistentVolume that is bound
    to its PVC, or whose instance is in its status. One that the driver did not create for this pool is not here.
    """
    uid = lustre.claim.uid if lustre.claim else ""
    reported = (lustre.status.instance if lustre.status else None) or ""

    def belongs(volume: Volume) -> bool:
        mine = (uid and volume.claim_uid == uid) or (reported and volume.instance == reported)
        return bool(mine or volume.reclaim == "Delete")

    return tuple(one for one in lustre.provisioned if belongs(one))


def _coming_volume(context: Context) -> str:
    """What must happen before the PVC is deleted, in full sentences; empty if nothing."""
    lustre, claim = context.lustre, context.lustre.own_claim
    if under_way(lustre, context.now):
        return creating_text(lustre.claim_name)
    if claim and has_unread_volume(claim, context.facts.volumes):
        return f"kvtier waits until it has read PersistentVolume {claim.volume} of PVC {claim.name}."
    return ""


def has_unread_volume(claim: Claim, volumes: Volumes) -> bool:
    """Whether a PVC is bound to a PersistentVolume that kvtier has not read yet: the watch of the PVC was faster."""
    dynamic = claim.bound and bool(claim.storage_class)
    return dynamic and claim.volume not in volumes.by_name and claim.volume not in volumes.others


def claim_text(name: str, holders: Iterable[str] = ()) -> str:
    """What the deletion of a PVC waits for."""
    if pods := ", ".join(holders):
        return f"kvtier waits for the deletion of PVC {name}. Delete the Pods that use it: {pods}."
    return f"kvtier waits for the deletion of PVC {name}."


def creating_text(name: str) -> str:
    """What the deletion of a PVC waits for while its instance is being created."""
    return f"The CSI driver is creating an instance for PVC {name}. kvtier deletes the PVC afterwards."


def volume_text(volume: Volume) -> str:
    """A PersistentVolume of the driver with its instance."""
    return f"PersistentVolume {volume.name} with instance {volume.instance or volume.handle}"


def volumes_text(volumes: Sequence[Volume]) -> str:
    """What the deletion of the driver's PersistentVolumes waits for."""
    names = ", ".join(volume_text(one) for one in volumes)
    commands = f"Details: kubectl describe pv {' '.join(one.name for one in volumes)}"
    failures = [failure_text(one) for one in volumes]
    return sentences(f"kvtier waits for the CSI driver to delete {names}", *failures, commands)


def failure_text(volume: Volume) -> str:
    """Why the driver did not delete a PersistentVolume, empty if it reports no failure."""
    if volume.phase != "Failed":
        return ""
    return f"The CSI driver could not delete PersistentVolume {volume.name}: {volume.message or 'no details'}"


def _tier(lustre: LustreView, phase: str) -> TierStatus:
    size = lustre.claim.capacity if lustre.claim else 0
    return TierStatus(
        name="lustre", phase=phase, capacity=gib(size) if size else None, instance=lustre.instance_name
    )


def _not_ours(lustre: LustreView) -> tuple[PoolEvent, ...]:
    """An Event about the PVC of the pool's name and its PersistentVolumes, if kvtier keeps them despite Delete."""
    foreign = [
        one for one in lustre.volumes if one not in lustre.provisioned and one.name != lustre.volume_name
    ]
    claims = [f"PVC {lustre.claim_name}"] if lustre.claim and not lustre.claim_owned else []
    kept = ", ".join([*claims, *(f"PersistentVolume {one.name}" for one in foreign)])
    text = f"kvtier keeps objects that it did not create for this pool: {kept}. Delete them if you do not need them."
    return (PoolEvent("Warning", "DataKept", text),) if kept else ()


def _deletable(volume: Volume, pool_uid: str, *, claimed: bool) -> Manifest | None:
    """The change that makes the driver delete a PersistentVolume, None if none is needed.

    The driver deletes only a released PersistentVolume. If none of the PVCs used it yet, because the pool was deleted
    while it was bound again, kvtier reserves it for a PVC that does not exist.
    """
    free = not claimed and volume.phase == "Available"
    if volume.deleting or (volume.reclaim == "Delete" and not free):
        return None
    return _switched(volume, **({"claimRef": {"uid": pool_uid}} if free else {}))


def _switched(volume: Volume, **spec: Any) -> Manifest:
    """The PersistentVolume with reclaim policy Delete, so that the driver deletes the instance.

    It has the resourceVersion that kvtier read. The write fails if the PersistentVolume was given to another PVC since.
    """
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": volume.name, "uid": volume.uid, "resourceVersion": volume.version},
        "spec": {"persistentVolumeReclaimPolicy": "Delete", **spec},
    }


def _coming(lustre: LustreView) -> Instance | None:
    """The instance of a PVC that others deleted during the creation. The driver still creates its PersistentVolume."""
    by_driver = lustre.spec is not None and lustre.spec.provisioner == "CSI"
    making = lustre.status is not None and lustre.status.phase == "Provisioning"
    return lustre.instance if by_driver and making else None


def _delete_own_volume(lustre: LustreView, step: Step) -> Step:
    """The deletion of kvtier's own PersistentVolume, after `step`, which waits for nothing. It is the last step."""
    if lustre.volume is None:
        return replace(step, events=(*step.events, *_not_ours(lustre)))
    deleting = replace(step.part, deletes=references([lustre.volume]))
    text = f"kvtier waits for the deletion of PersistentVolume {lustre.volume_name}."
    return replace(step, part=deleting, waits=(text,))


def _delete_instance(context: Context) -> Step:
    """The deletion of the instance, until the Lustre API reports that it does not exist.

    Case 1: kvtier did not create it -> nothing to do: it is an existing one, or the driver deletes it.
    Case 2: the API did not return it -> wait.
    Case 3: its creation may still be in progress -> wait.
    Case 4: it does not exist -> done.
    Case 5: it is unknown which cluster this is -> wait.
    Case 6: its labels do not name this cluster and this pool, by their uids -> keep it, with an Event.
    Case 7: otherwise -> request the deletion. The API refuses it while another operation is in progress.
    """
    lustre, name, operations = context.lustre, context.lustre.instance_name, context.lustre.operations
    if name is None or not _made_by_kvtier(lustre):
        return Step()
    create = follow(operations, "Create", None)
    if lustre.unseen is not None:
        unknown = sentences(f"It is unknown whether instance {name} still exists", lustre.unseen)
        return Step(part(create), (unknown,))
    if lustre.instance is None:
        coming = f"kvtier waits for the creation of instance {name} to end, and then deletes the instance."
        waits = (coming,) if _may_appear(operations) else ()
        return Step(part(create, follow(operations, "Delete", None)), waits)
    cluster = context.facts.own_cluster
    if not cluster.uid:
        unknown = sentences(f"It is unknown whether instance {name} belongs to this cluster", cluster.error)
        return Step(part(create), (unknown,))
    if owner(context.pool, cluster, lustre.instance) is not Owner.THIS_POOL:
        kept = (
            f"The labels of instance {name} are not those of this pool, so kvtier keeps it. {_manually(name)}"
        )
        return Step(part(create), events=(PoolEvent("Warning", "DataKept", kept),))
    delete = follow(operations, "Delete", _deletion(lustre.instance))
    text = sentences(f"kvtier waits for the deletion of instance {name}", _failure(delete))
    return Step(part(create, delete), (text,))


def _manually(instance: str) -> str:
    """How to delete an instance; `instance` is its full name."""
    _, project, _, zone, _, name = instance.split("/")
    command = f"gcloud lustre instances delete {name} --project={project} --location={zone}"
    return f"If nothing else uses it, delete it: {command}"


def _made_by_kvtier(lustre: LustreView) -> bool:
    """Whether kvtier created the instance, from the spec; without a Lustre tier there, from volume or status."""
    if lustre.spec is not None:
        return lustre.spec.provisioner == "API"
    if lustre.volume is not None:
        return lustre.volume.provisioner == "API"
    return lustre.operations.last("Create") is not None


def _may_appear(operations: Operations) -> bool:
    """Whether the creation of an instance may still be in progress.

    Case 1: the status has no creation -> only if one was requested and the status not written yet.
    Case 2: the creation ended with a response -> no.
    Case 3: its response was lost -> for one more minute.
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
    """The deletion of this instance, and not of a later one with the same name."""
    made = f" of {instance.created}" if instance.created else ""
    return DesiredOperation("Delete", f"deletion{made}", instance.name)


def _failure(delete: Followed) -> str:
    """Why a deletion failed, and what to do; empty if it did not fail."""
    status = delete.status
    if status is None or status.state != "Failed":
        return ""
    return f"The Lustre API reports {explained(status)[1]}"
