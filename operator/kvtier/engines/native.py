"""Secondary tiers of vLLM's own tiering, and whether a version takes them. Nothing in vLLM checks keys in time."""

from typing import Any

from kvtier.api.v1alpha1 import KVCachePool, ObjectStorageTier, ServedModel
from kvtier.data import table
from kvtier.engines.fingerprint import directory
from kvtier.engines.versions import EngineFacts, facts

PRESSURE = {"backpressure_cls": "EMABackpressureDetector"}
"""Stores to a tier that has become slow are dropped, not queued. Its limits are vLLM's own, by locality."""


def file_tier(root: str, settings: dict[str, Any]) -> dict[str, Any]:
    """A tier of files below `root`; settings are threads and locality."""
    return {"type": "fs", "root_dir": root, **settings, "backpressure": PRESSURE}


def object_tier(tier: ObjectStorageTier, prefix: str) -> dict[str, Any]:
    """A tier of objects whose keys begin with `prefix` and a slash.

    It could hold credentials too, but arguments can be read by too many: the SDK finds them in the environment.
    """
    store = {
        "bucket": tier.bucket,
        "endpoint_override": tier.endpoint,
        "scheme": tier.scheme,
        **({"region": tier.region} if tier.region else {}),
    }
    return {
        "type": "obj",
        "store_config": store,
        "prefix": prefix,
        "locality": "REMOTE",
        "backpressure": PRESSURE,
    }


def object_environment(version: str) -> dict[str, str]:
    """Variables without which objects may come back wrong, or end the engine (`data/object_storage.yaml`)."""
    known = table("object_storage")
    return {**known["environment"], **known["versions"].get(version, {})}


def fault(tier: dict[str, Any], engine: EngineFacts) -> str | None:
    """What vLLM of this version would end on at start, or None for a tier that it takes."""
    kind = tier.get("type")
    keys = engine.secondary_tiers.get(str(kind))
    if keys is None:
        renamed = engine.renamed_tiers.get(str(kind))
        remedy = (
            f"it is called {renamed}" if renamed else f"it knows {', '.join(sorted(engine.secondary_tiers))}"
        )
        return f"vLLM {engine.version} has no secondary tier {kind!r}: {remedy}"
    given = set(tier) - {"type"}
    missing, unknown = sorted(keys.required - given), sorted(given - keys.required - keys.optional)
    if missing:
        return f"secondary tier {kind} lacks {', '.join(missing)}"
    if unknown:
        return f"secondary tier {kind} of vLLM {engine.version} does not know {', '.join(unknown)}"
    return _pressure_fault(tier.get("backpressure", PRESSURE), engine)


def _pressure_fault(pressure: dict[str, Any], engine: EngineFacts) -> str | None:
    unknown = sorted(set(pressure) - engine.backpressure_keys)
    if unknown:
        return f"backpressure of vLLM {engine.version} does not know {', '.join(unknown)}"
    return None if "backpressure_cls" in pressure else "backpressure lacks backpressure_cls"


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
        secondary.append(_taken(object_tier(tiers.object_storage, here), engine))
    if secondary:
        extra = {"spec_name": "TieringOffloadingSpec", **extra, "secondary_tiers": secondary}
    return {
        "kv_connector": "OffloadingConnector",
        "kv_role": "kv_both",
        "kv_load_failure_policy": "recompute",
        "kv_connector_extra_config": extra,
    }


def _file_tier(root: str, engine: EngineFacts, name: str) -> dict[str, Any]:
    return _taken(file_tier(root, engine.fs_tier[name]), engine)


def _taken(tier: dict[str, Any], engine: EngineFacts) -> dict[str, Any]:
    refused = fault(tier, engine)
    assert refused is None, refused
    return tier
