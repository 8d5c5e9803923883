"""The last known state of everything that kvtier looks at, fed by watches and put right by every LIST."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kvtier.api.names import LABEL_POOL, LABEL_POOL_NAMESPACE, label_value
from kvtier.control.listing import Listing
from kvtier.facts import cluster
from kvtier.facts.model import Cluster, Object
from kvtier.kube.client import CHILDREN, POOL

_KEPT_KINDS = {resource.kind for resource in (POOL, *CHILDREN)}


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
        self._labels: dict[Key, Key] = {}
        self._facts = cluster.Parts()
        self._listings: dict[str, Listing] = defaultdict(Listing)

    def pool(self, key: Key) -> Object | None:
        return self._pools.get(key)

    def everything(self) -> set[Key]:
        """All pools, and the owners of children whose pool is gone."""
        return set(self._pools) | {
            self._labels.get(label, label) for label, found in self._children.items() if found
        }

    def children(self, key: Key) -> Mapping[tuple[str, str], Object]:
        return dict(self._children.get(_label_key(key), {}))

    def cluster(self) -> Cluster:
        return self._facts.cluster()

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
        label = _owner(obj)
        if label is None:
            return set()
        known = self._children[label].get((kind, obj["metadata"]["name"]))
        if known is not None and not _newer(obj, known):
            return set()
        self._children[label][kind, obj["metadata"]["name"]] = _slim(obj)
        return {self._labels.get(label, label)}

    def remove(self, kind: str, obj: Object) -> set[Key]:
        """An object that is gone. Its namesake that was made in the meantime stays."""
        if kind not in _KEPT_KINDS:
            return self._everyone(self._facts.remove(kind, obj))
        self._listings[kind].went(obj)
        if kind == POOL.kind:
            return self._remove_pool(obj)
        label, key = _owner(obj), (kind, obj["metadata"]["name"])
        known = self._children[label].get(key) if label else None
        if label is None or known is None or known["metadata"]["uid"] != obj["metadata"]["uid"]:
            return set()
        del self._children[label][key]
        return {self._labels.get(label, label)}

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
        found = {_place(obj) for obj in listed}
        ghosts = [obj for obj in self._all(kind) if _place(obj) not in found and listing.missed(obj)]
        touched = [self.remove(kind, obj) for obj in ghosts] + [self.put(kind, obj) for obj in listed]
        return set().union(*touched)

    def _put_pool(self, obj: Object) -> set[Key]:
        key = Key(obj["metadata"]["namespace"], obj["metadata"]["name"])
        known = self._pools.get(key)
        if known is not None and not _newer(obj, known):
            return set()
        self._pools[key] = _slim(obj)
        self._labels[_label_key(key)] = key
        return {key}

    def _remove_pool(self, obj: Object) -> set[Key]:
        key = Key(obj["metadata"]["namespace"], obj["metadata"]["name"])
        known = self._pools.get(key)
        if known is None or known["metadata"]["uid"] != obj["metadata"]["uid"]:
            return set()
        del self._pools[key]
        return {key}

    def _everyone(self, changed: bool) -> set[Key]:
        return set(self._pools) if changed else set()

    def _all(self, kind: str) -> list[Object]:
        if kind == POOL.kind:
            return list(self._pools.values())
        return [obj for found in self._children.values() for (of, _), obj in found.items() if of == kind]


def _label_key(key: Key) -> Key:
    """A pool as its children's labels name it: a long name is cut there."""
    return Key(key.namespace, label_value(key.name))


def _owner(obj: Object) -> Key | None:
    """The pool that the labels name. Labels that point into another namespace are somebody's mistake."""
    metadata = obj["metadata"]
    labels = metadata.get("labels", {})
    namespace = labels.get(LABEL_POOL_NAMESPACE)
    if not namespace or metadata.get("namespace", namespace) != namespace:
        return None
    return Key(namespace, labels.get(LABEL_POOL, ""))


def _place(obj: Object) -> tuple[Key | None, str]:
    """Which object it is, and whose: one whose labels were changed is no longer where it was."""
    return _owner(obj), obj["metadata"]["uid"]


def _newer(new: Object, known: Object) -> bool:
    """Whether `new` is another object or a later version. Versions of one resource grow as numbers."""
    mine, theirs = new["metadata"], known["metadata"]
    return bool(mine["uid"] != theirs["uid"] or int(mine["resourceVersion"]) > int(theirs["resourceVersion"]))


def _slim(obj: Object) -> dict[str, Any]:
    """The object without what nobody here reads and what is large."""
    return {**obj, "metadata": {k: v for k, v in obj["metadata"].items() if k != "managedFields"}}
