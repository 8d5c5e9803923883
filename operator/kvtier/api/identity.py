"""Names of a pool's Lustre instance, file system and storage objects, as far as the spec alone defines them."""

import re
from functools import lru_cache
from typing import Any

from kvtier.api import names
from kvtier.api.v1alpha1 import KVCachePool, LustreTier

_FULL_NAME = re.compile(r"projects/[^/\s]+/locations/[^/\s]+/instances/[^/\s]+")


def is_full_name(text: str | None) -> bool:
    """Whether a text is the name of an instance in full: projects/P/locations/ZONE/instances/ID."""
    return text is not None and _FULL_NAME.fullmatch(text) is not None


def instance_id(pool: KVCachePool) -> str:
    """ID of the instance that kvtier itself creates for a pool."""
    return names.derive(pool.namespace, pool.name)


def instance(pool: KVCachePool) -> str | None:
    """projects/P/locations/ZONE/instances/ID; None if the CSI driver names it, and without a Lustre tier."""
    lustre, cluster = pool.spec.tiers.lustre, pool.spec.cluster
    if lustre is None or lustre.provisioner == "CSI":
        return None
    if lustre.provisioner == "Existing":
        return lustre.instance
    project = cluster.project if cluster else None
    return f"projects/{project}/locations/{lustre.located}/instances/{instance_id(pool)}"


def filesystem(pool: KVCachePool) -> str | None:
    """The file system name; None if only the existing instance defines it, and without a Lustre tier."""
    lustre = pool.spec.tiers.lustre
    if lustre is None:
        return None
    derived = names.filesystem(pool.namespace, pool.name) if lustre.provisioner != "Existing" else None
    return lustre.filesystem or derived


def new_filesystem(pool: KVCachePool) -> str:
    """The file system name of a new instance of the pool."""
    return filesystem(pool) or names.filesystem(pool.namespace, pool.name)


def volume_name(pool: KVCachePool) -> str:
    """Name of the cluster-scoped PersistentVolume that kvtier itself creates."""
    return names.derive(pool.namespace, pool.name, "lustre")


def storage_class_name(pool: KVCachePool, lustre: LustreTier) -> str:
    """Name of the cluster-scoped StorageClass of a pool whose instance the CSI driver creates.

    Different parameters give a different name, because the parameters of a StorageClass are immutable.
    """
    parameters = storage_class_parameters(pool, lustre).values()
    return names.derive(pool.namespace, pool.name, names.digest(*parameters, length=_DIGITS))


_DIGITS = 4
"""Hexadecimal digits of the parameters in the name of a StorageClass."""

_SHOWN = 38
"""Characters of namespace and pool that the name of a StorageClass shows, even if they are long."""


@lru_cache(maxsize=4096)
def is_storage_class(name: str, namespace: str, pool: str) -> bool:
    """Whether a StorageClass has the name that kvtier derives for this pool, with any parameters.

    Its parameters are no longer known when the tier was removed from the spec. The name shows their digest, unless the
    names of namespace and pool are long. Then all digests are tried, which takes a tenth of a second.
    """
    readable = name.rpartition("-")[0]
    if names.derive(namespace, pool, readable[-_DIGITS:]) == name:
        return True
    if len(readable) <= _SHOWN or names.derive(namespace, pool, "0" * _DIGITS)[:_SHOWN] != name[:_SHOWN]:
        return False
    tried = (f"{number:0{_DIGITS}x}" for number in range(16**_DIGITS))
    ends = name.rpartition("-")[2]
    matching = (one for one in tried if names.digest(namespace, pool, one) == ends)
    return any(names.derive(namespace, pool, one) == name for one in matching)


def owns_storage_class(pool: KVCachePool, name: str) -> bool:
    """Whether a StorageClass has a name of this pool: the one of its spec, or an earlier one."""
    lustre = pool.spec.tiers.lustre
    current = lustre is not None and lustre.provisioner == "CSI" and storage_class_name(pool, lustre) == name
    return current or is_storage_class(name, pool.namespace, pool.name)


def storage_class_parameters(pool: KVCachePool, lustre: LustreTier) -> dict[str, Any]:
    """Parameters with which the driver creates an instance. Their order is part of the name of the StorageClass."""
    return {
        "throughput": str(lustre.throughput_per_tib),
        "network": str(lustre.network),
        "filesystem": new_filesystem(pool),
        "zone": lustre.located,
    }
