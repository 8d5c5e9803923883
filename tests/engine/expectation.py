"""The configuration of vLLM that is expected for a pool, from its fields and not from what kvtier renders."""

from typing import Any

from kvtier.api.v1alpha1 import KVCachePool, ServedModel
from kvtier.engines.fingerprint import directory
from kvtier.engines.versions import facts
from unit.builders import model_cache

ROOTS = {"localSSD": "/kv/ssd", "lustre": "/kv/lustre"}
_CONNECTORS = {"Native": "OffloadingConnector", "LMCache": "LMCacheMPConnector"}


def check(pool: KVCachePool, model: ServedModel, found: dict[str, Any], tiers: list[str]) -> None:
    """Compare the answer of a `Worker` with the pool. `tiers`: those of the engine, fastest first."""
    assert found["refused"] is None, found["why"]
    assert found["model"] == model.model
    assert found["parsed"] == {"port": 8000, "revision": _revision(model)}
    assert _understood(model, found["configured"]) == {
        "served": model.name,
        "revision": _revision(model),
        "max_model_len": model.max_model_len,
        "dtype": model.kv_cache_dtype,
        "block_size": model.block_size,
        "prefix_caching": True,
        "hash": "sha256_cbor",
        "gpu_memory_utilization": model.gpu_memory_utilization,
        "tensor_parallel_size": model.tensor_parallel_size,
        "max_num_seqs": model.max_num_seqs,
        "max_num_batched_tokens": model.max_num_batched_tokens,
    }
    _check_connector(pool, model, found, tiers)


def _revision(model: ServedModel) -> str | None:
    """vLLM reads the text None as no revision."""
    return None if model.revision == "None" else model.revision


def _understood(model: ServedModel, configured: dict[str, Any]) -> dict[str, Any]:
    """Without fields that the model does not set."""
    left = {
        name
        for name in ("max_model_len", "max_num_seqs", "max_num_batched_tokens")
        if getattr(model, name) is None
    }
    transfer = {"connector", "role", "failure_policy", "extra"}
    return {k: None if k in left else v for k, v in configured.items() if k not in transfer}


def _check_connector(pool: KVCachePool, model: ServedModel, found: dict[str, Any], tiers: list[str]) -> None:
    configured = found["configured"]
    connector = [configured[name] for name in ("connector", "role", "failure_policy")]
    if not tiers:
        assert (connector, configured["extra"]) == ([None, None, None], None)
        return
    assert connector == [_CONNECTORS[model.engine.backend], "kv_both", "recompute"]
    if model.engine.backend == "LMCache":
        assert found["connector_class"].startswith("lmcache."), (
            "vLLM's own connector supports only one group of layers"
        )
    else:
        _check_tiers(pool, model, found, tiers)


def _check_tiers(pool: KVCachePool, model: ServedModel, found: dict[str, Any], tiers: list[str]) -> None:
    assert found["spec"] == ("TieringOffloadingSpec" if tiers[1:] else "CPUOffloadingSpec")
    assert pool.spec.tiers.cpu
    extra = found["configured"]["extra"]
    assert extra["cpu_bytes_to_use"] == pool.spec.tiers.cpu.capacity.bytes
    assert extra["eviction_policy"] == "lru"
    blocks = extra["blocks_per_chunk"]
    assert type(blocks) is int
    assert blocks > 0
    assert blocks == (model.blocks_per_chunk or blocks)
    below = [_expected_tier(pool, model, name, blocks) for name in tiers if name != "cpu"]
    assert found["tiers"] == below


def _expected_tier(pool: KVCachePool, model: ServedModel, name: str, blocks_per_chunk: int) -> dict[str, Any]:
    place = directory(pool, model_cache(model, blocks_per_chunk))
    if name == "objectStorage":
        return _expected_objects(pool, place)
    return {
        "class": "FileSystemTierManager",
        "tier_type": "fs",
        "root_dir": f"{ROOTS[name]}/{place}",
        **facts(model).file_tier.settings[name],
        "backpressure": "EMABackpressureDetector",
    }


def _expected_objects(pool: KVCachePool, place: str) -> dict[str, Any]:
    tier = pool.spec.tiers.object_storage
    assert tier
    store = {"bucket": tier.bucket, "endpoint_override": tier.endpoint, "scheme": tier.scheme}
    return {
        "class": "ObjectStoreSecondaryTierManager",
        "tier_type": "obj",
        "backpressure": "EMABackpressureDetector",
        "prefix": place,
        "locality": "REMOTE",
        "store": store | ({"region": tier.region} if tier.region else {}),
    }
