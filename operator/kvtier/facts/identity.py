"""Which Lustre instance, PVC and PersistentVolumes belong to a pool, according to the live objects.

Labels do not decide: whoever may write PVCs in a namespace can give a PVC any label, StorageClass and
PersistentVolume.
"""

from kvtier.api import identity, names
from kvtier.api.names import LUSTRE_DRIVER
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.children import Children, Claim
from kvtier.facts.volumes import Volume, Volumes


def provisioned_for(pool: KVCachePool, volume: Volume) -> bool:
    """Whether the driver created a PersistentVolume for the PVC of this pool, from a StorageClass of this pool.

    Only those are changed. Kubernetes, not the author of a PVC, writes the fields of a PersistentVolume.
    """
    reserved = volume.claim == (pool.namespace, names.claim(pool.name))
    return reserved and volume.provisioned and identity.owns_storage_class(pool, volume.storage_class)


def is_own_claim(pool: KVCachePool, claim: Claim) -> bool:
    """Whether a PVC of the pool's name is as kvtier creates it. Only such a PVC is deleted.

    It has a StorageClass of the pool, or it is for the PersistentVolume of the pool.
    """
    if claim.storage_class:
        return identity.owns_storage_class(pool, claim.storage_class)
    return claim.volume == identity.volume_name(pool)


def instance_name(pool: KVCachePool, children: Children, volumes: Volumes) -> str | None:
    """projects/P/locations/ZONE/instances/ID, None if unknown.

    The driver names an instance after the uid of its PVC, in the project of the cluster. The PersistentVolume of a
    bound PVC contains the name. After the PVC or the tier was deleted, kvtier's own PersistentVolume or the status
    contains it.
    """
    lustre, cluster = pool.spec.tiers.lustre, pool.spec.cluster
    if lustre is None:
        return _recorded(pool, children)
    if lustre.provisioner != "CSI":
        return identity.instance(pool)
    claim = children.claim(names.claim(pool.name))
    if claim is None:
        return _outlived(pool, children, volumes)
    volume = volumes.by_name.get(claim.volume)
    if volume and volume.instance and _reserved(volume, pool, claim):
        return volume.instance
    project = cluster.project if cluster else ""
    return (
        f"projects/{project}/locations/{lustre.zone}/instances/pvc-{claim.uid}"
        if project and claim.uid
        else None
    )


def _reserved(volume: Volume, pool: KVCachePool, claim: Claim) -> bool:
    """Whether Kubernetes reserved the PersistentVolume for this PVC. The author of a PVC may name any."""
    return volume.claim == (pool.namespace, claim.name) and volume.claim_uid in ("", claim.uid)


def _outlived(pool: KVCachePool, children: Children, volumes: Volumes) -> str | None:
    """The instance of a deleted PVC of the driver. The teardown needs it.

    When a namespace is deleted, the PVC may be deleted before the pool, which must still know the instance. It is known
    while its PersistentVolume exists.
    """
    name = _recorded(pool, children)
    reserved = volumes.by_claim.get((pool.namespace, names.claim(pool.name)), ())
    return name if pool.deleting or any(volume.instance == name for volume in reserved) else None


def _recorded(pool: KVCachePool, children: Children) -> str | None:
    own = children.volume(identity.volume_name(pool))
    if own and own.volume and own.volume.driver == LUSTRE_DRIVER:
        return own.volume.instance or None
    recorded = (tier.instance for tier in pool.status.tiers if tier.name == "lustre")
    return next((name for name in recorded if name and _is_own(pool, name)), None)


def _is_own(pool: KVCachePool, instance: str) -> bool:
    """Whether kvtier, or the driver for a PVC, names an instance like this. Others may have written the status."""
    last = instance.rpartition("/")[2]
    return identity.is_full_name(instance) and (last == identity.instance_id(pool) or last.startswith("pvc-"))
