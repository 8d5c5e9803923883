"""CapacityValid: the Lustre capacity is one that its tier can have, and can be reached from where it is."""

from kvtier.api import quantities
from kvtier.api.conditions import CAPACITY_VALID, Condition, false, true
from kvtier.api.quantities import gib
from kvtier.api.v1alpha1 import KVCachePool, LustreTier
from kvtier.api.v1alpha1.lustre import limits
from kvtier.facts import versions
from kvtier.facts.model import Facts


def check(pool: KVCachePool, facts: Facts) -> Condition:
    """Growth is judged against what is provisioned (`status.tiers`)."""
    lustre = pool.spec.tiers.lustre
    if lustre is None:
        return true(CAPACITY_VALID, "NotNeeded", "the pool has no Lustre tier")
    limit = limits(lustre.throughput_per_tib)
    if not limit.allows(lustre.capacity.bytes):
        nearest = " or ".join(f"{size}Gi" for size in limit.nearest(lustre.capacity.bytes))
        return false(
            CAPACITY_VALID,
            "NotASize",
            f"{lustre.capacity} is not possible at {lustre.throughput_per_tib} MBps per TiB: use {nearest}",
        )
    return _growth(lustre, provisioned(pool), facts) or true(
        CAPACITY_VALID, "Valid", f"{lustre.capacity} at {lustre.throughput_per_tib} MBps per TiB"
    )


def provisioned(pool: KVCachePool) -> int | None:
    """Bytes that the shared tier is known to have, or None before it exists."""
    for tier in pool.status.tiers:
        if tier.name == "lustre" and tier.capacity:
            return quantities.parse(tier.capacity)
    return None


def _growth(lustre: LustreTier, have: int | None, facts: Facts) -> Condition | None:
    """Why the capacity cannot be reached from the provisioned one, or None."""
    want = lustre.capacity.bytes
    if have is None or want == have:
        return None
    if want < have:
        return false(
            CAPACITY_VALID,
            "WouldShrink",
            f"{gib(have)} is provisioned, Lustre only grows: set it to {gib(have)}",
        )
    ceiling = limits(lustre.throughput_per_tib).threshold * quantities.GIB
    if have <= ceiling < want:
        return false(
            CAPACITY_VALID,
            "AboveGrowthLimit",
            f"an instance created at or below {gib(ceiling)} can only grow up to that: {gib(want)} needs a new pool",
        )
    running = versions.parse(facts.cluster.version)
    gate = versions.gate("lustreExpansion")
    if running is not None and running < gate:
        return false(
            CAPACITY_VALID,
            "ExpansionUnsupported",
            f"control plane is {running}; growing a Lustre volume needs {gate}. Upgrade, or create a new pool at "
            f"{gib(want)}",
        )
    return None
