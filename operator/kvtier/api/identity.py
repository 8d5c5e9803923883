"""What a pool's spec alone says of its Lustre instance and its file system."""

from typing import Any

from kvtier.api import names
from kvtier.api.v1alpha1 import KVCachePool, LustreTier


def instance_id(pool: KVCachePool) -> str:
    """Id of the instance that kvtier itself makes for a pool."""
    return names.derive(pool.namespace, pool.name)


def instance(pool: KVCachePool) -> str | None:
    """projects/P/locations/ZONE/instances/ID; None where the CSI driver names it, and without a shared tier."""
    lustre, cluster = pool.spec.tiers.lustre, pool.spec.cluster
    if lustre is None or lustre.provisioner == "CSI":
        return None
    if lustre.provisioner == "Existing":
        return lustre.instance
    project = cluster.project if cluster else None
    return f"projects/{project}/locations/{lustre.located}/instances/{instance_id(pool)}"


def filesystem(pool: KVCachePool) -> str | None:
    """The file system name; None where only the existing instance knows it, and without a shared tier."""
    lustre = pool.spec.tiers.lustre
    if lustre is None:
        return None
    derived = names.filesystem(pool.namespace, pool.name) if lustre.provisioner != "Existing" else None
    return lustre.filesystem or derived


def new_filesystem(pool: KVCachePool) -> str:
    """The file system name that a new instance of the pool gets."""
    return filesystem(pool) or names.filesystem(pool.namespace, pool.name)


def volume_name(pool: KVCachePool) -> str:
    """Name of the PersistentVolume that kvtier itself makes, which is cluster-scoped."""
    return names.derive(pool.namespace, pool.name, "lustre")


def storage_class_name(pool: KVCachePool, lustre: LustreTier) -> str:
    """Name of the StorageClass of a pool whose instance the CSI driver makes, which is cluster-scoped.

    Other parameters make another name, because Kubernetes lets nobody change those of a class.
    """
    parameters = storage_class_parameters(pool, lustre).values()
    return names.derive(pool.namespace, pool.name, names.digest(*parameters, length=4))


def storage_class_parameters(pool: KVCachePool, lustre: LustreTier) -> dict[str, Any]:
    """Parameters by which the driver makes an instance, in the order in which the name of the class is made of it."""
    return {
        "throughput": str(lustre.throughput_per_tib),
        "network": str(lustre.network),
        "filesystem": new_filesystem(pool),
        "zone": lustre.located,
    }
