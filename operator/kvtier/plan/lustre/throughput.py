"""status.tiers[].throughput of the shared tier: what its capacity brings."""

from dataclasses import replace

from kvtier.api import quantities
from kvtier.api.v1alpha1 import KVCachePool, TierStatus
from kvtier.api.v1alpha1.limits import DYNAMIC, tiers
from kvtier.facts.model import Observed
from kvtier.plan.model import Part
from kvtier.sizing.lustre import rate, throughput


def with_throughput(pool: KVCachePool, observed: Observed, part: Part) -> Part:
    """The same part, whose tiers tell their throughput."""
    return replace(part, tiers=tuple(_rated(pool, observed, tier) for tier in part.tiers))


def _rated(pool: KVCachePool, observed: Observed, tier: TierStatus) -> TierStatus:
    if tier.capacity is None:
        return tier
    level = _level(pool, observed)
    if level is None:
        return tier.model_copy(update={"throughput": _told_before(pool, tier)})
    speed = rate(throughput(level, quantities.parse(tier.capacity)))
    return tier.model_copy(update={"throughput": speed})


def _level(pool: KVCachePool, observed: Observed) -> int | str | None:
    """The performance tier, from the spec or from the instance itself; None where neither can be told."""
    lustre, facts = pool.spec.tiers.lustre, observed.facts.lustre
    if lustre is not None and lustre.tier:
        return lustre.tier
    if facts is None or facts.instance is None:
        return None
    level: int | str = facts.instance.throughput or DYNAMIC
    return level if level in tiers() else None


def _told_before(pool: KVCachePool, tier: TierStatus) -> str | None:
    """What was told of the same capacity: an instance that is not seen for a while is as fast as before."""
    before = next((one for one in pool.status.tiers if one.name == tier.name), None)
    return before.throughput if before and before.capacity == tier.capacity else None
