"""FilesystemUnique: no node has to mount two Lustre file systems of the same name.

The Lustre client refuses the second one. The driver also refuses a second PersistentVolume of the same instance
(lustre-csi-driver, NodeStageVolume).
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from kvtier.api import identity, names, placement
from kvtier.api.conditions import FILESYSTEM_UNIQUE, Condition, false, true, unknown
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.context import Context, LustreView
from kvtier.facts.neighbours import Neighbour, neighbour
from kvtier.facts.volumes import Volume

_MOUNTABLE = ("Pending", "Available", "Bound")
_SHOWN = 3


def check(context: Context) -> Condition:
    """Of two pools on the same nodes, one is False (`Neighbour.rank`). PersistentVolumes of others make it Unknown."""
    pool, lustre = context.pool, context.lustre
    if lustre.spec is None:
        return true(FILESYSTEM_UNIQUE, Reason.NOT_NEEDED, "The pool has no Lustre tier.")
    filesystem = _mounted(lustre) or identity.filesystem(pool) or _of_instance(lustre)
    mine = _mine(pool, lustre, filesystem)
    rival = next((one for one in context.facts.neighbours if _in_the_way(pool, mine, one)), None)
    if rival is not None:
        return _taken(rival, mine)
    if not filesystem:
        return unknown(
            FILESYSTEM_UNIQUE,
            Reason.NAME_NOT_SEEN,
            f"The file system name of {identity.instance(pool)} is unknown until the Lustre API returns it.",
        )
    namesakes = context.facts.volumes.by_filesystem.get(filesystem, ())
    foreign = _foreign(namesakes, (pool.namespace, lustre.claim_name), context.facts.neighbours)
    # The nodes of a ComputeClass are tainted: only the pool's own Pods run there.
    if foreign and pool.spec.node_pool.provisioner == "Existing":
        return _pointed_at(filesystem, foreign)
    message = f"No other PersistentVolume on these nodes has file system name {filesystem}."
    return true(FILESYSTEM_UNIQUE, Reason.UNIQUE, message)


def _mounted(lustre: LustreView) -> str:
    """The file system name of the pool's PersistentVolume, empty without one. It has priority over the spec."""
    own = sorted(lustre.volumes, key=lambda one: one.phase != "Bound")
    return next((volume.filesystem for volume in own if volume.filesystem), "")


def _of_instance(lustre: LustreView) -> str:
    return lustre.instance.filesystem if lustre.instance else ""


def _mine(pool: KVCachePool, lustre: LustreView, filesystem: str) -> Neighbour:
    """The pool as the other pools see it."""
    found = neighbour(pool)
    assert found is not None, "the pool has a Lustre tier"
    return replace(found, holds=any(one.filesystem == filesystem for one in lustre.volumes))


def _in_the_way(pool: KVCachePool, mine: Neighbour, other: Neighbour) -> bool:
    """Whether another pool has priority, and may run on the same nodes."""
    apart = mine.zones and other.zones and not set(mine.zones) & set(other.zones)
    return other.rank < mine.rank and not apart and _compatible(mine.selector, other.selector)


def _compatible(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether one node can run Pods of both pools. Nodes of a ComputeClass are tainted for its own Pods."""
    if one.get(placement.COMPUTE_CLASS) != other.get(placement.COMPUTE_CLASS):
        return False
    return all(other.get(key, value) == value for key, value in one.items())


def _taken(rival: Neighbour, mine: Neighbour) -> Condition:
    """The pool must give way to `rival`."""
    who = "The older pool" if rival.created < mine.created else "Pool"
    name = f"{who} {rival.namespace}/{rival.name}"
    apart = "put the pools on different nodes (nodePool.nodeSelector)."
    if rival.instance and rival.instance == mine.instance:
        return false(
            FILESYSTEM_UNIQUE,
            Reason.INSTANCE_SHARED,
            f"{name} uses {rival.instance} on these nodes, and a node mounts an instance only once. "
            f"Add these models to that pool, or {apart}",
        )
    return false(
        FILESYSTEM_UNIQUE,
        Reason.FILESYSTEM_NAME_TAKEN,
        f"{name} uses file system name {rival.filesystem} on these nodes. "
        f"Recreate this pool with another lustre.filesystem, or {apart}",
    )


def _foreign(
    namesakes: Iterable[Volume], claim: tuple[str, str], neighbours: Iterable[Neighbour]
) -> list[Volume]:
    """PersistentVolumes that could be mounted, without those of the pool's own PVC (`claim`) and of other pools."""
    known = {claim, *((one.namespace, names.claim(one.name)) for one in neighbours)}
    return [volume for volume in namesakes if volume.claim not in known and volume.phase in _MOUNTABLE]


def _pointed_at(filesystem: str, foreign: list[Volume]) -> Condition:
    named = ", ".join(sorted(_described(volume) for volume in foreign)[:_SHOWN])
    return unknown(
        FILESYSTEM_UNIQUE,
        Reason.FOREIGN_VOLUME,
        f"File system name {filesystem} is also used by {named}, and a node mounts only one file system of a name. "
        "Keep the Pods that use it off this pool's nodes, or recreate this pool with another lustre.filesystem.",
    )


def _described(volume: Volume) -> str:
    claim = f" (PVC {'/'.join(volume.claim)})" if volume.claim else ""
    return f"PersistentVolume {volume.name}{claim}"
