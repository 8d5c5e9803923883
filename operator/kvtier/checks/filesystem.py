"""FilesystemUnique: no node would have to mount two file systems of one name.

The Lustre client refuses the second, wherever it is, and the driver refuses even a second volume of the same
instance (lustre-csi-driver, NodeStageVolume).
"""

from collections.abc import Iterable, Mapping

from kvtier.api import identity, names, placement
from kvtier.api.conditions import FILESYSTEM_UNIQUE, Condition, false, true, unknown
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.context import Context, LustreView
from kvtier.facts.neighbours import Neighbour, created
from kvtier.facts.volumes import Volume

_MOUNTABLE = ("Pending", "Available", "Bound")
_SHOWN = 3


def check(context: Context) -> Condition:
    """Of two pools on the same nodes, the elder has the name; volumes of others are only pointed at."""
    pool, lustre = context.pool, context.lustre
    if lustre.spec is None:
        return true(FILESYSTEM_UNIQUE, Reason.NOT_NEEDED, "the pool has no Lustre tier")
    rival = next((one for one in context.facts.neighbours if _in_the_way(pool, one)), None)
    if rival is not None:
        return _taken(rival, identity.instance(pool))
    filesystem = _mounted(lustre) or identity.filesystem(pool) or _of_instance(lustre)
    if not filesystem:
        return unknown(
            FILESYSTEM_UNIQUE,
            Reason.NAME_NOT_SEEN,
            f"the file system name of {identity.instance(pool)} is not known before the Lustre API tells it",
        )
    namesakes = context.facts.volumes.by_filesystem.get(filesystem, ())
    foreign = _foreign(namesakes, (pool.namespace, lustre.claim_name), context.facts.neighbours)
    # The nodes of a ComputeClass are tainted: only the pool's own Pods run there.
    if foreign and pool.spec.node_pool.provisioner == "Existing":
        return _pointed_at(filesystem, foreign)
    message = f"no other volume on these nodes has file system name {filesystem}"
    return true(FILESYSTEM_UNIQUE, Reason.UNIQUE, message)


def _mounted(lustre: LustreView) -> str:
    """The file system name of the pool's volume, empty without one: that name counts, whatever the spec says."""
    own = sorted(lustre.volumes, key=lambda one: one.phase != "Bound")
    return next((volume.filesystem for volume in own if volume.filesystem), "")


def _of_instance(lustre: LustreView) -> str:
    return lustre.instance.filesystem if lustre.instance else ""


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


def _taken(rival: Neighbour, instance: str | None) -> Condition:
    """`instance` is the pool's own, by its full name."""
    name = f"{rival.namespace}/{rival.name}"
    apart = "keep the pools on different nodes (nodePool.nodeSelector)"
    if rival.instance and rival.instance == instance:
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


def _foreign(
    namesakes: Iterable[Volume], claim: tuple[str, str], neighbours: Iterable[Neighbour]
) -> list[Volume]:
    """Volumes that could be mounted, and are reserved for neither the pool's own `claim` nor that of a neighbour."""
    known = {claim, *((one.namespace, names.claim(one.name)) for one in neighbours)}
    return [volume for volume in namesakes if volume.claim not in known and volume.phase in _MOUNTABLE]


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
