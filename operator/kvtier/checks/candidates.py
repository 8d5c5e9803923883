"""The nodes that a pool's engines could run on, as the checks see them."""

from kvtier.api.placement import fits
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Facts, Node


def candidates(pool: KVCachePool, facts: Facts) -> list[Node]:
    """Nodes with the labels and in a zone that the pool asks for."""
    return [node for node in facts.cluster.nodes if fits(pool, node.labels)]


def names(nodes: list[Node], limit: int = 3) -> str:
    """A readable list of node names that stays short with 500 nodes."""
    shown = ", ".join(node.name for node in nodes[:limit])
    return shown if len(nodes) <= limit else f"{shown} and {len(nodes) - limit} more"
