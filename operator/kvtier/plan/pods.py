"""What all Pods of a pool have in common, whatever they run."""

from typing import Any

from kvtier.api import placement
from kvtier.api.v1alpha1 import KVCachePool


def placed(pool: KVCachePool) -> dict[str, Any]:
    """Values of `templates/pod.yaml.j2`: where Pods of a pool may run."""
    return {
        "node_selector": placement.node_selector(pool),
        "zones": placement.zones(pool),
        "compute_class": placement.compute_class(pool) if on_demand(pool) else None,
    }


def on_demand(pool: KVCachePool) -> bool:
    """Whether GKE makes nodes when Pods need them."""
    return pool.spec.node_pool.provisioner == "ComputeClass"


def literal(text: str) -> str:
    """Text that reaches the container as it is: the kubelet expands $(NAME) and turns $$ into $."""
    return text.replace("$", "$$")
