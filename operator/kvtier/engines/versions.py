"""The engine table (`data/engines.yaml`) as typed values."""

from dataclasses import dataclass
from typing import Any

from kvtier.api.v1alpha1 import ServedModel
from kvtier.data import table


@dataclass(frozen=True)
class EngineFacts:
    """What kvtier knows about one vLLM version. Sizes in GiB, times in seconds."""

    version: str
    kv_cache_dtypes: tuple[str, ...]
    block_size: int
    blocks_per_chunk: int
    shm_headroom_gib: int
    startup_seconds: int
    pin_seconds_per_gib: float
    fs_tier: dict[str, dict[str, Any]]
    layout_flags: tuple[str, ...]


def facts(model: ServedModel) -> EngineFacts:
    """The facts of the vLLM version that the model's image holds."""
    version = model.engine.supported_version()
    row = table("engines")["versions"][version]
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
    )
