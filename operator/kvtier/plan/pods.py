"""What all Pods of a pool have in common, whatever they run."""

from typing import Any

from kvtier.api import placement
from kvtier.api.v1alpha1 import KVCachePool, ServedModel

# The API server copies serviceAccountName into serviceAccount, and back: only who owns both can take it away again.
_FIELDS = {
    "serviceAccountName": "serviceAccountName",
    "serviceAccount": "serviceAccountName",
    "priorityClassName": "priorityClassName",
    "runtimeClassName": "runtimeClassName",
    "schedulerName": "schedulerName",
}


def placed(pool: KVCachePool, model: ServedModel) -> dict[str, Any]:
    """Values of `templates/pod.yaml.j2`: where Pods of a model may run, as whom, and with which secrets for images."""
    template = model.pod_template
    given = template.model_dump(by_alias=True, exclude_none=True) if template else {}
    return {
        "node_selector": placement.node_selector(pool),
        "zones": placement.zones(pool),
        "compute_class": placement.compute_class(pool) if on_demand(pool) else None,
        "gpu_resource": pool.spec.node_pool.accelerator.resource_name,
        "pull_secrets": [{"name": secret.name} for secret in model.engine.image_pull_secrets],
        "fields": {field: given[name] for field, name in _FIELDS.items() if name in given},
        "tolerations": given.get("tolerations", []),
    }


def on_demand(pool: KVCachePool) -> bool:
    """Whether GKE makes nodes when Pods need them."""
    return pool.spec.node_pool.provisioner == "ComputeClass"


def literal(text: str) -> str:
    """Text that reaches the container as it is: the kubelet expands $(NAME) and turns $$ into $."""
    return text.replace("$", "$$")
