"""vLLM's own tiering: the OffloadingConnector's configuration and the engine's argument list."""

import json
from typing import Any

from kvtier.api.v1alpha1 import KVCachePool, ServedModel
from kvtier.engines import tiers as secondary_tiers
from kvtier.engines.fingerprint import directory
from kvtier.engines.versions import EngineFacts, facts

PORT = 8000
HASH_SEED = "0"
SSD_ROOT = "/kv/ssd"
LUSTRE_ROOT = "/kv/lustre"


def argv(
    pool: KVCachePool, model: ServedModel, with_lustre: bool, blocks_per_chunk: int | None = None
) -> list[str]:
    """The engine's command line after the image's shell: `vllm serve ...`, one list item per argument.

    User text always stands behind `=` or alone as the model, so that it cannot become a flag.
    `blocks_per_chunk` is the usual number of the engine's version when left out.
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
        "--prefix-caching-hash-algo": "sha256_cbor",
    }
    if pool.spec.tiers.cpu is not None:
        config = transfer_config(pool, model, with_lustre, blocks_per_chunk)
        flags["--kv-transfer-config"] = json.dumps(config, separators=(",", ":"))
    given = [f"{flag}={value}" for flag, value in flags.items() if value is not None]
    return ["vllm", "serve", model.model, "--enable-prefix-caching", *given, *model.extra_args]


def transfer_config(
    pool: KVCachePool, model: ServedModel, with_lustre: bool, blocks_per_chunk: int | None = None
) -> dict[str, Any]:
    """`--kv-transfer-config` of the OffloadingConnector: the CPU tier and the file tiers below it.

    A failed load is recomputed, never an error: vLLM's default fails the request.
    """
    tiers, engine = pool.spec.tiers, facts(model)
    assert tiers.cpu is not None
    extra: dict[str, Any] = {
        "cpu_bytes_to_use": tiers.cpu.capacity.bytes,
        "blocks_per_chunk": blocks_per_chunk or engine.blocks_per_chunk,
        "eviction_policy": "lru",
    }
    here = directory(pool, model, blocks_per_chunk)
    secondary = []
    if tiers.local_ssd is not None:
        secondary.append(_file_tier(f"{SSD_ROOT}/{here}", engine, "localSSD"))
    if with_lustre:
        secondary.append(_file_tier(f"{LUSTRE_ROOT}/{here}", engine, "lustre"))
    if secondary:
        extra = {"spec_name": "TieringOffloadingSpec", **extra, "secondary_tiers": secondary}
    return {
        "kv_connector": "OffloadingConnector",
        "kv_role": "kv_both",
        "kv_load_failure_policy": "recompute",
        "kv_connector_extra_config": extra,
    }


def environment(model: ServedModel) -> dict[str, str]:
    """Variables that kvtier owns, then the user's. One hash seed lets every Pod find the others' blocks."""
    home = {"HOME": "/home/vllm", "USER": "vllm"}
    return {"PYTHONHASHSEED": HASH_SEED, **home, **{variable.name: variable.value for variable in model.env}}


def _file_tier(root: str, engine: EngineFacts, name: str) -> dict[str, Any]:
    tier = secondary_tiers.file_tier(root, engine.fs_tier[name])
    fault = secondary_tiers.fault(tier, engine)
    assert fault is None, fault
    return tier
