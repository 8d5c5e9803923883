"""The facts that checks use from Nodes, CSINodes and CSIDrivers."""

from kvtier.api import quantities
from kvtier.api.kinds import CSI_DRIVER, CSI_NODE, NODE, Object
from kvtier.api.names import LUSTRE_DRIVER
from kvtier.facts.model import Cluster, Node


class ClusterParts:
    """Builds `Cluster` from its parts. Every change returns whether a fact changed."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._with_driver: dict[str, set[str]] = {CSI_NODE.kind: set(), CSI_DRIVER.kind: set()}
        self._version = ""
        self._built: Cluster | None = None
        self.compute_class_served = True

    def cluster(self) -> Cluster:
        """The facts as one value, with nodes ordered by name."""
        if self._built is None or self._built.compute_class_served != self.compute_class_served:
            self._built = Cluster(
                version=self._version,
                nodes=tuple(self._nodes[name] for name in sorted(self._nodes)),
                lustre_driver=bool(self._with_driver[CSI_DRIVER.kind]),
                lustre_nodes=frozenset(self._with_driver[CSI_NODE.kind]),
                compute_class_served=self.compute_class_served,
            )
        return self._built

    def set_version(self, version: str) -> bool:
        changed, self._version = self._version != version, version
        return self._changed(changed)

    def put(self, kind: str, obj: Object) -> bool:
        name = obj["metadata"]["name"]
        if kind != NODE.kind:
            return self._set_driver(kind, name, _has_driver(kind, obj))
        found = node(obj)
        changed = self._nodes.get(name) != found
        self._nodes[name] = found
        return self._changed(changed)

    def remove(self, kind: str, obj: Object) -> bool:
        name = obj["metadata"]["name"]
        if kind != NODE.kind:
            return self._set_driver(kind, name, False)
        return self._changed(self._nodes.pop(name, None) is not None)

    def names(self, kind: str) -> set[str]:
        """The names of all known objects of a kind."""
        return set(self._nodes if kind == NODE.kind else self._with_driver[kind])

    def _set_driver(self, kind: str, name: str, present: bool) -> bool:
        names = self._with_driver[kind]
        changed = (name in names) != present
        names.add(name) if present else names.discard(name)
        return self._changed(changed)

    def _changed(self, changed: bool) -> bool:
        if changed:
            self._built = None
        return changed


def _has_driver(kind: str, obj: Object) -> bool:
    """Whether a CSINode or a CSIDriver names the Lustre CSI driver."""
    if kind == CSI_DRIVER.kind:
        return bool(obj["metadata"]["name"] == LUSTRE_DRIVER)
    drivers = obj.get("spec", {}).get("drivers") or []
    return any(driver.get("name") == LUSTRE_DRIVER for driver in drivers)


def node(obj: Object) -> Node:
    """The parts of a Node that kvtier uses. Heartbeats do not change them."""
    status = obj.get("status", {})
    info, conditions = status.get("nodeInfo", {}), status.get("conditions", [])
    allocatable = status.get("allocatable", {})
    return Node(
        name=obj["metadata"]["name"],
        labels=obj["metadata"].get("labels", {}),
        kubelet_version=info.get("kubeletVersion", ""),
        os_image=info.get("osImage", ""),
        architecture=info.get("architecture", ""),
        ready=any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions),
        project=_project((obj.get("spec") or {}).get("providerID", "")),
        ephemeral_storage=quantities.read(allocatable.get("ephemeral-storage")),
        memory=quantities.read(allocatable.get("memory")),
    )


_PROVIDER = "gce://"


def _project(provider: str) -> str:
    """The project in gce://PROJECT/ZONE/NAME, empty for a node of another provider."""
    return provider.removeprefix(_PROVIDER).partition("/")[0] if provider.startswith(_PROVIDER) else ""
