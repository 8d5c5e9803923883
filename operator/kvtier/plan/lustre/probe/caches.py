"""The directories below the shared tier's root in which a pool's models keep their blocks, and what describes them."""

from dataclasses import dataclass

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.engines.descriptor import descriptor, text
from kvtier.engines.fingerprint import directory
from kvtier.facts.model import Facts
from kvtier.plan.chunking import blocks_per_chunk


@dataclass(frozen=True)
class Cache:
    """`directory` is below the root of the tier, `document` is the text of its kvtier.json."""

    directory: str
    document: str


def caches(pool: KVCachePool, facts: Facts) -> tuple[Cache, ...]:
    """One for each directory, however many models share it."""
    numbers = [(model, blocks_per_chunk(pool, model, facts)) for model in pool.spec.models]
    found = {directory(pool, *one): text(descriptor(pool, *one)) for one in numbers}
    return tuple(Cache(*item) for item in sorted(found.items()))
