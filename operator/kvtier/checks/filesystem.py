"""FilesystemUnique: no node would have to mount two file systems of one name.

The Lustre client refuses the second, wherever it is, and the driver refuses even a second volume of the same
instance (lustre-csi-driver, NodeStageVolume).
"""

from collections.abc import Mapping

from kvtier.api import identity, names, placement
from kvtier.api.conditions import FILESYSTEM_UNIQUE, Condition, false, true, unknown
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Facts
from kvtier.facts.neighbours import Neighbour, created
from kvtier.facts.volumes import Volume

_MOUNTABLE = ("Pending", "Available", "Bound")
_SHOWN = 3


def check(pool: KVCachePool, facts: Facts) -> Condition:
    """Of two pools on the same nodes, the elder has the name; volumes of others are only pointed at."""
    if pool.spec.tiers.lustre is None:
        return true(FILESYSTEM_UNIQUE, Reason.NOT_NEEDED, "the pool has no Lustre tier")
    rival = next((one for one in facts.neighbours if _in_the_way(pool, one)), None)
    if rival is not None:
        return _taken(pool, rival)
    filesystem = _filesystem(pool, facts)
    if not filesystem:
        return unknown(
            FILESYSTEM_UNIQUE,
            Reason.NAME_NOT_SEEN,
            f"the file system name of {identity.instance(pool)} is not known before the Lustre API tells it",
        )
    foreign = _foreign(pool, facts, filesystem)
    if foreign:
        return _pointed_at(filesystem, foreign)
    message = f"no other volume on these nodes has file system name {filesystem}"
    return true(FILESYSTEM_UNIQUE, Reason.UNIQUE, message)


def _filesystem(pool: KVCachePool, facts: Facts) -> str:
    """The name that is mounted: of the volume if there is one, else as far as it can be told."""
    mine = sorted(facts.volumes.by_claim.get(_claim(pool), ()), key=lambda one: one.phase != "Bound")
    told = next((volume.filesystem for volume in mine if volume.filesystem), "")
    if told or (known := identity.filesystem(pool)) is None:
        seen = facts.lustre.instance if facts.lustre else None
        return told or (seen.filesystem if seen else "")
    return known


def _in_the_way(pool: KVCachePool, other: Neighbour) -> bool:
    """Whether another pool was there first, and runs on nodes that this one could run on."""
    elder = (other.created, other.namespace, other.name) < (created(pool), pool.namespace, pool.name)
    mine = placement.zones(pool)
    apart = mine and other.zones and not set(mine) & set(other.zones)
    return elder and not apart and _compatible(placement.node_selector(pool), other.selector)


def _compatible(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether a node can run Pods of both: the nodes of a ComputeClass are tainted for its own."""
    if one.get(placement.COMPUTE_CLASS) != other.get(placement.COMPUTE_CLASS):
        return False
    return all(other.get(key, value) == value for key, value in one.items())


def _taken(pool: KVCachePool, rival: Neighbour) -> Condition:
    name = f"{rival.namespace}/{rival.name}"
    apart = "keep the pools on different nodes (nodePool.nodeSelector)"
    if rival.instance and rival.instance == identity.instance(pool):
        return false(
            FILESYSTEM_UNIQUE,
            Reason.INSTANCE_SHARED,
            f"pool {name}, which was there first, uses {rival.instance} on the same nodes, and a node mounts one "
            f"volume of an instance: add these models to that pool, or {apart}",
        )
    return false(
        FILESYSTEM_UNIQUE,
        Reason.FILESYSTEM_NAME_TAKEN,
        f"pool {name}, which was there first, has file system name {rival.filesystem} on the same nodes, and a node "
        f"mounts one file system of a name: make this pool anew with another lustre.filesystem, or {apart}",
    )


def _foreign(pool: KVCachePool, facts: Facts, filesystem: str) -> list[Volume]:
    """Volumes of that name that are neither the pool's nor another pool's, and could be mounted.

    The nodes of a ComputeClass are tainted: only the pool's own Pods run there.
    """
    if pool.spec.node_pool.provisioner == "ComputeClass":
        return []
    known = {_claim(pool), *((one.namespace, names.claim(one.name)) for one in facts.neighbours)}
    return [
        volume
        for volume in facts.volumes.by_filesystem.get(filesystem, ())
        if volume.claim not in known and volume.phase in _MOUNTABLE
    ]


def _pointed_at(filesystem: str, foreign: list[Volume]) -> Condition:
    named = ", ".join(sorted(_described(volume) for volume in foreign)[:_SHOWN])
    return unknown(
        FILESYSTEM_UNIQUE,
        Reason.FOREIGN_VOLUME,
        f"{named} has file system name {filesystem} too, and a node mounts one file system of a name: keep the Pods "
        "that use it off this pool's nodes, or make this pool anew with another lustre.filesystem",
    )


def _described(volume: Volume) -> str:
    claim = f" (claim {'/'.join(volume.claim)})" if volume.claim else ""
    return f"PersistentVolume {volume.name}{claim}"


def _claim(pool: KVCachePool) -> tuple[str, str]:
    return pool.namespace, names.claim(pool.name)
