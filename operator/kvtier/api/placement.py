"""Where the Pods of a pool may run: the node labels that GKE sets, and those that a pool requires."""

from collections.abc import Callable, Mapping

from kvtier.api.names import derive
from kvtier.api.v1alpha1 import KVCachePool, ServedModel

ACCELERATOR = "cloud.google.com/gke-accelerator"
COMPUTE_CLASS = "cloud.google.com/compute-class"
OS_DISTRIBUTION = "cloud.google.com/gke-os-distribution"
LOCAL_SSD = "cloud.google.com/gke-ephemeral-storage-local-ssd"
ZONE = "topology.kubernetes.io/zone"
CONFIDENTIAL = (
    "cloud.google.com/gke-confidential-nodes-instance-type",
    "cloud.google.com/gke-confidential-nodes",
)
"""Labels of Confidential GKE Nodes: their technology, and the label that older nodes have instead."""


def compute_class(pool: KVCachePool) -> str:
    """Name of the pool's ComputeClass, which is cluster-scoped."""
    return compute_class_name(pool.namespace, pool.name)


def compute_class_name(namespace: str, pool: str) -> str:
    """The same, by the names of namespace and pool."""
    return derive(namespace, pool)


def zones(pool: KVCachePool) -> list[str]:
    """Zones of the engines; empty for any zone."""
    lustre = pool.spec.tiers.lustre
    return sorted(pool.spec.node_pool.zones) or ([lustre.located] if lustre else [])


def node_selector(pool: KVCachePool) -> dict[str, str]:
    """Labels that a node must have, without the label of its zone."""
    nodes = pool.spec.node_pool
    if nodes.provisioner == "ComputeClass":
        chosen = {COMPUTE_CLASS: compute_class(pool)}
    else:
        chosen = {ACCELERATOR: nodes.accelerator.type}
    if pool.spec.tiers.local_ssd is not None:
        chosen[LOCAL_SSD] = "true"
    return {**nodes.node_selector, **chosen}


def pods_per_node(pool: KVCachePool, model: ServedModel) -> int:
    """How many Pods of a model the GPUs of one node can host."""
    return pool.spec.node_pool.accelerator.count // model.tensor_parallel_size


def fitting(pool: KVCachePool, any_zone: bool = False) -> Callable[[Mapping[str, str]], bool]:
    """A predicate on node labels: whether the node may run the pool's engines. Build it once for many nodes."""
    wanted, allowed = node_selector(pool).items(), [] if any_zone else zones(pool)

    def fits(labels: Mapping[str, str]) -> bool:
        selected = all(labels.get(key) == value for key, value in wanted)
        return selected and (not allowed or labels.get(ZONE) in allowed)

    return fits
