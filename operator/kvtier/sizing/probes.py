"""How long an engine may take to start before it counts as broken."""

import math

from kvtier.api.quantities import GIB
from kvtier.api.v1alpha1 import KVCachePool

PERIOD_SECONDS = 10


def startup_failures(pool: KVCachePool, load_seconds: int, pin_seconds_per_gib: float) -> int:
    """failureThreshold of a startup probe with PERIOD_SECONDS: loading the model, then pinning the CPU tier."""
    tier = pool.spec.tiers.cpu
    pinned = (tier.capacity.bytes / GIB if tier else 0) * pin_seconds_per_gib
    return math.ceil((load_seconds + pinned) / PERIOD_SECONDS)
