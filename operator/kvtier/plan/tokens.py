"""What the tiers of a pool hold, in tokens."""

from collections.abc import Iterable

from kvtier.api import quantities
from kvtier.api.v1alpha1 import KVCachePool, TierStatus
from kvtier.checks.geometry import model_geometry
from kvtier.facts.model import Facts
from kvtier.sizing.geometry import Geometry

_HOLD_BLOCKS = ("cpu", "localSSD", "lustre")


def with_tokens(pool: KVCachePool, tiers: Iterable[TierStatus], facts: Facts) -> list[TierStatus]:
    """The tiers with the tokens that they hold of the model that takes most, at least."""
    largest = _largest(pool, facts)
    return [_counted(tier, largest) if largest else tier for tier in tiers]


def _largest(pool: KVCachePool, facts: Facts) -> Geometry | None:
    """Of the model with the most bytes per token. One that is not known could be that, so then there is none."""
    known = [model_geometry(model, facts) for model in pool.spec.models]
    found = [geometry for geometry in known if geometry]
    if not found or len(found) < len(known):
        return None
    return max(found, key=Geometry.tier_token_bytes)


def _counted(tier: TierStatus, geometry: Geometry) -> TierStatus:
    if tier.name not in _HOLD_BLOCKS or tier.capacity is None:
        return tier
    tokens = geometry.tier_tokens(quantities.parse(tier.capacity))
    return tier.model_copy(update={"tokens": tokens})
