"""The engine's command line and environment, for both backends."""

import json
from typing import Any

from kvtier.api.v1alpha1 import KVCachePool, ServedModel
from kvtier.data.engines import EngineFacts
from kvtier.engines import adapters, lmcache, native
from kvtier.engines.fingerprint import ModelCache, directory
from kvtier.engines.versions import facts

PORT = 8000
HASH_SEED = "0"
"""The same seed in every container that computes hashes, so that Pods find the blocks of others."""


def argv(pool: KVCachePool, model: ServedModel, with_lustre: bool, cached: ModelCache) -> list[str]:
    """The engine's command line after the image's shell: `vllm serve ...`, one list item per argument.

    Text of users is always after `=`, or alone as the model or an adapter, so that it cannot become a flag. A flag
    follows the list of adapters, so that extraArgs cannot extend it.
    """
    engine = facts(model)
    values = _values(model)
    if pool.spec.tiers.cpu is not None:
        config = _transfer_config(pool, model, with_lustre, cached, engine)
        values["transferConfig"] = json.dumps(config, separators=(",", ":"))
    given = [f"{engine.flag(name)}={value}" for name, value in values.items() if value is not None]
    lora = [engine.flag("enableAdapters"), engine.flag("adapters"), *adapters.modules(model)]
    served = [*(lora if model.adapters else []), *given]
    return ["vllm", "serve", model.model, engine.flag("prefixCaching"), *served, *model.extra_args]


def _values(model: ServedModel) -> dict[str, Any]:
    """Values of the command line, by the names of `EngineFacts.flags`. For None, vLLM uses its default."""
    return {
        "servedModelName": model.name,
        "revision": model.revision,
        "port": PORT,
        "tensorParallelSize": model.tensor_parallel_size,
        "maxModelLen": model.max_model_len,
        "maxNumSeqs": model.max_num_seqs,
        "maxNumBatchedTokens": model.max_num_batched_tokens,
        "gpuMemoryUtilization": model.gpu_memory_utilization,
        "kvCacheDtype": model.kv_cache_dtype,
        "blockSize": model.block_size,
        "prefixCachingHash": "sha256_cbor",
    }


def _transfer_config(
    pool: KVCachePool, model: ServedModel, with_lustre: bool, cached: ModelCache, engine: EngineFacts
) -> dict[str, Any]:
    """Which connector moves blocks, and how. A failed load is recomputed; by default vLLM would fail the request."""
    if model.engine.lmcache is not None:
        connector, extra = lmcache.CONNECTOR, lmcache.connector_config(model.engine.lmcache.version)
    else:
        connector = native.CONNECTOR
        below, blocks = directory(pool, cached), cached.blocks_per_chunk
        extra = native.connector_config(pool.spec.tiers, with_lustre, below, blocks, engine)
    keys = engine.transfer_keys
    return {
        keys.connector: connector,
        keys.role: "kv_both",
        keys.load_failure_policy: "recompute",
        keys.extra_config: extra,
    }


def environment() -> dict[str, str]:
    """Environment variables that kvtier sets in every engine."""
    return {"PYTHONHASHSEED": HASH_SEED, "HOME": "/home/vllm", "USER": "vllm"}
