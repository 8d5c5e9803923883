"""vLLM's own tiering: the configuration of its OffloadingConnector for the CPU tier and the tiers below.

vLLM does not validate the keys early: an unknown key of a secondary tier ends the engine at start, and other unknown
keys are silently ignored. So all keys come from the row of the version (`data/engines.yaml`).
"""

from typing import Any

from kvtier.api.v1alpha1 import ObjectStorageTier, Tiers
from kvtier.data.engines import EngineFacts, FileTier, ObjectTier

CONNECTOR = "OffloadingConnector"
SSD_ROOT = "/kv/ssd"
LUSTRE_ROOT = "/kv/lustre"


def connector_config(
    tiers: Tiers, with_lustre: bool, directory: str, blocks_per_chunk: int, engine: EngineFacts
) -> dict[str, Any]:
    """Extra configuration of the connector of a pool with a CPU tier.

    `directory` is the path of the model's cache below the root of every tier. `with_lustre`: Lustre is mounted.
    """
    assert tiers.cpu is not None
    keys = engine.connector_keys
    config = {
        keys.cpu_bytes: tiers.cpu.capacity.bytes,
        keys.blocks_per_chunk: blocks_per_chunk,
        keys.eviction_policy: "lru",
    }
    secondary = _secondary_tiers(tiers, with_lustre, directory, engine)
    if not secondary:
        return config
    return {keys.spec: "TieringOffloadingSpec", **config, keys.secondary_tiers: secondary}


def _secondary_tiers(
    tiers: Tiers, with_lustre: bool, directory: str, engine: EngineFacts
) -> list[dict[str, Any]]:
    """The tiers below the CPU tier, in the order in which vLLM looks for a block."""
    found = []
    if tiers.local_ssd is not None:
        found.append(_file_tier(f"{SSD_ROOT}/{directory}", engine.file_tier, "localSSD"))
    if with_lustre:
        found.append(_file_tier(f"{LUSTRE_ROOT}/{directory}", engine.file_tier, "lustre"))
    if tiers.object_storage is not None:
        found.append(_object_tier(tiers.object_storage, engine.object_tier, directory))
    return found


def _file_tier(root: str, known: FileTier, name: str) -> dict[str, Any]:
    return {"type": known.type, known.root: root, **known.settings[name]}


def _object_tier(tier: ObjectStorageTier, known: ObjectTier, prefix: str) -> dict[str, Any]:
    """Objects whose keys begin with `prefix` and a slash.

    The SDK reads credentials from the environment, because too many users can read the arguments of a Pod.
    """
    keys = known.store_keys
    store = {keys.bucket: tier.bucket, keys.endpoint: tier.endpoint, keys.scheme: tier.scheme}
    region = {keys.region: tier.region} if tier.region else {}
    return {
        "type": known.type,
        known.store: store | region,
        known.prefix: prefix,
        **known.settings,
    }
