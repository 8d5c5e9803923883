"""What kvtier asks of a Kubernetes client, and the resources that it asks for."""

from typing import Protocol

from kvtier.api import kinds
from kvtier.api.kinds import Object, Resource
from kvtier.api.names import FIELD_MANAGER

CHILDREN = tuple(child.resource for child in kinds.CHILD_KINDS if child.resource != kinds.VOLUME)
"""Children that are listed and watched by label. Volumes are not: the driver's own carry no label of kvtier's."""

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
    """The API server's refusal, or its silence (status 0).

    `retry_after` is in seconds, where the server named a delay.
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
        """Server-side apply by a field manager of kvtier's, taking over fields that others set."""

    async def create(self, resource: Resource, manifest: Object) -> Object:
        """A new object; ApiError 409 when it exists. For locks: everything else is applied."""

    async def replace(self, resource: Resource, manifest: Object) -> Object:
        """Put an object whose resourceVersion is still the one in `manifest`, else ApiError 409. For locks."""

    async def patch_status(self, resource: Resource, manifest: Object) -> Object:
        """Server-side apply of the status sub-resource."""

    async def delete(self, resource: Resource, namespace: str | None, name: str, uid: str) -> None:
        """Delete the object with this uid; no error when it is gone or is another one by now."""

    async def server_version(self) -> str:
        """`gitVersion` of the API server, such as v1.35.6-gke.1049000."""
