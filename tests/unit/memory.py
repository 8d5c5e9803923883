"""An API server in a dictionary: enough of its behaviour for everything that kvtier asks of a client."""

from collections.abc import Callable
from typing import Any

from kvtier.api.kinds import Object, Resource
from kvtier.api.names import FIELD_MANAGER
from kvtier.kube.client import BY_KIND, ApiError
from unit.builders import merged

Write = tuple[str, str, str]
"""Verb, kind and name."""


class MemoryClient:
    """A KubeClient. `writes` lists what was written; `refuse` may answer an ApiError for a write."""

    def __init__(self, *objects: Object) -> None:
        self._objects: dict[tuple[str, str | None, str], Any] = {}
        self._version = 100
        self.writes: list[Write] = []
        self.refuse: Callable[[Write], ApiError | None] = lambda write: None
        self.unserved: set[str] = set()
        for obj in objects:
            self.store(obj)

    def store(self, obj: Object) -> None:
        """Put an object there without a write of kvtier."""
        self._objects[_key(BY_KIND.get(obj["kind"]), obj)] = obj

    def find(self, kind: str, name: str | None = None) -> Any:
        """The object of a kind, by its name if there are several; None when there is none."""
        found = [obj for key, obj in self._objects.items() if key[0] == kind and name in (None, key[2])]
        return found[0] if found else None

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Any:
        return self._objects.get((resource.kind, namespace if resource.namespaced else None, name))

    async def get_metadata(self, resource: Resource, namespace: str | None, name: str) -> Any:
        return await self.get(resource, namespace, name)

    async def list(
        self, resource: Resource, namespace: str | None = None, selector: str = "", fields: str = ""
    ) -> Any:
        self._check(("list", resource.kind, selector))
        if resource.kind in self.unserved:
            return None
        return [obj for (kind, _, _), obj in self._objects.items() if kind == resource.kind]

    async def apply(self, resource: Resource, manifest: Object, manager: str = FIELD_MANAGER) -> Any:
        return self._write("apply" if manager == FIELD_MANAGER else manager, resource, manifest)

    async def patch_status(self, resource: Resource, manifest: Object) -> Any:
        return self._write("status", resource, manifest)

    async def create(self, resource: Resource, manifest: Object) -> Any:
        if _key(resource, manifest) in self._objects:
            raise ApiError(409, "AlreadyExists", "it exists")
        return self._write("create", resource, manifest)

    async def replace(self, resource: Resource, manifest: Object) -> Any:
        known = self._objects.get(_key(resource, manifest))
        if known is None or known["metadata"]["resourceVersion"] != manifest["metadata"]["resourceVersion"]:
            raise ApiError(409, "Conflict", "it was changed")
        return self._write("replace", resource, manifest)

    async def delete(self, resource: Resource, namespace: str | None, name: str, uid: str) -> None:
        self._note(("delete", resource.kind, name))
        key = (resource.kind, namespace if resource.namespaced else None, name)
        if key in self._objects and self._objects[key]["metadata"]["uid"] == uid:
            del self._objects[key]

    async def server_version(self) -> str:
        return "v1.35.6-gke.1049000"

    def _write(self, verb: str, resource: Resource, manifest: Object) -> Any:
        key = _key(resource, manifest)
        self._note((verb, resource.kind, key[2]))
        self._version += 1
        known = self._objects.get(key, {"metadata": {"uid": f"uid-{self._version}", "generation": 1}})
        identity = {"metadata": {"resourceVersion": str(self._version)}}
        self._objects[key] = merged(merged(known, dict(manifest)), identity)
        return self._objects[key]

    def _note(self, write: Write) -> None:
        self._check(write)
        self.writes.append(write)

    def _check(self, write: Write) -> None:
        refusal = self.refuse(write)
        if refusal is not None:
            raise refusal


def _key(resource: Resource | None, obj: Object) -> tuple[str, str | None, str]:
    namespaced = resource is None or resource.namespaced
    metadata = obj["metadata"]
    return (obj["kind"], metadata.get("namespace") if namespaced else None, metadata["name"])
