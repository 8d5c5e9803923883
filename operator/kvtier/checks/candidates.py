"""The nodes that a pool's engines could run on, as the checks see them."""

from kvtier.api.placement import fitting
from kvtier.api.v1alpha1 import KVCachePool, ServedModel
from kvtier.facts import versions
from kvtier.facts.model import Facts, Node
from kvtier.facts.versions import GKEVersion


def candidates(pool: KVCachePool, facts: Facts) -> list[Node]:
    """Nodes with the labels and in a zone that the pool asks for."""
    fits = fitting(pool)
    return [node for node in facts.cluster.nodes if fits(node.labels)]


def pods_per_node(pool: KVCachePool, model: ServedModel) -> int:
    """Most Pods of a model that one node can hold, by GPUs."""
    return pool.spec.node_pool.accelerator.count // model.tensor_parallel_size


def names(nodes: list[Node], limit: int = 3) -> str:
    """A readable list of node names that stays short with 500 nodes."""
    shown = ", ".join(node.name for node in nodes[:limit])
    return shown if len(nodes) <= limit else f"{shown} and {len(nodes) - limit} more"


def control_plane(facts: Facts) -> GKEVersion | None:
    """The control plane's version; from the GKE API, where the API server does not name it as GKE does."""
    told = facts.gke.version if facts.gke else None
    return versions.parse(facts.cluster.version) or (versions.parse(told) if told else None)
