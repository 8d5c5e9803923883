"""vLLM's own tiering: the OffloadingConnector's configuration."""

from typing import Any

from kvtier.api.v1alpha1 import KVCachePool, ServedModel
from kvtier.engines import tiers as secondary_tiers
from kvtier.engines.fingerprint import directory
from kvtier.engines.versions import EngineFacts, facts

SSD_ROOT = "/kv/ssd"
LUSTRE_ROOT = "/kv/lustre"


def transfer_config(
    pool: KVCachePool, model: ServedModel, with_lustre: bool, blocks_per_chunk: int
) -> dict[str, Any]:
    """`--kv-transfer-config` of the OffloadingConnector: the CPU tier and the tiers below it.

    A failed load is recomputed, never an error: vLLM's default fails the request.
    """
    tiers, engine = pool.spec.tiers, facts(model)
    assert tiers.cpu is not None
    extra: dict[str, Any] = {
        "cpu_bytes_to_use": tiers.cpu.capacity.bytes,
        "blocks_per_chunk": blocks_per_chunk,
        "eviction_policy": "lru",
    }
    here = directory(pool, model, blocks_per_chunk)
    secondary = []
    if tiers.local_ssd is not None:
        secondary.append(_file_tier(f"{SSD_ROOT}/{here}", engine, "localSSD"))
    if with_lustre:
        secondary.append(_file_tier(f"{LUSTRE_ROOT}/{here}", engine, "lustre"))
    if tiers.object_storage is not None:
        secondary.append(_taken(secondary_tiers.object_tier(tiers.object_storage, here), engine))
    if secondary:
        extra = {"spec_name": "TieringOffloadingSpec", **extra, "secondary_tiers": secondary}
    return {
        "kv_connector": "OffloadingConnector",
        "kv_role": "kv_both",
        "kv_load_failure_policy": "recompute",
        "kv_connector_extra_config": extra,
    }


def _file_tier(root: str, engine: EngineFacts, name: str) -> dict[str, Any]:
    return _taken(secondary_tiers.file_tier(root, engine.fs_tier[name]), engine)


def _taken(tier: dict[str, Any], engine: EngineFacts) -> dict[str, Any]:
    fault = secondary_tiers.fault(tier, engine)
    assert fault is None, fault
    return tier
