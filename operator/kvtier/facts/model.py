"""Facts as frozen values, without any client, so that pure code can import them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from kvtier.api.placement import CONFIDENTIAL, ZONE
from kvtier.facts import versions
from kvtier.facts.children import Children
from kvtier.facts.neighbours import Neighbour
from kvtier.facts.policy import Grants
from kvtier.facts.versions import GKEVersion
from kvtier.facts.volumes import Volumes


@dataclass(frozen=True)
class Node:
    """The parts of a node that kvtier uses. If they are equal, no pool needs a reconciliation.

    `project`: the Google Cloud project in the provider ID, empty if it has none. `ephemeral_storage` and `memory`:
    allocatable bytes; 0 while the node does not report them.
    """

    name: str
    labels: Mapping[str, str]
    kubelet_version: str
    os_image: str
    architecture: str
    ready: bool
    project: str = ""
    ephemeral_storage: int = 0
    memory: int = 0

    @cached_property
    def version(self) -> GKEVersion | None:
        """The kubelet's version, None if it is not a GKE version."""
        return versions.parse(self.kubelet_version)

    @property
    def zone(self) -> str | None:
        return self.labels.get(ZONE)

    @property
    def confidential(self) -> bool:
        """Whether it is a Confidential GKE Node, with encrypted memory, of any technology."""
        return any(label in self.labels for label in CONFIDENTIAL)


def node_names(nodes: Sequence[Node], limit: int = 3) -> str:
    """A readable list of node names that stays short with 500 nodes."""
    shown = ", ".join(node.name for node in nodes[:limit])
    return shown if len(nodes) <= limit else f"{shown} and {len(nodes) - limit} more"


@dataclass(frozen=True)
class Cluster:
    """The cluster according to the API server.

    `lustre_nodes`: nodes whose kubelet has registered the Lustre CSI driver. `compute_class_served`: whether the API
    server serves ComputeClass.
    """

    version: str = ""
    nodes: tuple[Node, ...] = ()
    lustre_driver: bool = False
    lustre_nodes: frozenset[str] = frozenset()
    compute_class_served: bool = True

    @cached_property
    def projects(self) -> frozenset[str]:
        """The Google Cloud projects of the nodes."""
        return frozenset(node.project for node in self.nodes if node.project)


@dataclass(frozen=True)
class OwnCluster:
    """The identity of this cluster: the uid of namespace kube-system.

    `error`: why it is unknown and what to do, in full sentences.
    """

    uid: str = ""
    error: str = ""


@dataclass(frozen=True)
class GKECluster:
    """The cluster according to the GKE API. `error`: why it is unknown and what to do, in full sentences.

    `legacy_port`: whether its nodes use port 6988 for Lustre instead of 988.
    """

    network: str | None = None
    version: str | None = None
    lustre_addon: bool | None = None
    legacy_port: bool | None = None
    error: str | None = None


@dataclass(frozen=True)
class Window:
    """A maintenance that Google has scheduled. Times are RFC 3339."""

    start: str
    end: str


@dataclass(frozen=True)
class Instance:
    """A Managed Lustre instance according to the Lustre API.

    `name` is projects/P/locations/ZONE/instances/ID, `throughput` is in MBps per TiB (0: Dynamic tier),
    `capacity` in bytes. Nodes mount it from `address` and `filesystem`; the address is empty during creation.
    `legacy_port`: whether it listens on 6988 (created with gke-support-enabled). `kms_key`: empty for Google's own key.
    """

    name: str
    state: str
    capacity: int
    throughput: int
    filesystem: str
    network: str
    address: str = ""
    reason: str = ""
    created: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    legacy_port: bool = False
    window: Window | None = None
    kms_key: str = ""


@dataclass(frozen=True)
class Counters:
    """Objects and bytes of a transfer up to now."""

    found: int = 0
    copied: int = 0
    skipped: int = 0
    failed: int = 0
    bytes_found: int = 0
    bytes_copied: int = 0


@dataclass(frozen=True)
class Operation:
    """A long-running operation of the Lustre API, or the refusal to start it.

    `name`: empty while the request to start it is in progress, and if it was refused. `code`: the canonical error code
    in CamelCase, such as ResourceExhausted, empty unless it failed. `problems`: the first errors of a transfer.
    """

    name: str = ""
    done: bool = False
    code: str = ""
    message: str = ""
    counters: Counters | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class LustreFacts:
    """A pool's instance according to the Lustre API.

    `instance`: None if it does not exist, or if `error` says in full sentences why it is unknown. `operations`: by
    request id, those in the pool's status and those that this process has started. `pending`: the API has not responded
    since this process started, and `error` says so.
    """

    instance: Instance | None = None
    error: str | None = None
    operations: Mapping[str, Operation] = field(default_factory=dict)
    pending: bool = False

    @property
    def absent(self) -> bool:
        """Whether the API reports that the instance does not exist."""
        return self.instance is None and self.error is None


@dataclass(frozen=True)
class Secrets:
    """The keys of the Secrets that the pool names; None for a Secret that could not be read."""

    keys: Mapping[str, frozenset[str] | None] = field(default_factory=dict)


@dataclass(frozen=True)
class ConfigMaps:
    """The keys and values that the pool names, by ConfigMap.

    A ConfigMap that does not exist has no keys. None for a ConfigMap that could not be read.
    """

    data: Mapping[str, Mapping[str, str] | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Facts:
    """All facts that the checks use."""

    cluster: Cluster = Cluster()
    own_cluster: OwnCluster = OwnCluster()
    gke: GKECluster | None = None
    secrets: Secrets = Secrets()
    config_maps: ConfigMaps = ConfigMaps()
    lustre: LustreFacts | None = None
    volumes: Volumes = field(default_factory=Volumes)
    neighbours: tuple[Neighbour, ...] = ()
    grants: Grants = field(default_factory=Grants)


@dataclass(frozen=True)
class Event:
    """Kubernetes Events about one object, merged by reason and message.

    `first` and `last` are RFC 3339 times.
    """

    kind: str
    name: str
    reason: str
    message: str
    type: str = "Normal"
    first: str = ""
    last: str = ""
    count: int = 1


@dataclass(frozen=True)
class Observed:
    """Everything that kvtier observes about a pool at one moment: facts, children, and Events about them.

    `claim_events` and `pod_events`: Events about the PVC of the Lustre tier and about the pool's Pods, newest first,
    read only while something is not ready. `holders`: Pods that still use a deleted PVC.
    """

    facts: Facts = Facts()
    children: Children = field(default_factory=Children)
    claim_events: tuple[Event, ...] = ()
    pod_events: tuple[Event, ...] = ()
    holders: tuple[str, ...] = ()
