"""Facts as frozen values. No client is imported here, so that pure code can use them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kvtier.api.placement import ZONE

Object = Mapping[str, Any]

LUSTRE_DRIVER = "lustre.csi.storage.gke.io"
"""Name of the driver and of its CSIDriver object (GoogleCloudPlatform/lustre-csi-driver)."""


@dataclass(frozen=True)
class Node:
    """What matters about one node; equal values mean that no pool needs another look."""

    name: str
    labels: Mapping[str, str]
    kubelet_version: str
    os_image: str
    architecture: str
    ready: bool

    @property
    def zone(self) -> str | None:
        return self.labels.get(ZONE)


@dataclass(frozen=True)
class Cluster:
    """What the API server shows of the cluster.

    `lustre_nodes` are the nodes whose kubelet has registered the Lustre CSI driver. `compute_class_served`
    is whether the API server knows ComputeClass at all.
    """

    version: str = ""
    nodes: tuple[Node, ...] = ()
    lustre_driver: bool = False
    lustre_nodes: frozenset[str] = frozenset()
    compute_class_served: bool = True


@dataclass(frozen=True)
class GKECluster:
    """What the GKE API says of the cluster, or why it says nothing (`error`, a sentence with the way out)."""

    network: str | None = None
    version: str | None = None
    lustre_addon: bool | None = None
    error: str | None = None


@dataclass(frozen=True)
class Secrets:
    """Which keys the Secrets have that the pool names; a name maps to None when it could not be read."""

    keys: Mapping[str, frozenset[str] | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Facts:
    """All that the checks look at."""

    cluster: Cluster = Cluster()
    gke: GKECluster | None = None
    secrets: Secrets = Secrets()


@dataclass(frozen=True)
class Observed:
    """A pool's surroundings at one moment: facts, and its children by (kind, name)."""

    facts: Facts = Facts()
    children: Mapping[tuple[str, str], Object] = field(default_factory=dict)

    def child(self, kind: str, name: str) -> Object | None:
        return self.children.get((kind, name))
