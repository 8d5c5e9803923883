"""A client that knows objects by name and answers GETs, and nothing else."""

from typing import Any, cast

from kvtier.api.kinds import Resource
from kvtier.kube.client import ApiError, KubeClient


class Named:
    """An ApiError in place of an object is raised."""

    def __init__(self, **known: Any) -> None:
        self._known = known
        self.asked: list[tuple[str, str | None, str]] = []

    @property
    def client(self) -> KubeClient:
        return cast(KubeClient, self)

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Any:
        self.asked.append((resource.kind, namespace, name))
        found = self._known.get(name)
        if isinstance(found, ApiError):
            raise found
        return found
