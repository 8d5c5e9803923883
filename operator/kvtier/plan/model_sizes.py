"""How many blocks of a model make one file: a number that, once used, stays, because another means a cold cache."""

import math
from collections.abc import Iterable

from kvtier.api import quantities
from kvtier.api.v1alpha1 import KVCachePool, ModelStatus, ServedModel, TierStatus
from kvtier.engines import kv_dtypes, versions
from kvtier.engines.fingerprint import fingerprint
from kvtier.facts.model import Facts
from kvtier.sizing.chunks import Chunk, cut, described, suited
from kvtier.sizing.geometry import Geometry
from kvtier.sizing.models import known_config, model_document, served_geometry
from kvtier.sizing.suggestions import Suggestion, from_dtype

_GONE = ("Retained", "Deleting")
"""Phases of a shared tier that has left the spec."""


def blocks_per_chunk(pool: KVCachePool, model: ServedModel, facts: Facts) -> int:
    """The user's number, else the recorded one, else the one that suits the model and its tiers.

    What suits may change with kvtier's tables, and the recorded number outlives that: it is asked for anew only
    when the cache is another one anyway, or a shared tier comes or goes.
    """
    if model.blocks_per_chunk:
        return model.blocks_per_chunk
    return _recorded(pool, model) or suited(
        _filed(model, _geometry(model, facts)), _usual(model), shared_in_spec(pool)
    )


def undecided(pool: KVCachePool, model: ServedModel, facts: Facts) -> bool:
    """Whether the number is a stopgap: the document that it should come from cannot be read yet."""
    if model.blocks_per_chunk or _recorded(pool, model):
        return False
    document = model_document(model, facts.config_maps)
    return document.unread or document.fault is not None


def model_chunk(pool: KVCachePool, model: ServedModel, facts: Facts) -> Chunk:
    """What one file of the model holds."""
    return cut(_filed(model, _geometry(model, facts)), blocks_per_chunk(pool, model, facts))


def shared_in_spec(pool: KVCachePool) -> bool:
    """Whether the spec has a tier that all Pods share."""
    return pool.spec.tiers.lustre is not None or pool.spec.tiers.object_storage is not None


def _shared_in_status(pool: KVCachePool) -> bool:
    return any(
        tier.name in ("lustre", "objectStorage") and tier.phase not in _GONE for tier in pool.status.tiers
    )


def _recorded(pool: KVCachePool, model: ServedModel) -> int | None:
    """The number in the status, if it is about the cache that the spec still asks for.

    A status without the number was written when all models had the usual one.
    """
    known = next((one for one in pool.status.models if one.name == model.name), ModelStatus(name=model.name))
    blocks = known.blocks_per_chunk or versions.facts(model).blocks_per_chunk
    same = known.fingerprint == fingerprint(model, blocks) and _shared_in_status(pool) == shared_in_spec(pool)
    return blocks if same else None


def _geometry(model: ServedModel, facts: Facts) -> Geometry | None:
    config = known_config(model, model_document(model, facts.config_maps))
    return served_geometry(model, versions.facts(model).geometry_flags, config)


def _usual(model: ServedModel) -> int:
    """As many tokens as the version's usual chunk has, in the user's blocks."""
    engine = versions.facts(model)
    return max(engine.blocks_per_chunk * engine.block_size // (model.block_size or engine.block_size), 1)


def _filed(model: ServedModel, known: Geometry | None) -> Geometry | None:
    """LMCache writes a file for each GPU, vLLM one for all."""
    return known.of_one_gpu() if known and model.engine.backend == "LMCache" else known


_SMALLER = "fp8"


def suggestion(pool: KVCachePool, model: ServedModel, facts: Facts) -> str | None:
    """How far limits may rise, with the arithmetic. None where no limit is set, or nothing is known to rise."""
    if model.max_num_seqs is None:
        return None
    if model.kv_cache_dtype != "auto":
        return _of_the_present_type(model, facts, model.max_num_seqs)
    accelerator = pool.spec.node_pool.accelerator.type
    if kv_dtypes.fault(_SMALLER, accelerator, kv_dtypes.Traits()) or kv_dtypes.caution(_SMALLER, accelerator):
        return None
    found = _against_auto(model, _SMALLER, facts, model.max_num_seqs)
    return f"{found.why}; fp8 costs some accuracy" if found else None


def _of_the_present_type(model: ServedModel, facts: Facts, seqs: int) -> str | None:
    found = _against_auto(model, model.kv_cache_dtype, facts, seqs)
    if found is None:
        return None
    return f"{found.why}: if maxNumSeqs {seqs} is what auto held, it may rise to {found.max_num_seqs}"


def _against_auto(model: ServedModel, dtype: str, facts: Facts, seqs: int) -> Suggestion | None:
    plain, smaller = (
        _geometry(model.model_copy(update={"kv_cache_dtype": one}), facts) for one in ("auto", dtype)
    )
    if plain is None or smaller is None:
        return None
    return from_dtype(plain, smaller, dtype, seqs, model.max_num_batched_tokens)


_HOLD_BLOCKS = ("cpu", "localSSD", "lustre")


def with_tokens(pool: KVCachePool, tiers: Iterable[TierStatus], facts: Facts) -> list[TierStatus]:
    """The tiers with the tokens that they hold of the model that takes most, at least."""
    largest = _largest(pool, facts)
    return [_counted(tier, largest) if largest else tier for tier in tiers]


def _largest(pool: KVCachePool, facts: Facts) -> Geometry | None:
    """Of the model with the most bytes per token. One that is not known could be that, so then there is none."""
    known = [_geometry(model, facts) for model in pool.spec.models]
    found = [geometry for geometry in known if geometry]
    if not found or len(found) < len(known):
        return None
    return max(found, key=Geometry.tier_token_bytes)


def _counted(tier: TierStatus, geometry: Geometry) -> TierStatus:
    if tier.name not in _HOLD_BLOCKS or tier.capacity is None:
        return tier
    tokens = geometry.tier_tokens(quantities.parse(tier.capacity))
    return tier.model_copy(update={"tokens": tokens})


def with_sizes(pool: KVCachePool, model: ServedModel, facts: Facts, status: ModelStatus) -> ModelStatus:
    """The status with the model's sizes.

    A number that is only a stopgap is not recorded, lest it stays, unless there are engines that use it.
    """
    if undecided(pool, model, facts) and status.service is None:
        return status
    known, blocks = _geometry(model, facts), blocks_per_chunk(pool, model, facts)
    return status.model_copy(
        update={
            "fingerprint": fingerprint(model, blocks),
            "blocks_per_chunk": blocks,
            "chunk": described(model_chunk(pool, model, facts), shared_in_spec(pool)),
            "bytes_per_token": math.ceil(known.tier_token_bytes()) if known else None,
            "suggestion": suggestion(pool, model, facts),
        }
    )
