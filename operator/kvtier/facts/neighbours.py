"""Other pools that would mount the same Lustre file system."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pydantic import ValidationError

from kvtier.api import identity, placement
from kvtier.api.kinds import Object
from kvtier.api.v1alpha1 import KVCachePool

Name = tuple[str, str]
"""Namespace and name of a pool."""


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
    """Pools by instance and by file system. Every change answers with the other pools that it concerns."""

    def __init__(self) -> None:
        self._specified: dict[Name, Neighbour] = {}
        self._mounted: dict[Name, str] = {}
        self._pools: dict[Name, Neighbour] = {}
        self._by_instance: defaultdict[str, set[Name]] = defaultdict(set)
        self._by_filesystem: defaultdict[str, set[Name]] = defaultdict(set)

    def of(self, pool: Name, filesystem: str = "") -> tuple[Neighbour, ...]:
        """The others, the eldest first. `filesystem` is the pool's own, where its spec does not tell."""
        own = self._pools.get(pool)
        if own is None:
            return ()
        known = own if own.filesystem else replace(own, filesystem=filesystem)
        found = [self._pools[one] for one in self._sharing(known) - {pool}]
        return tuple(sorted(found, key=lambda one: (one.created, one.namespace, one.name)))

    def put(self, pool: Name, found: Neighbour | None) -> set[Name]:
        """A pool as it is now; None for one that is gone or concerns nobody."""
        if found:
            self._specified[pool] = found
        else:
            self._specified.pop(pool, None)
        return self._changed(pool)

    def mounts(self, pool: Name, filesystem: str) -> set[Name]:
        """The file system of a pool's own volume, which tells what the spec may leave open; empty without one."""
        if filesystem:
            self._mounted[pool] = filesystem
        else:
            self._mounted.pop(pool, None)
        return self._changed(pool)

    def _changed(self, pool: Name) -> set[Name]:
        before, now = self._pools.pop(pool, None), self._specified.get(pool)
        if now and not now.filesystem:
            now = replace(now, filesystem=self._mounted.get(pool, ""))
        for known, add in ((before, False), (now, True)):
            self._index(pool, known, add)
        if now:
            self._pools[pool] = now
        if before == now:
            return set()
        return {one for known in (before, now) if known for one in self._sharing(known)} - {pool}

    def _index(self, pool: Name, known: Neighbour | None, add: bool) -> None:
        for index, key in self._keys(known):
            index[key].add(pool) if add else index[key].discard(pool)
            if not index[key]:
                del index[key]

    def _sharing(self, known: Neighbour) -> set[Name]:
        return {one for index, key in self._keys(known) for one in index.get(key, ())}

    def _keys(self, known: Neighbour | None) -> list[tuple[defaultdict[str, set[Name]], str]]:
        if known is None:
            return []
        by_name = [(self._by_instance, known.instance), (self._by_filesystem, known.filesystem)]
        return [(index, key) for index, key in by_name if key]
