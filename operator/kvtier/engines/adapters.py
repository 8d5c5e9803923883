"""LoRA adapters: where an engine finds each, and how vLLM is given them.

vLLM puts the name and the path of a request's adapter into the keys of its blocks (`_gen_lora_extra_hash_keys` in
vllm/v1/core/kv_cache_utils.py, 0.32 and 0.33), and nothing of its weights. So the path has to name the weights.
"""

from kvtier.api.names import digest
from kvtier.api.v1alpha1 import ServedModel
from kvtier.api.v1alpha1.adapters import Adapter

ROOT = "/kv/adapters"


def directory(adapter: Adapter) -> str:
    """Path of the adapter in the engine container. Another source or revision has another path."""
    return f"{ROOT}/{adapter.name}/{digest(adapter.model, adapter.revision or '', length=16)}"


def modules(model: ServedModel) -> list[str]:
    """The adapters as vLLM's command line takes them: `NAME=PATH`. Names contain no `=`."""
    return [f"{adapter.name}={directory(adapter)}" for adapter in model.adapters]


def sources(model: ServedModel) -> list[dict[str, str | None]]:
    """The directory of each adapter, and the repository with its revision, or the path, that it comes from."""
    return [
        {"directory": directory(adapter), "model": adapter.model, "revision": adapter.revision}
        for adapter in model.adapters
    ]
