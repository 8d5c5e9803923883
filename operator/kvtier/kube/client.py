"""The methods that kvtier needs of a Kubernetes client, and the resources that it uses."""

from typing import Protocol

from kvtier.api import kinds
from kvtier.api.kinds import Object, Resource
from kvtier.api.names import FIELD_MANAGER

CHILDREN = tuple(child.resource for child in kinds.CHILD_KINDS if child.resource != kinds.VOLUME)
"""Children that are listed and watched by label. PersistentVolumes are not: those of the driver have no such label."""

CLUSTER_FACTS = (kinds.NODE, kinds.CSI_NODE, kinds.CSI_DRIVER)
BY_KIND = {
    resource.kind: resource
    for resource in (
        kinds.POOL,
        *CHILDREN,
        *CLUSTER_FACTS,
        kinds.SECRET,
        kinds.CONFIG_MAP,
        kinds.EVENT,
        kinds.VOLUME,
    )
}


class ApiError(Exception):
    """A refusal of the API server, or no answer (status 0).

    `retry_after` is the delay in seconds that the server asked for, if any.
    """

    def __init__(self, status: int, reason: str, message: str, retry_after: float | None = None) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status, self.reason, self.message, self.retry_after = status, reason, message, retry_after


class KubeClient(Protocol):
    """The few verbs that kvtier needs. Every method raises ApiError."""

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Object | None:
        """The object, or None when it does not exist."""

    async def get_metadata(self, resource: Resource, namespace: str | None, name: str) -> Object | None:
        """The object's metadata only, or None."""

    async def list(
        self, resource: Resource, namespace: str | None = None, selector: str = "", fields: str = ""
    ) -> list[Object] | None:
        """All objects, page by page, each with apiVersion and kind; None when the resource is not served.

        `selector` is over labels, `fields` over fields, both in the syntax of kubectl.
        """

    async def apply(self, resource: Resource, manifest: Object, manager: str = FIELD_MANAGER) -> Object:
        """Server-side apply as a field manager of kvtier. It takes over fields that others set."""

    async def create(self, resource: Resource, manifest: Object) -> Object:
        """Create an object; ApiError 409 if it exists. For locks only: everything else is applied."""

    async def replace(self, resource: Resource, manifest: Object) -> Object:
        """Replace an object that still has the resourceVersion in `manifest`, else ApiError 409. For locks only."""

    async def patch_status(self, resource: Resource, manifest: Object) -> Object:
        """Server-side apply of the status subresource."""

    async def delete(self, resource: Resource, namespace: str | None, name: str, uid: str) -> None:
        """Delete the object with this uid. No error if it does not exist, or if a newer object has its name."""

    async def server_version(self) -> str:
        """`gitVersion` of the API server, such as v1.35.6-gke.1049000."""
