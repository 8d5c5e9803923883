"""Facts as frozen values. No client is imported here, so that pure code can use them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from kvtier.api.placement import CONFIDENTIAL, ZONE
from kvtier.facts import versions
from kvtier.facts.children import Children
from kvtier.facts.neighbours import Neighbour
from kvtier.facts.versions import GKEVersion
from kvtier.facts.volumes import Volumes


@dataclass(frozen=True)
class Node:
    """What matters about one node; equal values mean that no pool needs another look.

    `ephemeral_storage` and `memory` are what its Pods may use, in bytes; 0 while the node does not tell.
    """

    name: str
    labels: Mapping[str, str]
    kubelet_version: str
    os_image: str
    architecture: str
    ready: bool
    ephemeral_storage: int = 0
    memory: int = 0

    @cached_property
    def version(self) -> GKEVersion | None:
        """The kubelet's version, None where that is no GKE version."""
        return versions.parse(self.kubelet_version)

    @property
    def zone(self) -> str | None:
        return self.labels.get(ZONE)

    @property
    def confidential(self) -> bool:
        """Whether its memory is encrypted, by which technology ever."""
        return any(label in self.labels for label in CONFIDENTIAL)


def node_names(nodes: Sequence[Node], limit: int = 3) -> str:
    """A readable list of node names that stays short with 500 nodes."""
    shown = ", ".join(node.name for node in nodes[:limit])
    return shown if len(nodes) <= limit else f"{shown} and {len(nodes) - limit} more"


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
    """What the GKE API says of the cluster, or why it says nothing (`error`, a sentence with the way out).

    `legacy_port` is whether its nodes speak to Lustre at port 6988 instead of 988.
    """

    network: str | None = None
    version: str | None = None
    lustre_addon: bool | None = None
    legacy_port: bool | None = None
    error: str | None = None


@dataclass(frozen=True)
class Window:
    """A maintenance that Google has scheduled; RFC 3339 times."""

    start: str
    end: str


@dataclass(frozen=True)
class Instance:
    """A Managed Lustre instance as the Lustre API tells it.

    `name` is projects/P/locations/ZONE/instances/ID, `throughput` is in MBps per TiB (0: Dynamic tier),
    `capacity` in bytes. `address` and `filesystem` are where it is mounted from; the address is empty while
    it is being created. `legacy_port` is whether it listens at 6988 (made with gke-support-enabled).
    `kms_key` is empty where Google's own key encrypts it.
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
    """Objects and bytes of a transfer so far."""

    found: int = 0
    copied: int = 0
    skipped: int = 0
    failed: int = 0
    bytes_found: int = 0
    bytes_copied: int = 0


@dataclass(frozen=True)
class Operation:
    """A long-running operation of the Lustre API, or the refusal to start it.

    `name` is empty while the request that starts it is under way, and when it was refused. `code` is the
    canonical error code in CamelCase, such as ResourceExhausted, empty unless it failed. `problems` are the
    first errors of a transfer, one sentence each.
    """

    name: str = ""
    done: bool = False
    code: str = ""
    message: str = ""
    counters: Counters | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class LustreFacts:
    """What the Lustre API says of a pool's instance.

    `instance` is None when it does not exist, or when `error` says why that is not known. `operations` are by request
    id: those that the pool's status names, and those that this process has started. `pending`: the API has not answered
    yet since this process began, and `error` says so.
    """

    instance: Instance | None = None
    error: str | None = None
    operations: Mapping[str, Operation] = field(default_factory=dict)
    pending: bool = False

    @property
    def absent(self) -> bool:
        """Whether the API says that there is no such instance."""
        return self.instance is None and self.error is None


@dataclass(frozen=True)
class Secrets:
    """Which keys the Secrets have that the pool names; a name maps to None when it could not be read."""

    keys: Mapping[str, frozenset[str] | None] = field(default_factory=dict)


@dataclass(frozen=True)
class ConfigMaps:
    """Data of the ConfigMaps that the pool names, of it the keys that it names.

    A ConfigMap that does not exist has no keys; a name maps to None when it could not be read.
    """

    data: Mapping[str, Mapping[str, str] | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Facts:
    """All that the checks look at."""

    cluster: Cluster = Cluster()
    gke: GKECluster | None = None
    secrets: Secrets = Secrets()
    config_maps: ConfigMaps = ConfigMaps()
    lustre: LustreFacts | None = None
    volumes: Volumes = field(default_factory=Volumes)
    neighbours: tuple[Neighbour, ...] = ()


@dataclass(frozen=True)
class Event:
    """What Kubernetes Events tell about one object: each message of a reason once, with its times (RFC 3339).

    `first` is when it was first seen, `last` when it was seen last.
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
    """A pool's surroundings at one moment: facts, its children, and what happened to them.

    `claim_events` and `pod_events` are Events about the shared tier's claim and about the pool's Pods, the newest
    first; they are read only while something is awaited. `holders` are the Pods that keep a deleted claim.
    """

    facts: Facts = Facts()
    children: Children = field(default_factory=Children)
    claim_events: tuple[Event, ...] = ()
    pod_events: tuple[Event, ...] = ()
    holders: tuple[str, ...] = ()
