"""Nodes of a GKE cluster as the controllers and kubelets of GKE write them, and the objects of the CSI driver."""

from dataclasses import dataclass, field

from testbed.gke import LUSTRE_DRIVER, PROJECT, ZONE, machines, pod_failures
from testbed.gke.machines import LOCAL_SSD_GIB, MACHINES, Machine
from testbed.kube import Kube, Object

COMPUTE_CLASS_LABEL = "cloud.google.com/compute-class"
LOCAL_SSD_LABEL = "cloud.google.com/gke-ephemeral-storage-local-ssd"
ZONE_LABEL = "topology.kubernetes.io/zone"
LUSTRE_ZONE_LABEL = "topology.gke.io/zone"
GPU_RESOURCE = "nvidia.com/gpu"
DEFAULT_KUBELET = "v1.36.3-gke.1234000"

_OS_IMAGES = {"cos": "Container-Optimized OS from Google", "ubuntu": "Ubuntu 24.04.3 LTS"}
_KERNELS = {"cos": "6.12.55+", "ubuntu": "6.8.0-1041-gke"}


@dataclass(frozen=True)
class NodeSpec:
    """A node to simulate. ``lustre`` says whether the Lustre driver has registered on it."""

    name: str
    machine: str = "e2-standard-4"
    zone: str = ZONE
    nodepool: str = "default-pool"
    kubelet: str = DEFAULT_KUBELET
    os: str = "cos"
    local_ssds: int = 0
    gpu_type: str | None = None
    gpus: int | None = None
    compute_class: str = ""
    lustre: bool = True
    project: str = PROJECT
    labels: dict[str, str] = field(default_factory=dict)


def node(spec: NodeSpec) -> Object:
    """The Node. kwok keeps it ready and runs its Pods."""
    capacity, free = _resources(spec)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": spec.name,
            "labels": _labels(spec),
            "annotations": {"kwok.x-k8s.io/node": "fake", "node.alpha.kubernetes.io/ttl": "0"},
        },
        "spec": {"providerID": f"gce://{spec.project}/{spec.zone}/{spec.name}", "taints": _taints(spec)},
        "status": {"capacity": capacity, "allocatable": free, "nodeInfo": _info(spec)},
    }


def csi_node(spec: NodeSpec, owner_uid: str) -> Object:
    """The CSINode that the kubelet of the node writes. It is deleted with the Node."""
    driver = {"name": LUSTRE_DRIVER, "nodeID": spec.name, "topologyKeys": [LUSTRE_ZONE_LABEL]}
    owner = {"apiVersion": "v1", "kind": "Node", "name": spec.name, "uid": owner_uid}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": spec.name, "ownerReferences": [owner]},
        "spec": {"drivers": [driver] if spec.lustre else []},
    }


def csi_driver(project: str = PROJECT) -> Object:
    """The CSIDriver that the Lustre add-on installs."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": LUSTRE_DRIVER},
        "spec": {
            "attachRequired": False,
            "podInfoOnMount": True,
            "requiresRepublish": True,
            "tokenRequests": [{"audience": f"{project}.svc.id.goog"}],
        },
    }


def _gpus(spec: NodeSpec) -> tuple[str, int]:
    machine = MACHINES[spec.machine]
    return spec.gpu_type or machine.gpu_type, machine.gpus if spec.gpus is None else spec.gpus


def _local_ssds(spec: NodeSpec, machine: Machine) -> int:
    return spec.local_ssds or machine.local_ssds


def _labels(spec: NodeSpec) -> dict[str, str]:
    machine = MACHINES[spec.machine]
    gpu_type, gpus = _gpus(spec)
    labels = {
        "kubernetes.io/hostname": spec.name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "node.kubernetes.io/instance-type": spec.machine,
        "topology.kubernetes.io/region": spec.zone.rpartition("-")[0],
        ZONE_LABEL: spec.zone,
        "cloud.google.com/gke-nodepool": spec.nodepool,
        "cloud.google.com/gke-os-distribution": spec.os,
        "cloud.google.com/gke-container-runtime": "containerd",
        "cloud.google.com/machine-family": machine.family,
    }
    if spec.lustre:
        labels[LUSTRE_ZONE_LABEL] = spec.zone
    if _local_ssds(spec, machine):
        labels[LOCAL_SSD_LABEL] = "true"
    if gpus:
        labels["cloud.google.com/gke-accelerator"] = gpu_type
        labels["cloud.google.com/gke-accelerator-count"] = str(gpus)
        labels["cloud.google.com/gke-gpu-driver-version"] = "latest"
    if spec.compute_class:
        labels[COMPUTE_CLASS_LABEL] = spec.compute_class
    return labels | spec.labels


def _taints(spec: NodeSpec) -> list[Object]:
    taints = []
    if _gpus(spec)[1]:
        taints.append({"key": GPU_RESOURCE, "value": "present", "effect": "NoSchedule"})
    if spec.compute_class:
        taints.append({"key": COMPUTE_CLASS_LABEL, "value": spec.compute_class, "effect": "NoSchedule"})
    return taints


def _resources(spec: NodeSpec) -> tuple[dict[str, str], dict[str, str]]:
    machine = MACHINES[spec.machine]
    disk, disk_free = machines.ephemeral_gib(_local_ssds(spec, machine), LOCAL_SSD_GIB)
    capacity = {
        "cpu": str(machine.cpus),
        "memory": f"{machine.memory_gib}Gi",
        "ephemeral-storage": f"{disk}Gi",
        "pods": "110",
    }
    free = capacity | {
        "cpu": f"{machines.cpu_millis(machine.cpus)}m",
        "memory": f"{machines.memory_mib(machine.memory_gib)}Mi",
        "ephemeral-storage": f"{disk_free}Gi",
    }
    if gpus := _gpus(spec)[1]:
        capacity[GPU_RESOURCE] = free[GPU_RESOURCE] = str(gpus)
    return capacity, free


def _info(spec: NodeSpec) -> dict[str, str]:
    return {
        "architecture": "amd64",
        "operatingSystem": "linux",
        "kernelVersion": _KERNELS[spec.os],
        "osImage": _OS_IMAGES[spec.os],
        "containerRuntimeVersion": "containerd://2.1.5",
        "kubeletVersion": spec.kubelet,
        "kubeProxyVersion": spec.kubelet,
        "bootID": "",
        "machineID": "",
        "systemUUID": "",
    }


DEFAULT_NODES = (
    NodeSpec("gke-testbed-default-pool-0", zone="us-central1-a"),
    NodeSpec("gke-testbed-default-pool-1", zone="us-central1-b"),
    NodeSpec("gke-testbed-h100-pool-0", "a3-highgpu-8g", "us-central1-a", "h100-pool"),
    NodeSpec("gke-testbed-h100-pool-1", "a3-highgpu-8g", "us-central1-a", "h100-pool"),
)


def install_driver(kube: Kube) -> None:
    """Create the CSIDriver of the Lustre add-on."""
    kube.apply(csi_driver())


def install_nodes(kube: Kube) -> None:
    """Create the node pools, and the policy by which tests make Pods fail."""
    pod_failures.install(kube)
    for spec in DEFAULT_NODES:
        add_node(kube, spec)


def add_node(kube: Kube, spec: NodeSpec) -> Object:
    """Add a node to the cluster, with its CSI registration."""
    created = kube.create(node(spec))
    kube.create(csi_node(spec, created["metadata"]["uid"]))
    return created


def nodes_ready(kube: Kube) -> bool:
    """Whether every node of the cluster is ready, and tests can make Pods fail."""
    return pod_failures.in_force(kube) and all(is_ready(node) for node in kube.list("v1", "Node"))


def is_ready(node: Object) -> bool:
    """Whether the node's condition Ready is true."""
    conditions = node["status"].get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
