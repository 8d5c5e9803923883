"""Volumes that have outlived their claim are bound again, so that a pool that comes back finds its data."""

from typing import NamedTuple

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Observed
from kvtier.facts.objects import Object
from kvtier.facts.volumes import Volume
from kvtier.plan.children import claim_name
from kvtier.plan.model import Manifest

_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
"""Annotation of a claim whose volume Kubernetes has chosen, and not who made the claim."""


class Reservation(NamedTuple):
    """The volume that a claim is made for, None where the driver is to make one; its bytes; what frees it."""

    volume: str | None = None
    capacity: int = 0
    writes: tuple[Manifest, ...] = ()


def reservation(pool: KVCachePool, class_name: str, observed: Observed) -> Reservation:
    """What the claim is, or is to be, reserved for.

    A volume is freed only for a claim that is there: the driver deletes none that is free, and in a namespace
    that goes no claim can be made any more.
    """
    claim = observed.child("PersistentVolumeClaim", claim_name(pool))
    if claim is None:
        volume = released(pool, class_name, observed)
        return Reservation(volume.name, volume.capacity) if volume else Reservation()
    name = reserved(claim)
    known = observed.facts.volumes.by_name.get(name or "")
    return Reservation(name, known.capacity if known else 0, _freed(known) if known else ())


def released(pool: KVCachePool, class_name: str, observed: Observed) -> Volume | None:
    """The volume that the driver once made for just this claim, from just this class; None where there is none.

    Of several, of which only one can be bound, the largest. One whose reclaim policy is Delete is about to go.
    """
    if observed.child("PersistentVolumeClaim", claim_name(pool)) is not None:
        return None
    volumes = observed.facts.volumes.by_claim.get((pool.namespace, claim_name(pool)), ())
    ours = [one for one in volumes if one.storage_class == class_name and _free(one)]
    return min(ours, key=lambda one: (-one.capacity, one.name), default=None)


def reserved(claim: Object) -> str | None:
    """The volume that a claim was made for, None where the driver made one for the claim."""
    annotations = claim["metadata"].get("annotations", {})
    return None if _BY_CONTROLLER in annotations else claim["spec"].get("volumeName") or None


def _freed(volume: Volume) -> tuple[Manifest, ...]:
    """What lets a volume be bound again by a claim of the same name.

    Only a Released volume is touched, and only as it was seen: taking the claim's identity from a volume that
    is bound would make the claim Lost.
    """
    if volume.phase != "Released" or not volume.claim_uid:
        return ()
    identity = {"name": volume.name, "uid": volume.uid, "resourceVersion": volume.version}
    return (
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": identity,
            "spec": {"claimRef": {"uid": "", "resourceVersion": ""}},
        },
    )


def _free(volume: Volume) -> bool:
    nobody = volume.phase == "Released" or (volume.phase == "Available" and not volume.claim_uid)
    return nobody and not volume.deleting and volume.reclaim != "Delete"
