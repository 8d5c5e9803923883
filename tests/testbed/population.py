"""What a GKE cluster holds before anybody deploys anything to it."""

from collections.abc import Iterable
from functools import partial

from testbed import computeclass, fates, gke
from testbed.kube import Kube, NotFoundError, Object
from testbed.waiting import eventually

DEFAULT_NODES = (
    gke.NodeSpec("gke-testbed-default-pool-0", zone="us-central1-a"),
    gke.NodeSpec("gke-testbed-default-pool-1", zone="us-central1-b"),
    gke.NodeSpec("gke-testbed-h100-pool-0", "a3-highgpu-8g", "us-central1-a", "h100-pool"),
    gke.NodeSpec("gke-testbed-h100-pool-1", "a3-highgpu-8g", "us-central1-a", "h100-pool"),
)
_CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")


def install_types(kube: Kube) -> None:
    """The custom resource types of GKE."""
    kube.apply(computeclass.definition())


def types_served(kube: Kube) -> bool:
    """Whether these types can be used."""
    return is_served(kube, computeclass.definition()["metadata"]["name"])


def install_driver(kube: Kube) -> None:
    """The Lustre add-on's object."""
    kube.apply(gke.csi_driver())


def install_nodes(kube: Kube) -> None:
    """The node pools, and the say of tests in what becomes of their Pods."""
    fates.install(kube)
    for spec in DEFAULT_NODES:
        add_node(kube, spec)


def add_node(kube: Kube, spec: gke.NodeSpec) -> Object:
    """A node joins the cluster, with its CSI registration."""
    created = kube.create(gke.node(spec))
    kube.create(gke.csi_node(spec, created["metadata"]["uid"]))
    return created


def release_nodes(kube: Kube) -> None:
    """Drop the nodes' leases: a new kwok would wait for those of the old one to expire."""
    kube.request("DELETE", kube.path("coordination.k8s.io/v1", "Lease", "kube-node-lease"))


def nodes_ready(kube: Kube) -> bool:
    """Whether every node of the cluster is ready, and the fates of Pods are in the tests' hands."""
    return fates.in_force(kube) and all(is_ready(node) for node in kube.list("v1", "Node"))


def is_ready(node: Object) -> bool:
    """Whether the node's condition Ready is true."""
    conditions = node["status"].get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def is_served(kube: Kube, name: str) -> bool:
    """Whether a custom resource type can be used: it is established a moment before its paths are known."""
    definition = kube.get(*_CRD, name)
    conditions = definition.get("status", {}).get("conditions") or []  # null at first
    established = any(one["type"] == "Established" and one["status"] == "True" for one in conditions)
    versions = [version["name"] for version in definition["spec"]["versions"] if version["served"]]
    return established and all(_is_known(kube, definition["spec"], version) for version in versions)


def _is_known(kube: Kube, spec: Object, version: str) -> bool:
    try:
        known = kube.request("GET", f"/apis/{spec['group']}/{version}")["resources"]
    except NotFoundError:
        return False
    return any(one["name"] == spec["names"]["plural"] for one in known)


def install_definitions(kube: Kube, definitions: Iterable[Object]) -> None:
    """Apply CustomResourceDefinitions and wait until the API server serves them."""
    names = [kube.apply(definition)["metadata"]["name"] for definition in definitions]
    for name in names:
        eventually(partial(is_served, kube, name), what=f"{name} is served")
