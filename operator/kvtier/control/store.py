"""The last known state of everything that kvtier looks at, fed by watches and put right by every LIST."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kvtier.control.belonging import Place, owner_of, place_of
from kvtier.control.listing import Listing
from kvtier.control.volumes import VolumeStore
from kvtier.facts import cluster
from kvtier.facts.model import Cluster
from kvtier.facts.neighbours import Neighbour, Neighbourhood, parsed
from kvtier.facts.objects import Object
from kvtier.facts.volumes import Volumes, volume
from kvtier.kube.client import CHILDREN, POOL, VOLUME

_KEPT_KINDS = {resource.kind for resource in (POOL, VOLUME, *CHILDREN)}


class Key(NamedTuple):
    """A pool."""

    namespace: str
    name: str


class Store:
    """Pools by key, their children by kind and name, and the cluster's facts.

    Every change answers with the keys that should be looked at. An object that is older than the one
    already here is ignored: watches replay, and a write's own answer arrives before its event.
    """

    def __init__(self) -> None:
        self._pools: dict[Key, Object] = {}
        self._children: dict[Key, dict[tuple[str, str], Object]] = defaultdict(dict)
        self._owners: dict[Place, Key] = {}
        self._facts = cluster.Parts()
        self._listings: dict[str, Listing] = defaultdict(Listing)
        self._volumes: VolumeStore[Key] = VolumeStore(self._owner_of_claim)
        self._neighbours = Neighbourhood()

    def pool(self, key: Key) -> Object | None:
        return self._pools.get(key)

    def everything(self) -> set[Key]:
        """All pools, and the owners of children whose pool is gone."""
        return set(self._pools) | {owner for owner, found in self._children.items() if found}

    def children(self, key: Key) -> Mapping[tuple[str, str], Object]:
        return dict(self._children.get(key, {}))

    def cluster(self) -> Cluster:
        return self._facts.cluster()

    def volumes(self) -> Volumes:
        return self._volumes.snapshot()

    def neighbours(self, key: Key, filesystem: str = "") -> tuple[Neighbour, ...]:
        """Other pools that name the same Lustre instance or file system.

        `filesystem` is the pool's own, where only its existing instance tells it.
        """
        return self._neighbours.of(key, filesystem)

    def set_version(self, version: str) -> set[Key]:
        """Note the API server's version."""
        return self._everyone(self._facts.set_version(version))

    def put(self, kind: str, obj: Object) -> set[Key]:
        """An object as it is now."""
        if kind not in _KEPT_KINDS:
            return self._everyone(self._facts.put(kind, obj))
        self._listings[kind].came(obj)
        if kind == POOL.kind:
            return self._put_pool(obj)
        told = self._volumes.put(obj) if kind == VOLUME.kind else set()
        return self._put_child(kind, obj) | told

    def remove(self, kind: str, obj: Object) -> set[Key]:
        """An object that is gone. Its namesake that was made in the meantime stays."""
        if kind not in _KEPT_KINDS:
            return self._everyone(self._facts.remove(kind, obj))
        self._listings[kind].went(obj)
        if kind == POOL.kind:
            return self._remove_pool(obj)
        told = self._volumes.remove(obj) if kind == VOLUME.kind else set()
        return self._remove_child(place_of(kind, obj), obj) | told

    def list_begins(self, kind: str) -> None:
        """A LIST is about to be asked for, whose answer will go to `replace`."""
        self._listings[kind] = Listing(self._all(kind))

    def replace(self, kind: str, objects: Iterable[Object] | None) -> set[Key]:
        """All objects of a kind, from a LIST (None: the kind is not served). Finds deletions that no watch told."""
        if kind not in _KEPT_KINDS:
            return self._everyone(self._facts.replace(kind, objects or ()))
        if kind == "ComputeClass":
            self._facts.compute_class_served = objects is not None
        listing = self._listings.pop(kind, Listing())
        listed = listing.current(objects or ())
        found = {obj["metadata"]["uid"] for obj in listed}
        ghosts = [
            obj for obj in self._all(kind) if obj["metadata"]["uid"] not in found and listing.missed(obj)
        ]
        touched = [self.remove(kind, obj) for obj in ghosts] + [self.put(kind, obj) for obj in listed]
        return set().union(*touched)

    def _put_pool(self, obj: Object) -> set[Key]:
        key = Key(obj["metadata"]["namespace"], obj["metadata"]["name"])
        known = self._pools.get(key)
        if known is not None and not _newer(obj, known):
            return set()
        self._pools[key] = _slim(obj)
        same = known is not None and _described(known) == _described(obj)
        return {key} if same else {key} | _keys(self._neighbours.put(key, parsed(obj)))

    def _remove_pool(self, obj: Object) -> set[Key]:
        key = Key(obj["metadata"]["namespace"], obj["metadata"]["name"])
        known = self._pools.get(key)
        if known is None or known["metadata"]["uid"] != obj["metadata"]["uid"]:
            return set()
        del self._pools[key]
        return {key} | _keys(self._neighbours.put(key, None))

    def _put_child(self, kind: str, obj: Object) -> set[Key]:
        """A child whose labels were changed leaves the pool that had it, which then sees to that."""
        place, named = place_of(kind, obj), owner_of(obj)
        owner = Key(*named) if named else None
        former = self._owners.get(place)
        known = self._children[former][kind, place.name] if former else None
        if known is not None and not _newer(obj, known):
            return set()
        left = self._remove_child(place, known) if known and former != owner else set()
        if owner is None:
            return left
        self._owners[place] = owner
        self._children[owner][kind, place.name] = _slim(obj)
        return left | {owner} | self._mounts(kind, owner, obj)

    def _remove_child(self, place: Place, obj: Object) -> set[Key]:
        owner, key = self._owners.get(place), (place.kind, place.name)
        if owner is None or self._children[owner][key]["metadata"]["uid"] != obj["metadata"]["uid"]:
            return set()
        del self._owners[place], self._children[owner][key]
        return {owner} | self._mounts(place.kind, owner, None)

    def _mounts(self, kind: str, owner: Key, obj: Object | None) -> set[Key]:
        """Pools to tell which file system the volume of `owner` has."""
        if kind != VOLUME.kind:
            return set()
        found = volume(obj) if obj else None
        return _keys(self._neighbours.mounts(owner, found.filesystem if found else ""))

    def _everyone(self, changed: bool) -> set[Key]:
        return set(self._pools) if changed else set()

    def _owner_of_claim(self, namespace: str, name: str) -> Key | None:
        return self._owners.get(Place("PersistentVolumeClaim", namespace, name))

    def _all(self, kind: str) -> list[Object]:
        if kind == POOL.kind:
            return list(self._pools.values())
        if kind == VOLUME.kind:
            return list(self._volumes.known())
        return [obj for found in self._children.values() for (of, _), obj in found.items() if of == kind]


def _newer(new: Object, known: Object) -> bool:
    """Whether `new` is another object or a later version. Versions of one resource grow as numbers."""
    mine, theirs = new["metadata"], known["metadata"]
    return bool(mine["uid"] != theirs["uid"] or int(mine["resourceVersion"]) > int(theirs["resourceVersion"]))


def _described(obj: Object) -> tuple[Any, ...]:
    """What neighbours are told of a pool comes from these."""
    return obj["metadata"]["uid"], obj.get("spec")


def _keys(names: Iterable[tuple[str, str]]) -> set[Key]:
    return {Key(*name) for name in names}


def _slim(obj: Object) -> dict[str, Any]:
    """The object without what nobody here reads and what is large."""
    return {**obj, "metadata": {k: v for k, v in obj["metadata"].items() if k != "managedFields"}}
