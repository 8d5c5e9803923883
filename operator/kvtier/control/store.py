"""The cache of the cluster: pools, their children, PersistentVolumes and facts, from watches and LISTs."""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kvtier.api import kinds
from kvtier.api.kinds import CHILD_KINDS, CLAIM, COMPUTE_CLASS, POOL, VOLUME, Object
from kvtier.api.names import (
    ANNOTATION_POOL,
    LABEL_POOL,
    LABEL_POOL_NAMESPACE,
    PoolKey,
    label_value,
)
from kvtier.facts.children import Children, children
from kvtier.facts.cluster import ClusterParts
from kvtier.facts.model import Cluster
from kvtier.facts.neighbours import Neighbour, Neighbourhood, is_blocked, parsed
from kvtier.facts.policy import PolicyFacts
from kvtier.facts.volumes import Volume, Volumes, volume

logger = logging.getLogger(__name__)

_KEPT_KINDS = {POOL.kind, *(child.kind for child in CHILD_KINDS)}


class _Place(NamedTuple):
    """Kind, namespace and name of a child, unique in the cluster."""

    kind: str
    namespace: str | None
    name: str


class Store:
    """Pools, their children by kind and name, all Lustre PersistentVolumes, and the facts of the cluster.

    Every change returns the pools to reconcile. An object that is older than the stored one is ignored: watches replay,
    and the answer to a write arrives before its event.
    """

    def __init__(self) -> None:
        self._pools: dict[PoolKey, Object] = {}
        self._children: dict[PoolKey, dict[kinds.Key, Object]] = defaultdict(dict)
        self._views: dict[PoolKey, Children] = {}
        self._owners: dict[_Place, PoolKey] = {}
        self._unchanged: dict[_Place, tuple[str, str]] = {}
        self._cluster = ClusterParts()
        self._lists: dict[str, _List] = defaultdict(_List)
        self._volumes = _LustreVolumes(self._owner_of_claim)
        self._neighbours = Neighbourhood()
        self.unlisted: dict[str, str] = {}
        """Kinds that could not be listed, with the reason. Nothing may be concluded from their objects."""
        self._policy = PolicyFacts(problem="Unread")

    def pool(self, key: PoolKey) -> Object | None:
        return self._pools.get(key)

    def all_keys(self) -> set[PoolKey]:
        """All pools, and the owners of children whose pool no longer exists."""
        return set(self._pools) | {owner for owner, found in self._children.items() if found}

    def children(self, key: PoolKey) -> Children:
        """The children of a pool as values. The same object is returned until a child changes."""
        if not self._children.get(key):
            return Children()
        if key not in self._views:
            self._views[key] = children(self._children[key])
        return self._views[key]

    def objects(self, key: PoolKey) -> Mapping[kinds.Key, Object]:
        """The children of a pool as the API server returned them."""
        return dict(self._children.get(key, {}))

    def cluster(self) -> Cluster:
        return self._cluster.cluster()

    def volumes(self) -> Volumes:
        return self._volumes.snapshot()

    def neighbours(self, key: PoolKey, filesystem: str = "") -> tuple[Neighbour, ...]:
        """Other pools that name the same Lustre instance or file system.

        `filesystem` is the pool's own name, if only its existing instance defines it.
        """
        return self._neighbours.of(key, filesystem)

    def note_unchanged(self, kind: str, obj: Object) -> None:
        """Remember that an apply changed nothing in a stored child, until the child changes."""
        place = _place(kind, obj)
        if place in self._owners:
            self._unchanged[place] = _exact(obj)

    def is_unchanged(self, kind: str, obj: Object) -> bool:
        """Whether an apply changed nothing in this version of a child."""
        return self._unchanged.get(_place(kind, obj)) == _exact(obj)

    def policy(self) -> PolicyFacts:
        """The policy of the installer. Nothing is granted until it was read."""
        return self._policy

    def set_policy(self, policy: PolicyFacts) -> set[PoolKey]:
        """Store the policy of the installer."""
        changed, self._policy = self._policy != policy, policy
        return self._all_pools_if(changed)

    def set_version(self, version: str) -> set[PoolKey]:
        """Store the version of the API server."""
        return self._all_pools_if(self._cluster.set_version(version))

    def put(self, kind: str, obj: Object) -> set[PoolKey]:
        """Store an object as it is now. One that cannot be stored is logged, and counts as unchanged."""
        return self._safely(self._put, kind, obj)

    def remove(self, kind: str, obj: Object) -> set[PoolKey]:
        """Remove a deleted object. A newer object with the same name stays."""
        return self._safely(self._remove, kind, obj)

    def _safely(self, change: Callable[[str, Object], set[PoolKey]], kind: str, obj: Object) -> set[PoolKey]:
        """Make a change. An unexpected error concerns this object alone: it must not end a watch or a LIST."""
        try:
            return change(kind, obj)
        except Exception:
            metadata = obj["metadata"]
            logger.exception(
                "Could not store %s %s/%s", kind, metadata.get("namespace", ""), metadata["name"]
            )
            return set()

    def _put(self, kind: str, obj: Object) -> set[PoolKey]:
        if kind not in _KEPT_KINDS:
            return self._all_pools_if(self._cluster.put(kind, obj))
        self._lists[kind].added(obj)
        if kind == POOL.kind:
            return self._put_pool(obj)
        owners = self._volumes.put(obj) | self._mount(obj) if kind == VOLUME.kind else set()
        return self._put_child(kind, obj) | owners

    def _remove(self, kind: str, obj: Object) -> set[PoolKey]:
        if kind not in _KEPT_KINDS:
            return self._all_pools_if(self._cluster.remove(kind, obj))
        self._lists[kind].deleted(obj)
        if kind == POOL.kind:
            return self._remove_pool(obj)
        owners = self._volumes.remove(obj) | self._mount(obj) if kind == VOLUME.kind else set()
        return self._remove_child(_place(kind, obj), obj) | owners

    def list_begins(self, kind: str) -> None:
        """Note that a LIST starts. Its answer goes to `replace`."""
        self._lists[kind] = _List(self._all(kind))

    def replace(self, kind: str, objects: Iterable[Object] | None) -> set[PoolKey]:
        """Store all objects of a kind from a LIST (None: the kind is not served). Finds deletions missed by watches."""
        self.unlisted.pop(kind, None)
        if kind not in _KEPT_KINDS:
            return self._replace_facts(kind, list(objects or ()))
        if kind == COMPUTE_CLASS.kind:
            self._cluster.compute_class_served = objects is not None
        answer = self._lists.pop(kind, _List())
        current = answer.existing(objects or ())
        listed = {_uid(obj) for obj in current}
        gone = [obj for obj in self._all(kind) if _uid(obj) not in listed and answer.covers(obj)]
        changes = [self.remove(kind, obj) for obj in gone] + [self.put(kind, obj) for obj in current]
        return set().union(*changes)

    def _replace_facts(self, kind: str, objects: Sequence[Object]) -> set[PoolKey]:
        gone = self._cluster.names(kind) - {obj["metadata"]["name"] for obj in objects}
        changes = [self.remove(kind, {"metadata": {"name": name}}) for name in gone]
        return set().union(*changes, *(self.put(kind, obj) for obj in objects))

    def _put_pool(self, obj: Object) -> set[PoolKey]:
        key = PoolKey(obj["metadata"]["namespace"], obj["metadata"]["name"])
        known, kept = self._pools.get(key), _without_managed_fields(obj)
        if known is not None and not _is_newer(obj, known) and not _reads_differently(kept, known):
            return set()
        self._pools[key] = kept
        if known is not None and _is_same_neighbour(known, obj):
            return {key}
        return {key} | self._neighbours.put(key, parsed(obj))

    def _remove_pool(self, obj: Object) -> set[PoolKey]:
        key = PoolKey(obj["metadata"]["namespace"], obj["metadata"]["name"])
        known = self._pools.get(key)
        if known is None or _uid(known) != _uid(obj):
            return set()
        del self._pools[key]
        return {key} | self._neighbours.put(key, None)

    def _put_child(self, kind: str, obj: Object) -> set[PoolKey]:
        """Store a child. If its labels changed, its former pool loses it and is reconciled, too."""
        place, owner = _place(kind, obj), owner_of(obj)
        former = self._owners.get(place)
        known = self._children[former][kind, place.name] if former else None
        if known is not None and not _is_newer(obj, known):
            return set()
        left = self._remove_child(place, known) if known and former != owner else set()
        if owner is None:
            return left
        self._owners[place] = owner
        self._unchanged.pop(place, None)
        self._children[owner][kind, place.name] = _without_managed_fields(obj)
        self._views.pop(owner, None)
        return left | {owner}

    def _remove_child(self, place: _Place, obj: Object) -> set[PoolKey]:
        owner, key = self._owners.get(place), (place.kind, place.name)
        if owner is None or _uid(self._children[owner][key]) != _uid(obj):
            return set()
        del self._owners[place], self._children[owner][key]
        self._unchanged.pop(place, None)
        if not self._children[owner]:
            del self._children[owner]
        self._views.pop(owner, None)
        return {owner}

    def _mount(self, obj: Object) -> set[PoolKey]:
        """Neighbours affected by a PersistentVolume, which was added, changed or deleted."""
        name = obj["metadata"]["name"]
        known = self._volumes.get(name)
        return self._neighbours.mount(name, known.claim if known else None, known.filesystem if known else "")

    def _all_pools_if(self, changed: bool) -> set[PoolKey]:
        return set(self._pools) if changed else set()

    def _owner_of_claim(self, namespace: str, name: str) -> PoolKey | None:
        return self._owners.get(_Place(CLAIM.kind, namespace, name))

    def _all(self, kind: str) -> list[Object]:
        if kind == POOL.kind:
            return list(self._pools.values())
        if kind == VOLUME.kind:
            return self._volumes.known()
        return [obj for found in self._children.values() for (of, _), obj in found.items() if of == kind]


class _List:
    """One LIST of one kind, from its request to its answer.

    The answer shows the state at the request, which with several pages is seconds old. An object that was created since
    then is missing in it, and an object that was deleted since then may still be in it.
    """

    def __init__(self, known: Iterable[Object] | None = None) -> None:
        """`known` is what was stored at the request; None while no LIST is in progress."""
        self._before = None if known is None else {_uid(obj) for obj in known}
        self._gone: set[str] = set()

    def added(self, obj: Object) -> None:
        self._gone.discard(_uid(obj))

    def deleted(self, obj: Object) -> None:
        if self._before is not None:
            self._gone.add(_uid(obj))

    def covers(self, obj: Object) -> bool:
        """Whether the answer contains an object if it still exists."""
        return self._before is None or _uid(obj) in self._before

    def existing(self, listed: Iterable[Object]) -> list[Object]:
        """The listed objects without those that were deleted since the request."""
        return [obj for obj in listed if _uid(obj) not in self._gone]


class _LustreVolumes:
    """Lustre PersistentVolumes by name. The owner of a PVC is remembered after the PVC was deleted."""

    def __init__(self, owner_of_claim: Callable[[str, str], PoolKey | None]) -> None:
        """`owner_of_claim` takes namespace and name of a PVC."""
        self._owner_of_claim = owner_of_claim
        self._owners: dict[str, PoolKey] = {}
        self._volumes: dict[str, Volume] = {}
        self._others: dict[str, str] = {}
        """By name: the uids of PersistentVolumes of other drivers."""
        self._snapshot: Volumes | None = None

    def snapshot(self) -> Volumes:
        if self._snapshot is None:
            self._snapshot = Volumes(dict(self._volumes), frozenset(self._others))
        return self._snapshot

    def get(self, name: str) -> Volume | None:
        return self._volumes.get(name)

    def put(self, obj: Object) -> set[PoolKey]:
        """Store a PersistentVolume. Return its owner if more than its version changed."""
        found = volume(obj)
        if found is None:
            return self._put_other(obj)
        known = self._volumes.get(found.name)
        if known and known.uid == found.uid and int(found.version) <= int(known.version):
            return set()
        self._volumes[found.name] = found
        self._snapshot = None
        return self._owner(found) if known != found else set()

    def _put_other(self, obj: Object) -> set[PoolKey]:
        """Store that a PersistentVolume has another driver. This affects no pool."""
        name = obj["metadata"]["name"]
        if self._others.get(name) != _uid(obj):
            self._others[name] = _uid(obj)
            self._snapshot = None
        return set()

    def remove(self, obj: Object) -> set[PoolKey]:
        """Remove a deleted PersistentVolume. Return its owner."""
        if self._others.get(obj["metadata"]["name"]) == _uid(obj):
            del self._others[obj["metadata"]["name"]]
            self._snapshot = None
        known = self._volumes.get(obj["metadata"]["name"])
        if known is None or known.uid != _uid(obj):
            return set()
        del self._volumes[known.name]
        self._snapshot = None
        owner = self._owner(known)
        self._owners.pop(known.name, None)
        return owner

    def known(self) -> list[Object]:
        """Name and uid of every PersistentVolume, for the comparison with a LIST."""
        uids = {**self._others, **{one.name: one.uid for one in self._volumes.values()}}
        return [{"metadata": {"name": name, "uid": uid}} for name, uid in uids.items()]

    def _owner(self, of: Volume) -> set[PoolKey]:
        owner = self._owner_of_claim(*of.claim) if of.claim else None
        if owner is not None:
            self._owners[of.name] = owner
        return {self._owners[of.name]} if of.name in self._owners else set()


def owner_of(obj: Object) -> PoolKey | None:
    """The pool that the labels of a child name. The annotation has the full name if it is too long for a label.

    Labels that contradict the annotation, or name another namespace, are a mistake. Such a child has no owner, so that
    no pool deletes the child of another.
    """
    metadata = obj["metadata"]
    labels, annotations = metadata.get("labels", {}), metadata.get("annotations", {})
    label, namespace = labels.get(LABEL_POOL, ""), labels.get(LABEL_POOL_NAMESPACE)
    if not namespace or metadata.get("namespace", namespace) != namespace:
        return None
    applied_for, _, name = annotations.get(ANNOTATION_POOL, f"{namespace}/{label}").partition("/")
    return PoolKey(namespace, name) if (applied_for, label_value(name)) == (namespace, label) else None


def _place(kind: str, obj: Object) -> _Place:
    return _Place(kind, obj["metadata"].get("namespace"), obj["metadata"]["name"])


def _uid(obj: Object) -> str:
    return str(obj["metadata"]["uid"])


def _exact(obj: Object) -> tuple[str, str]:
    """Uid and version."""
    return _uid(obj), str(obj["metadata"].get("resourceVersion", ""))


def _is_newer(new: Object, known: Object) -> bool:
    """Whether `new` is another object or a later version. Versions of one resource are increasing numbers."""
    mine, theirs = new["metadata"], known["metadata"]
    return bool(mine["uid"] != theirs["uid"] or int(mine["resourceVersion"]) > int(theirs["resourceVersion"]))


def _reads_differently(new: Object, known: Object) -> bool:
    """Whether the API server returns the same version with other content: its CRD has changed meanwhile.

    A watch that started before prunes the fields that are new in the CRD.
    """
    return _exact(new) == _exact(known) and new != known


def _is_same_neighbour(one: Object, other: Object) -> bool:
    """Whether two versions of a pool are the same to other pools."""
    same = _uid(one) == _uid(other) and one.get("spec") == other.get("spec")
    return same and is_blocked(one) == is_blocked(other)


def _without_managed_fields(obj: Object) -> dict[str, Any]:
    """Drop managedFields: they are large, and nothing here reads them."""
    return {**obj, "metadata": {k: v for k, v in obj["metadata"].items() if k != "managedFields"}}
