"""The engine table (`data/engines.yaml`) as typed values."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from kvtier.api.v1alpha1 import ServedModel
from kvtier.api.v1alpha1.engine import VERSIONS
from kvtier.data import table


@dataclass(frozen=True)
class TierKeys:
    """Keys of one type of secondary tier. `package` is what the image must hold beside vLLM."""

    required: frozenset[str]
    optional: frozenset[str]
    package: str | None = None


@dataclass(frozen=True)
class EngineFacts:
    """What kvtier knows about one vLLM version. Sizes in GiB, times in seconds.

    `pinned_tier_gib` is the largest CPU tier that can be pinned, None for no limit. `eviction_safe` says that
    a block which an evictor took away is a miss. `dtype_choices`: the parser itself refuses unknown types.
    """

    version: str
    kv_cache_dtypes: tuple[str, ...]
    block_size: int
    blocks_per_chunk: int
    shm_headroom_gib: int
    startup_seconds: int
    pin_seconds_per_gib: float
    fs_tier: dict[str, dict[str, Any]]
    layout_flags: tuple[str, ...]
    layout_variables: tuple[str, ...]
    geometry_flags: tuple[str, ...]
    secondary_tiers: dict[str, TierKeys]
    renamed_tiers: dict[str, str]
    connector_keys: frozenset[str]
    backpressure_keys: frozenset[str]
    pinned_tier_gib: int | None
    eviction_safe: bool
    dtype_choices: bool


def facts(model: ServedModel) -> EngineFacts:
    """The facts of the vLLM version that the model's image holds."""
    return facts_of(model.engine.supported_version())


@cache
def facts_of(version: str) -> EngineFacts:
    """The facts of a version such as `0.33`; ValueError with the supported ones for any other."""
    row = table("engines")["versions"].get(version)
    if row is None:
        raise ValueError(
            f"kvtier does not know the flags of vLLM {version}: supported are {', '.join(VERSIONS)}"
        )
    return EngineFacts(
        version=version,
        kv_cache_dtypes=tuple(row["kvCacheDtypes"]),
        block_size=row["blockSize"],
        blocks_per_chunk=row["blocksPerChunk"],
        shm_headroom_gib=row["shmHeadroomGib"],
        startup_seconds=row["startupSeconds"],
        pin_seconds_per_gib=row["pinSecondsPerGib"],
        fs_tier=row["fsTier"],
        layout_flags=tuple(row["layoutFlags"]),
        layout_variables=tuple(row["layoutVariables"]),
        geometry_flags=tuple(row["geometryFlags"]),
        secondary_tiers={name: _keys(keys) for name, keys in row["secondaryTiers"].items()},
        renamed_tiers=row["renamedTiers"],
        connector_keys=frozenset(row["connectorKeys"]),
        backpressure_keys=frozenset(row["backpressureKeys"]),
        pinned_tier_gib=row["pinnedTierGib"],
        eviction_safe=row["evictionSafe"],
        dtype_choices=row["dtypeChoices"],
    )


def _keys(row: dict[str, Any]) -> TierKeys:
    return TierKeys(frozenset(row["required"]), frozenset(row["optional"]), row.get("package"))
