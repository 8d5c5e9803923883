"""An API server in a dictionary that behaves like the real one: integration/test_memory_client.py compares both.

It validates nothing, sets no defaults and runs no controllers.
"""

import copy
from collections.abc import Callable, Iterator, Mapping, MutableSequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kvtier.api.kinds import Object, Resource
from kvtier.api.names import FIELD_MANAGER
from kvtier.kube.client import ApiError

Request = tuple[str, str, str]
"""Verb, kind and name; for a LIST, its selectors instead of the name."""

Place = tuple[str, str | None, str]
"""Kind, namespace and name of an object."""


class Item(NamedTuple):
    """A step into a list whose items are identified by these values, not by their order."""

    key: tuple[Any, ...]


Path = tuple[str | Item, ...]
Fields = dict[Path, Any]
"""Values by their paths."""

_IDENTITY = ("name", "namespace", "uid", "resourceVersion")
_SYSTEM = (*_IDENTITY, "creationTimestamp", "deletionTimestamp", "managedFields")
"""Metadata that is never applied."""

_LIST_KEYS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("containers", "initContainers", "env", "volumes", "imagePullSecrets"), ("name",)),
    "volumeMounts": ("mountPath",),
    "ports": ("containerPort", "port", "protocol"),
    "ownerReferences": ("uid",),
    "conditions": ("type",),
    **dict.fromkeys(("tiers", "models"), ("name",)),
    "operations": ("kind",),
    "finalizers": (),
}
"""Fields that identify the items of a list; none for a set of values. Every other list is one value."""


@dataclass
class _Stored:
    """An object. `owned` has the paths that each manager applied last, to the object itself or to its status."""

    system: dict[str, Any]
    names: dict[str, str]
    fields: Fields = field(default_factory=dict)
    owned: dict[tuple[str, bool], frozenset[Path]] = field(default_factory=dict)

    def document(self) -> Any:
        found = _nested(self.fields)
        managers = [{"manager": manager, "operation": "Apply"} for manager, _ in self.owned]
        system = {**self.system, "managedFields": [*self.system.get("managedFields", []), *managers]}
        applied = {key: value for key, value in found.get("metadata", {}).items() if value}
        return {**self.names, **found, "metadata": {**applied, **system}}


class MemoryClient:
    """A KubeClient. `reads` and `writes` are the requests so far; `refuse` may answer one with an ApiError."""

    def __init__(self, *objects: Object) -> None:
        self._objects: dict[Place, _Stored] = {}
        self._version = 100
        self.reads: list[Request] = []
        self.writes: list[Request] = []
        self.refuse: Callable[[Request], ApiError | None] = lambda request: None
        self.unserved: set[str] = set()
        for obj in objects:
            self.store(obj)

    def store(self, obj: Object) -> None:
        """Store an object as a client other than kvtier."""
        self._version += 1
        metadata = obj["metadata"]
        system = {"uid": f"uid-{self._version}", "resourceVersion": str(self._version)}
        system |= {key: metadata[key] for key in _SYSTEM if key in metadata}
        names = {key: obj[key] for key in ("apiVersion", "kind") if key in obj}
        self._objects[_place(obj)] = _Stored(
            system, names, _applied(obj, status=False) | _applied(obj, status=True)
        )

    def find(self, kind: str, name: str | None = None) -> Any:
        """The object of a kind, by its name if there are several; None if there is none."""
        found = (one for (of, _, named), one in self._objects.items() if of == kind and name in (None, named))
        return next((one.document() for one in found), None)

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Any:
        self._note(self.reads, ("get", resource.kind, name))
        found = self._objects.get((resource.kind, namespace if resource.namespaced else None, name))
        return found.document() if found else None

    async def get_metadata(self, resource: Resource, namespace: str | None, name: str) -> Any:
        found = await self.get(resource, namespace, name)
        return found and {"metadata": found["metadata"]}

    async def list(
        self, resource: Resource, namespace: str | None = None, selector: str = "", fields: str = ""
    ) -> Any:
        self._note(self.reads, ("list", resource.kind, " ".join(filter(None, (selector, fields)))))
        if resource.kind in self.unserved:
            return None
        found = [
            stored.document()
            for (kind, where, _), stored in sorted(self._objects.items(), key=lambda one: str(one[0]))
            if kind == resource.kind and namespace in (None, where)
        ]
        labels = [one.partition("=") for one in selector.split(",") if one]
        paths = [one.partition("=") for one in fields.split(",") if one]
        return [
            obj
            for obj in found
            if all(obj["metadata"].get("labels", {}).get(key) == value for key, _, value in labels)
            and all(_at(obj, path) == value for path, _, value in paths)
        ]

    async def apply(self, resource: Resource, manifest: Object, manager: str = FIELD_MANAGER) -> Any:
        self._write("apply" if manager == FIELD_MANAGER else manager, manifest)
        return self._apply(manifest, manager, status=False)

    async def patch_status(self, resource: Resource, manifest: Object) -> Any:
        self._write("status", manifest)
        if _place(manifest) not in self._objects:
            raise ApiError(404, "NotFound", "there is none")
        return self._apply(manifest, FIELD_MANAGER, status=True)

    async def create(self, resource: Resource, manifest: Object) -> Any:
        if _place(manifest) in self._objects:
            raise ApiError(409, "AlreadyExists", "it exists")
        self._write("create", manifest)
        self.store(manifest)
        return self._objects[_place(manifest)].document()

    async def replace(self, resource: Resource, manifest: Object) -> Any:
        known = self._objects.get(_place(manifest))
        if known is None or known.system["resourceVersion"] != manifest["metadata"]["resourceVersion"]:
            raise ApiError(409, "Conflict", "it was changed")
        self._write("replace", manifest)
        known.fields = _applied(manifest, status=False)
        return self._changed(known)

    async def delete(self, resource: Resource, namespace: str | None, name: str, uid: str) -> None:
        self._write("delete", {"kind": resource.kind, "metadata": {"name": name}})
        place = (resource.kind, namespace if resource.namespaced else None, name)
        known = self._objects.get(place)
        if known is None or uid not in ("", known.system["uid"]):
            return
        if _nested(known.fields).get("metadata", {}).get("finalizers"):
            known.system["deletionTimestamp"] = "2026-11-29T12:00:00Z"
            self._changed(known)
        else:
            del self._objects[place]

    async def server_version(self) -> str:
        return "v1.35.6-gke.1049000"

    def _apply(self, manifest: Object, manager: str, *, status: bool) -> Any:
        place = _place(manifest)
        known = self._objects.get(place)
        _expect(known, manifest["metadata"])
        if known is None:
            self.store(manifest)
            known = self._objects[place]
            known.fields = {}
        before = (dict(known.fields), dict(known.owned))
        _merge(known, _applied(manifest, status=status), (manager, status))
        if (known.fields, known.owned) == before:
            return known.document()
        written = self._changed(known)
        if "deletionTimestamp" in known.system and "finalizers" not in written["metadata"]:
            del self._objects[place]
        return written

    def _changed(self, stored: _Stored) -> Any:
        self._version += 1
        stored.system["resourceVersion"] = str(self._version)
        return stored.document()

    def _write(self, verb: str, manifest: Object) -> None:
        self._note(self.writes, (verb, manifest["kind"], manifest["metadata"]["name"]))

    def _note(self, requests: MutableSequence[Request], request: Request) -> None:
        refusal = self.refuse(request)
        if refusal is not None:
            raise refusal
        requests.append(request)


def _place(obj: Object) -> Place:
    return obj["kind"], obj["metadata"].get("namespace"), obj["metadata"]["name"]


def _expect(known: _Stored | None, metadata: Object) -> None:
    """Refuse an apply with the uid of another object, or with another version of it."""
    if known is None and not {"uid", "resourceVersion"}.isdisjoint(metadata):
        raise ApiError(409, "Conflict", "there is no such object")
    if known and metadata.get("uid", known.system["uid"]) != known.system["uid"]:
        raise ApiError(422, "Invalid", "metadata.uid: field is immutable")
    version = known.system["resourceVersion"] if known else None
    if metadata.get("resourceVersion", version) != version:
        raise ApiError(409, "Conflict", "the object has been modified")


def _merge(known: _Stored, wanted: Fields, owner: tuple[str, bool]) -> None:
    """Set the fields that a manager applies, and remove fields that it alone applied before and no longer does.

    An empty list of identified items has no item: it has no owner, and it removes nothing.
    """
    empty = {path for path, value in wanted.items() if value == [] and path[-1] in _LIST_KEYS}
    former = known.owned.pop(owner, frozenset())
    others = frozenset().union(*known.owned.values())
    known.owned[owner] = frozenset(wanted.keys() - empty)
    known.fields |= {path: [] for path in empty if not _below(known.fields, path)}
    known.fields |= {path: value for path, value in wanted.items() if path not in empty}
    filled = [
        path for path, value in known.fields.items() if value == [] and len(_below(known.fields, path)) > 1
    ]
    for path in (*filled, *(former - wanted.keys() - others)):
        known.fields.pop(path, None)


def _below(fields: Fields, path: Path) -> list[Path]:
    """Paths that start with `path`."""
    return [one for one in fields if one[: len(path)] == path]


def _at(obj: Object, path: str) -> Any:
    value: Any = obj
    for step in path.split("."):
        value = (value or {}).get(step)
    return value or ""


def _applied(manifest: Object, *, status: bool) -> Fields:
    """Fields that an apply sets, in the object itself or in its status."""
    return {
        path: value
        for path, value in _flat(manifest, ())
        if path[0] not in ("apiVersion", "kind")
        and (path[0] == "status") is status
        and not (path[0] == "metadata" and path[1:2] and path[1] in _SYSTEM)
    }


def _flat(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Values by their paths. An empty map or list is a value too."""
    name = path[-1] if path else ""
    if isinstance(value, Mapping) and value:
        for key, one in value.items():
            yield from _flat(one, (*path, key))
    elif isinstance(value, list) and value and name in _LIST_KEYS and isinstance(name, str):
        for one in value:
            keys = _LIST_KEYS[name]
            yield from _flat(one, (*path, Item(tuple(one.get(key) for key in keys) if keys else (one,))))
    else:
        yield path, _spelled(path, value)


def _spelled(path: Path, value: Any) -> Any:
    """CPU quantities are stored in the shortest form: 1000m as 1."""
    if path[-1:] == ("cpu",) and isinstance(value, str) and value.endswith("000m"):
        return value.removesuffix("000m")
    return value


def _nested(fields: Fields) -> Any:
    root: dict[Any, Any] = {}
    for path, value in fields.items():
        node = root
        for step in path[:-1]:
            if not isinstance(node.get(step), dict):
                node[step] = {}
            node = node[step]
        if value not in ({}, []) or path[-1] not in node:
            node[path[-1]] = copy.deepcopy(value)
    return _listed(root)


def _listed(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    if any(isinstance(step, Item) for step in node):
        return [_listed(one) for one in node.values()]
    return {step: _listed(one) for step, one in node.items()}
