"""Other pools that would mount the same Lustre file system."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kvtier.api import identity, placement
from kvtier.api.kinds import Object
from kvtier.api.names import PoolKey
from kvtier.api.v1alpha1 import KVCachePool


@dataclass(frozen=True)
class Neighbour:
    """Another pool that names the same instance, or whose instance has the same file system name.

    `selector` and `zones`: the nodes on which it may run. `created`: RFC 3339; the older pool has priority.
    """

    namespace: str
    name: str
    created: str
    filesystem: str = ""
    instance: str = ""
    selector: Mapping[str, str] = field(default_factory=dict)
    zones: tuple[str, ...] = ()


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
    )


def parsed(obj: Object) -> Neighbour | None:
    """The same for a live object; None also for a spec that cannot be read. Its own reconciliation reports why."""
    try:
        return neighbour(KVCachePool.model_validate({"metadata": obj["metadata"], "spec": obj.get("spec")}))
    except Exception:
        return None


class Neighbourhood:
    """Which pools share an instance or a file system. Every change returns the other pools that it affects."""

    def __init__(self) -> None:
        self._specified: dict[PoolKey, Neighbour] = {}
        self._mounted: dict[PoolKey, str] = {}
        self._pools: dict[PoolKey, Neighbour] = {}
        self._users: defaultdict[str, set[PoolKey]] = defaultdict(set)

    def of(self, pool: PoolKey, filesystem: str = "") -> tuple[Neighbour, ...]:
        """The other pools, oldest first. `filesystem`: the pool's own name, if its spec does not give it."""
        own = self._pools.get(pool)
        if own is None:
            return ()
        known = own if own.filesystem else replace(own, filesystem=filesystem)
        found = [self._pools[other] for other in self._sharing(known) - {pool}]
        return tuple(sorted(found, key=lambda one: (one.created, one.namespace, one.name)))

    def put(self, pool: PoolKey, found: Neighbour | None) -> set[PoolKey]:
        """Record a pool; None for a pool that was deleted or has no Lustre tier."""
        if found:
            self._specified[pool] = found
        else:
            self._specified.pop(pool, None)
        return self._update(pool)

    def mount(self, pool: PoolKey, filesystem: str) -> set[PoolKey]:
        """Record the file system name of a pool's PersistentVolume, which the spec may not give; empty without one."""
        if filesystem:
            self._mounted[pool] = filesystem
        else:
            self._mounted.pop(pool, None)
        return self._update(pool)

    def _update(self, pool: PoolKey) -> set[PoolKey]:
        before, now = self._pools.pop(pool, None), self._specified.get(pool)
        if now and not now.filesystem:
            now = replace(now, filesystem=self._mounted.get(pool, ""))
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
