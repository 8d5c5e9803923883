"""The kinds of objects that kvtier reads and writes, and one table of the kinds that it creates for a pool.

`CHILD_KINDS` is the only list of children. The client reads paths from it. The planner reads which children to prune,
the order of a teardown, and the condition that a refused write turns False. The tests read which RBAC rules are needed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kvtier.api.conditions import MODELS_READY, NODE_POOL_READY, STORAGE_READY, TIER_WRITABLE
from kvtier.api.v1alpha1 import GROUP, KIND, PLURAL, VERSION

Object = Mapping[str, Any]
"""A live object as the API server returned it. Only `kube`, `facts` and `control` read its fields."""

Key = tuple[str, str]
"""Kind and name of a child, unique among the children of one pool."""

Stage = Literal["engines", "data", "cluster"]
"""A teardown deletes engines first, then data if deletionPolicy is Delete, then cluster-scoped objects."""


@dataclass(frozen=True)
class Resource:
    """One kind of object, and its place in the Kubernetes API."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def full_name(self) -> str:
        """Plural and group, as kubectl takes them: jobs.batch."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str | None = None, name: str | None = None) -> str:
        """URL path of a collection or an object; without a namespace, the collection of all namespaces."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        scope = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return f"{root}{scope}/{self.plural}" + (f"/{name}" if name else "")


@dataclass(frozen=True)
class ChildKind:
    """One kind of object that kvtier creates for a pool.

    `template` is its file in plan/templates. `concern` is the condition that a refused write turns False. A child with
    the concern ModelsReady has the same name as the Service of its model. `stage` is the step of a teardown that
    deletes it. `owned`: it has an ownerReference to its pool, so that Kubernetes deletes it with the pool. `pruned`:
    the planner deletes it when the spec no longer needs it. For the others, deletionPolicy (data) or the concern (Jobs)
    decides.
    """

    resource: Resource
    template: str
    concern: str
    stage: Stage
    owned: bool
    pruned: bool

    @property
    def kind(self) -> str:
        return self.resource.kind


POOL = Resource(GROUP, VERSION, PLURAL, KIND, namespaced=True)
NODE = Resource("", "v1", "nodes", "Node", namespaced=False)
CSI_NODE = Resource("storage.k8s.io", "v1", "csinodes", "CSINode", namespaced=False)
CSI_DRIVER = Resource("storage.k8s.io", "v1", "csidrivers", "CSIDriver", namespaced=False)
SECRET = Resource("", "v1", "secrets", "Secret", namespaced=True)
CONFIG_MAP = Resource("", "v1", "configmaps", "ConfigMap", namespaced=True)
LEASE = Resource("coordination.k8s.io", "v1", "leases", "Lease", namespaced=True)
EVENT = Resource("", "v1", "events", "Event", namespaced=True)
NAMESPACE = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
POD = Resource("", "v1", "pods", "Pod", namespaced=True)

STORAGE_CLASS = Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False)
CLAIM = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", namespaced=True)
VOLUME = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
COMPUTE_CLASS = Resource("cloud.google.com", "v1", "computeclasses", "ComputeClass", namespaced=False)
DEPLOYMENT = Resource("apps", "v1", "deployments", "Deployment", namespaced=True)
SERVICE = Resource("", "v1", "services", "Service", namespaced=True)
JOB = Resource("batch", "v1", "jobs", "Job", namespaced=True)

CHILD_KINDS = (
    ChildKind(STORAGE_CLASS, "storageclass", STORAGE_READY, "cluster", owned=False, pruned=True),
    ChildKind(CLAIM, "persistentvolumeclaim", STORAGE_READY, "data", owned=False, pruned=False),
    ChildKind(COMPUTE_CLASS, "computeclass", NODE_POOL_READY, "cluster", owned=False, pruned=True),
    ChildKind(DEPLOYMENT, "deployment", MODELS_READY, "engines", owned=True, pruned=True),
    ChildKind(SERVICE, "service", MODELS_READY, "engines", owned=True, pruned=True),
    ChildKind(JOB, "job", TIER_WRITABLE, "engines", owned=True, pruned=False),
    ChildKind(VOLUME, "persistentvolume", STORAGE_READY, "data", owned=False, pruned=False),
)
CHILDREN_BY_KIND = {child.kind: child for child in CHILD_KINDS}
