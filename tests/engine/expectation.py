"""What vLLM must have understood of a pool: from its fields, not from what kvtier renders."""

import math
from typing import Any

from kvtier.api.v1alpha1 import KVCachePool, ServedModel
from kvtier.engines.versions import facts

ROOTS = {"localSSD": "/kv/ssd", "lustre": "/kv/lustre"}


def check(pool: KVCachePool, model: ServedModel, found: dict[str, Any], tiers: list[str]) -> None:
    """Compare what a `Worker` answers with the pool; `tiers` are those that the engine has, fastest first."""
    assert found["refused"] is None, found["why"]
    assert found["model"] == model.model
    assert found["parsed"] == {"port": 8000, "revision": _revision(model)}
    assert _understood(model, found["configured"]) == {
        "served": model.name,
        "revision": _revision(model),
        "max_model_len": model.max_model_len,
        "dtype": model.kv_cache_dtype,
        "prefix_caching": True,
        "hash": "sha256_cbor",
        "gpu_memory_utilization": model.gpu_memory_utilization,
        "tensor_parallel_size": model.tensor_parallel_size,
        "max_num_seqs": model.max_num_seqs,
        "max_num_batched_tokens": model.max_num_batched_tokens,
    }
    _check_connector(pool, found, tiers)
    assert [_of_tier(tier) for tier in found.get("tiers", [])] == [
        _expected_tier(pool, model, name) for name in tiers if name != "cpu"
    ]


def _revision(model: ServedModel) -> str | None:
    """vLLM takes the text None for no revision."""
    return None if model.revision == "None" else model.revision


def _understood(model: ServedModel, configured: dict[str, Any]) -> dict[str, Any]:
    """Without what the model leaves to vLLM."""
    left = {
        name
        for name in ("max_model_len", "max_num_seqs", "max_num_batched_tokens")
        if getattr(model, name) is None
    }
    transfer = {"connector", "role", "failure_policy", "extra"}
    return {k: None if k in left else v for k, v in configured.items() if k not in transfer}


def _check_connector(pool: KVCachePool, found: dict[str, Any], tiers: list[str]) -> None:
    configured = found["configured"]
    connector = [configured[name] for name in ("connector", "role", "failure_policy")]
    if not tiers:
        assert (connector, configured["extra"]) == ([None, None, None], None)
        return
    assert connector == ["OffloadingConnector", "kv_both", "recompute"]
    assert found["spec"] == ("TieringOffloadingSpec" if tiers[1:] else "CPUOffloadingSpec")
    assert pool.spec.tiers.cpu
    extra = configured["extra"]
    assert extra["cpu_bytes_to_use"] == pool.spec.tiers.cpu.capacity.bytes
    assert math.log2(extra["blocks_per_chunk"]).is_integer()
    assert extra["eviction_policy"] == "lru"


def _expected_tier(pool: KVCachePool, model: ServedModel, name: str) -> dict[str, Any]:
    settings = facts(model).fs_tier[name]
    place = f"{ROOTS[name]}/{pool.namespace}/{pool.name}/"
    return {
        "class": "FileSystemTierManager",
        "backpressure": "EMABackpressureDetector",
        "in": place,
        **settings,
    }


def _of_tier(tier: dict[str, Any]) -> dict[str, Any]:
    """The tier, without the name of its last directory, which must be one of 16 hex digits."""
    place, slash, fingerprint = tier["root_dir"].rpartition("/")
    assert len(fingerprint) == 16
    assert int(fingerprint, 16) >= 0
    others = {k: v for k, v in tier.items() if k not in ("root_dir", "tier_type")}
    return {**others, "in": place + slash}
