"""Other pools that would mount the same Lustre file system."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pydantic import ValidationError

from kvtier.api import identity, placement
from kvtier.api.kinds import Object
from kvtier.api.names import PoolKey
from kvtier.api.v1alpha1 import KVCachePool


@dataclass(frozen=True)
class Neighbour:
    """Another pool that names the same instance, or whose instance has the same file system name.

    `selector` and `zones` say on which nodes it runs, `created` (RFC 3339) who was there first.
    """

    namespace: str
    name: str
    created: str
    filesystem: str = ""
    instance: str = ""
    selector: Mapping[str, str] = field(default_factory=dict)
    zones: tuple[str, ...] = ()


def created(pool: KVCachePool) -> str:
    """When a pool was made (RFC 3339); after all others, if it is not made yet."""
    return str(pool.metadata.get("creationTimestamp", "9999-12-31T23:59:59Z"))


def neighbour(pool: KVCachePool) -> Neighbour | None:
    """What others have to know of a pool; None without a shared tier."""
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
    """The same of a live object; None too for a spec that is not valid."""
    try:
        return neighbour(KVCachePool.model_validate({"metadata": obj["metadata"], "spec": obj.get("spec")}))
    except ValidationError:
        return None


class Neighbourhood:
    """Which pools share an instance or a file system. Every change answers with the other pools that it concerns."""

    def __init__(self) -> None:
        self._specified: dict[PoolKey, Neighbour] = {}
        self._mounted: dict[PoolKey, str] = {}
        self._pools: dict[PoolKey, Neighbour] = {}
        self._users: defaultdict[str, set[PoolKey]] = defaultdict(set)

    def of(self, pool: PoolKey, filesystem: str = "") -> tuple[Neighbour, ...]:
        """The others, the eldest first. `filesystem` is the pool's own, where its spec does not tell."""
        own = self._pools.get(pool)
        if own is None:
            return ()
        known = own if own.filesystem else replace(own, filesystem=filesystem)
        found = [self._pools[other] for other in self._sharing(known) - {pool}]
        return tuple(sorted(found, key=lambda one: (one.created, one.namespace, one.name)))

    def put(self, pool: PoolKey, found: Neighbour | None) -> set[PoolKey]:
        """A pool as it is now; None for one that is gone or concerns nobody."""
        if found:
            self._specified[pool] = found
        else:
            self._specified.pop(pool, None)
        return self._update(pool)

    def mount(self, pool: PoolKey, filesystem: str) -> set[PoolKey]:
        """The file system of a pool's own volume, which tells what the spec may leave open; empty without one."""
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
    """What makes pools neighbours. An instance's full name has slashes, a file system's has none."""
    return [name for name in (pool.instance, pool.filesystem) if name] if pool else []
