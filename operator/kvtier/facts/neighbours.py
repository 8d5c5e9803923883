"""Other pools that would mount the same Lustre file system."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kvtier.api import identity, names, placement
from kvtier.api.access import Demand, demands
from kvtier.api.kinds import Object
from kvtier.api.names import PoolKey
from kvtier.api.v1alpha1 import KVCachePool

_BLOCKED = "Blocked"


@dataclass(frozen=True)
class Neighbour:
    """Another pool that names the same instance, or whose instance has the same file system name.

    `selector` and `zones`: the nodes on which it may run. `holds`: a PersistentVolume with this file system name is
    reserved for its PVC. `blocked`: its phase is Blocked. `demands`: what it may use only with a grant. `created`: RFC
    3339.
    """

    namespace: str
    name: str
    created: str
    filesystem: str = ""
    instance: str = ""
    selector: Mapping[str, str] = field(default_factory=dict)
    zones: tuple[str, ...] = ()
    uid: str = ""
    holds: bool = False
    blocked: bool = False
    demands: tuple[Demand, ...] = ()

    @property
    def rank(self) -> tuple[bool, bool, str, str, str, str]:
        """The lowest of two pools has priority.

        A pool that has the file system comes first, then one that can be created now, then the older one. The uid
        decides last, because nobody can choose it.
        """
        return not self.holds, self.blocked, self.created, self.uid, self.namespace, self.name

    @property
    def claim(self) -> tuple[str, str]:
        """Namespace and name of its PVC."""
        return self.namespace, names.claim(self.name)


def created(pool: KVCachePool) -> str:
    """When a pool was created (RFC 3339). A pool that does not exist yet counts as the youngest."""
    return str(pool.metadata.get("creationTimestamp", "9999-12-31T23:59:59Z"))


def neighbour(pool: KVCachePool) -> Neighbour | None:
    """The facts of a pool that other pools need; None without a Lustre tier."""
    if pool.spec.tiers.lustre is None:
        return None
    return Neighbour(
        namespace=pool.namespace,
        name=pool.name,
        created=created(pool),
        filesystem=identity.filesystem(pool) or "",
        instance=identity.instance(pool) or "",
        selector=placement.node_selector(pool),
        zones=tuple(placement.zones(pool)),
        uid=pool.uid,
        blocked=pool.status.phase == _BLOCKED,
        # Whether a network is that of the cluster is known only with the GKE API.
        demands=tuple(one for one in demands(pool) if one.kind != "networks"),
    )


def parsed(obj: Object) -> Neighbour | None:
    """The same for a live object; None also for a spec that cannot be read. Its own reconciliation reports why."""
    status = {"phase": _BLOCKED} if is_blocked(obj) else {}
    try:
        return neighbour(
            KVCachePool.model_validate(
                {"metadata": obj["metadata"], "spec": obj.get("spec"), "status": status}
            )
        )
    except Exception:
        return None


def is_blocked(obj: Object) -> bool:
    """Whether the phase of a live pool is Blocked."""
    status = obj.get("status")
    return isinstance(status, Mapping) and status.get("phase") == _BLOCKED


class Neighbourhood:
    """Which pools share an instance or a file system. Every change returns the other pools that it affects."""

    def __init__(self) -> None:
        self._specified: dict[PoolKey, Neighbour] = {}
        self._volumes: dict[str, tuple[tuple[str, str], str]] = {}
        self._mounted: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        self._claims: dict[tuple[str, str], PoolKey] = {}
        self._pools: dict[PoolKey, Neighbour] = {}
        self._users: defaultdict[str, set[PoolKey]] = defaultdict(set)

    def of(self, pool: PoolKey, filesystem: str = "") -> tuple[Neighbour, ...]:
        """The other pools, by rank. `filesystem`: the pool's own name, if its spec does not give it."""
        own = self._pools.get(pool)
        if own is None:
            return ()
        known = own if own.filesystem else replace(own, filesystem=filesystem)
        found = [self._pools[other] for other in self._sharing(known) - {pool}]
        return tuple(sorted(found, key=lambda one: one.rank))

    def put(self, pool: PoolKey, found: Neighbour | None) -> set[PoolKey]:
        """Record a pool; None for a pool that was deleted or has no Lustre tier."""
        if found:
            self._specified[pool] = found
            self._claims[found.claim] = pool
        elif known := self._specified.pop(pool, None):
            del self._claims[known.claim]
        return self._update(pool)

    def mount(self, volume: str, claim: tuple[str, str] | None, filesystem: str) -> set[PoolKey]:
        """Record a PersistentVolume: the PVC that it is reserved for, None without one, and its file system name."""
        before = self._volumes.pop(volume, None)
        if before:
            self._mounted[before[0]].pop(volume)
        if claim and filesystem:
            self._volumes[volume] = claim, filesystem
            self._mounted[claim][volume] = filesystem
        affected = {one for one in (before[0] if before else None, claim) if one}
        for empty in [one for one in affected if not self._mounted[one]]:
            del self._mounted[empty]
        return {key for one in affected if one in self._claims for key in self._update(self._claims[one])}

    def _update(self, pool: PoolKey) -> set[PoolKey]:
        before, now = self._pools.pop(pool, None), self._specified.get(pool)
        if now:
            mounted = sorted(self._mounted.get(now.claim, {}).values())
            filesystem = now.filesystem or next(iter(mounted), "")
            now = replace(now, filesystem=filesystem, holds=filesystem in mounted)
        for name in _shared_names(before):
            self._users[name].discard(pool)
            if not self._users[name]:
                del self._users[name]
        for name in _shared_names(now):
            self._users[name].add(pool)
        if now:
            self._pools[pool] = now
        return set() if before == now else (self._sharing(before) | self._sharing(now)) - {pool}

    def _sharing(self, pool: Neighbour | None) -> set[PoolKey]:
        return {user for name in _shared_names(pool) for user in self._users.get(name, ())}


def _shared_names(pool: Neighbour | None) -> list[str]:
    """Names that make pools neighbours. They cannot collide: only the full name of an instance has slashes."""
    return [name for name in (pool.instance, pool.filesystem) if name] if pool else []
