"""What kvtier asks of a Kubernetes client, and the resources that it knows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from kvtier.api.names import FIELD_MANAGER
from kvtier.api.v1alpha1 import GROUP, KIND, PLURAL, VERSION

Object = Mapping[str, Any]


@dataclass(frozen=True)
class Resource:
    """One kind of object, and where the API server serves it."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None = None, name: str | None = None) -> str:
        """URL path of a collection or an object; without a namespace, the collection of all namespaces."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        scope = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return f"{root}{scope}/{self.plural}" + (f"/{name}" if name else "")


POOL = Resource(GROUP, VERSION, PLURAL, KIND, namespaced=True)
CHILDREN = (
    Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False),
    Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", namespaced=True),
    Resource("cloud.google.com", "v1", "computeclasses", "ComputeClass", namespaced=False),
    Resource("apps", "v1", "deployments", "Deployment", namespaced=True),
    Resource("", "v1", "services", "Service", namespaced=True),
    Resource("batch", "v1", "jobs", "Job", namespaced=True),
)
VOLUME = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
"""Watched whole, because the driver's own volumes carry no label of kvtier's."""

CLUSTER_FACTS = (
    Resource("", "v1", "nodes", "Node", namespaced=False),
    Resource("storage.k8s.io", "v1", "csinodes", "CSINode", namespaced=False),
    Resource("storage.k8s.io", "v1", "csidrivers", "CSIDriver", namespaced=False),
)
SECRET = Resource("", "v1", "secrets", "Secret", namespaced=True)
CONFIG_MAP = Resource("", "v1", "configmaps", "ConfigMap", namespaced=True)
LEASE = Resource("coordination.k8s.io", "v1", "leases", "Lease", namespaced=True)
EVENT = Resource("", "v1", "events", "Event", namespaced=True)
POD = Resource("", "v1", "pods", "Pod", namespaced=True)
_OTHERS = (SECRET, CONFIG_MAP, EVENT, VOLUME)
BY_KIND = {resource.kind: resource for resource in (POOL, *CHILDREN, *CLUSTER_FACTS, *_OTHERS)}


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
