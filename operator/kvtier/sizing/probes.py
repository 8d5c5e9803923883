"""How long an engine may take to start before it counts as broken."""

import math

from kvtier.api.quantities import GIB
from kvtier.api.v1alpha1 import KVCachePool, ServedModel
from kvtier.data import table

PERIOD_SECONDS = 10


def startup_failures(pool: KVCachePool, load_seconds: float, pin_seconds_per_gib: float) -> int:
    """failureThreshold of a startup probe with PERIOD_SECONDS: loading what is served, then pinning the CPU tier."""
    tier = pool.spec.tiers.cpu
    pinned = (tier.capacity.bytes / GIB if tier else 0) * pin_seconds_per_gib
    return math.ceil((load_seconds + pinned) / PERIOD_SECONDS)


def weights_seconds(pool: KVCachePool, model: ServedModel) -> float:
    """Time for the model's weights to arrive: they cannot be larger than the memory of the GPUs that hold them.

    Too long a time finds a hanging start late; too short a one would start a large model anew for ever.
    """
    accelerators = table("accelerators")
    each = accelerators["memoryGb"].get(pool.spec.node_pool.accelerator.type, accelerators["otherMemoryGb"])
    return float(model.tensor_parallel_size * each * 1000 / table("engines")["weightsMbPerSecond"])
