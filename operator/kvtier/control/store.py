"""Which pool a child belongs to, by what it says itself."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from kvtier.api.kinds import POOL, VOLUME, Object
from kvtier.api.names import ANNOTATION_POOL, LABEL_POOL, LABEL_POOL_NAMESPACE, label_value
from kvtier.facts import cluster
from kvtier.facts.model import Cluster
from kvtier.facts.neighbours import Neighbour, Neighbourhood, parsed
from kvtier.facts.volumes import Volume, Volumes, volume
from kvtier.kube.client import CHILDREN


class Place(NamedTuple):
    """Where the API server keeps a child."""

    kind: str
    namespace: str | None
    name: str


def place_of(kind: str, obj: Object) -> Place:
    return Place(kind, obj["metadata"].get("namespace"), obj["metadata"]["name"])


def owner_of(obj: Object) -> tuple[str, str] | None:
    """Namespace and name of the pool that the labels name; in full, from the annotation, where a label cuts it.

    Labels that contradict the annotation, or point into another namespace, are somebody's mistake. Nobody owns
    such a child, so that no pool deletes what is another's.
    """
    metadata = obj["metadata"]
    labels, annotations = metadata.get("labels", {}), metadata.get("annotations", {})
    label, namespace = labels.get(LABEL_POOL, ""), labels.get(LABEL_POOL_NAMESPACE)
    if not namespace or metadata.get("namespace", namespace) != namespace:
        return None
    applied_for, _, name = annotations.get(ANNOTATION_POOL, f"{namespace}/{label}").partition("/")
    return (namespace, name) if (applied_for, label_value(name)) == (namespace, label) else None


class Listing:
    """One LIST of one kind, from its request to its answer.

    Its answer is as old as the request, and with several pages that is seconds. An object that came meanwhile
    is missing in it, and one that went meanwhile may still be in it.
    """

    def __init__(self, known: Iterable[Object] | None = None) -> None:
        """`known` is what was known at the request; None while no LIST is under way."""
        self._before = None if known is None else {_uid(obj) for obj in known}
        self._gone: set[str] = set()

    def came(self, obj: Object) -> None:
        self._gone.discard(_uid(obj))

    def went(self, obj: Object) -> None:
        if self._before is not None:
            self._gone.add(_uid(obj))

    def missed(self, obj: Object) -> bool:
        """Whether an object that is known, but not listed, is gone."""
        return self._before is None or _uid(obj) in self._before

    def current(self, listed: Iterable[Object]) -> list[Object]:
        """What is listed and not gone since."""
        return [obj for obj in listed if _uid(obj) not in self._gone]


def _uid(obj: Object) -> str:
    return str(obj["metadata"]["uid"])


Owner = TypeVar("Owner")


class VolumeStore(Generic[Owner]):
    """Volumes by name. Who owned a volume's claim is remembered after the claim has gone.

    Volumes of other drivers are not kept.
    """

    def __init__(self, owner: Callable[[str, str], Owner | None]) -> None:
        """`owner` tells whose a claim is, by its namespace and name."""
        self._owner = owner
        self._owners: dict[str, Owner] = {}
        self._volumes: dict[str, Volume] = {}
        self._versions: dict[str, int] = {}
        self._built: Volumes | None = None

    def snapshot(self) -> Volumes:
        if self._built is None:
            self._built = Volumes(dict(self._volumes))
        return self._built

    def put(self, obj: Object) -> set[Owner]:
        """A volume as it is now. Answers whose it is, if that is new."""
        found = volume(obj)
        if found is None or not self._newer(found, obj):
            return set()
        changed = self._volumes.get(found.name) != found
        self._volumes[found.name] = found
        self._versions[found.name] = int(obj["metadata"]["resourceVersion"])
        self._built = None
        return self._told(found) if changed else set()

    def remove(self, obj: Object) -> set[Owner]:
        """A volume that is gone."""
        known = self._volumes.get(obj["metadata"]["name"])
        if known is None or known.uid != obj["metadata"]["uid"]:
            return set()
        del self._volumes[known.name], self._versions[known.name]
        told = self._told(known)
        self._owners.pop(known.name, None)
        return told

    def known(self) -> Iterable[Object]:
        """Just enough of every volume to tell whether a LIST has it."""
        return [{"metadata": {"name": v.name, "uid": v.uid}} for v in self._volumes.values()]

    def _newer(self, found: Volume, obj: Object) -> bool:
        known = self._volumes.get(found.name)
        version = int(obj["metadata"]["resourceVersion"])
        return known is None or known.uid != found.uid or version > self._versions[found.name]

    def _told(self, changed: Volume) -> set[Owner]:
        self._built = None
        owner = self._owner(*changed.claim) if changed.claim else None
        if owner is not None:
            self._owners[changed.name] = owner
        return {self._owners[changed.name]} if changed.name in self._owners else set()


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
