"""The engine's command line and environment, whichever backend moves its blocks."""

import json
from typing import Any

from kvtier.api.v1alpha1 import KVCachePool, ServedModel
from kvtier.engines import lmcache, native

PORT = 8000
HASH_SEED = "0"
"""One seed in every container that hashes lets every Pod find the others' blocks."""


def argv(pool: KVCachePool, model: ServedModel, with_lustre: bool, blocks_per_chunk: int) -> list[str]:
    """The engine's command line after the image's shell: `vllm serve ...`, one list item per argument.

    User text always stands behind `=` or alone as the model, so that it cannot become a flag.
    """
    flags: dict[str, Any] = {
        "--served-model-name": model.name,
        "--revision": model.revision,
        "--port": PORT,
        "--tensor-parallel-size": model.tensor_parallel_size,
        "--max-model-len": model.max_model_len,
        "--max-num-seqs": model.max_num_seqs,
        "--max-num-batched-tokens": model.max_num_batched_tokens,
        "--gpu-memory-utilization": model.gpu_memory_utilization,
        "--kv-cache-dtype": model.kv_cache_dtype,
        "--block-size": model.block_size,
        "--prefix-caching-hash-algo": "sha256_cbor",
    }
    if pool.spec.tiers.cpu is not None:
        config = _transfer_config(pool, model, with_lustre, blocks_per_chunk)
        flags["--kv-transfer-config"] = json.dumps(config, separators=(",", ":"))
    given = [f"{flag}={value}" for flag, value in flags.items() if value is not None]
    return ["vllm", "serve", model.model, "--enable-prefix-caching", *given, *model.extra_args]


def _transfer_config(
    pool: KVCachePool, model: ServedModel, with_lustre: bool, blocks_per_chunk: int
) -> dict[str, Any]:
    if model.engine.lmcache is not None:
        return lmcache.transfer_config(model.engine.lmcache.version)
    return native.transfer_config(pool, model, with_lustre, blocks_per_chunk)


def environment() -> dict[str, str]:
    """Variables that kvtier owns."""
    return {"PYTHONHASHSEED": HASH_SEED, "HOME": "/home/vllm", "USER": "vllm"}
