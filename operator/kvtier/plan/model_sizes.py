"""Sizes in the status: tokens and chunks of a model, higher limits for vLLM, and the tokens that tiers hold."""

import math
from collections.abc import Iterable, Sequence

from kvtier.api import quantities
from kvtier.api.v1alpha1 import ModelStatus, TierStatus
from kvtier.context import ModelView
from kvtier.engines import kv_dtypes
from kvtier.sizing.chunks import described
from kvtier.sizing.geometry import Geometry
from kvtier.sizing.models import served_geometry
from kvtier.sizing.suggestions import Suggestion, from_dtype


def with_sizes(status: ModelStatus, model: ModelView, shared: bool, accelerator: str) -> ModelStatus:
    """The status with the model's sizes. `shared`: whether its Pods share a tier.

    A provisional number of blocks per chunk is recorded only if engines use it, because a recorded number stays.
    """
    if model.provisional and model.deployment is None:
        return status
    return status.model_copy(
        update={
            "fingerprint": model.cache.fingerprint,
            "fingerprint_rules": model.cache.rules,
            "identity": model.cache.digest,
            "blocks_per_chunk": model.cache.blocks_per_chunk,
            "chunk": described(model.chunk, shared),
            "bytes_per_token": math.ceil(model.geometry.tier_token_bytes()) if model.geometry else None,
            "suggestion": suggestion(model, accelerator),
        }
    )


_SMALLER = "fp8"


def suggestion(model: ModelView, accelerator: str) -> str | None:
    """How far vLLM's limits may rise, with the calculation. None if no limit is set, or none is known to rise."""
    seqs, dtype = model.spec.max_num_seqs, model.spec.kv_cache_dtype
    if seqs is None:
        return None
    if dtype == "auto":
        return _with_smaller_dtype(model, seqs, accelerator)
    found = _compared(_geometry_with(model, "auto"), model.geometry, dtype, seqs, model)
    if found is None:
        return None
    return f"{found.why} If maxNumSeqs {seqs} fits with auto, it may rise to {found.max_num_seqs}."


def _with_smaller_dtype(model: ModelView, seqs: int, accelerator: str) -> str | None:
    fault = kv_dtypes.fault(_SMALLER, accelerator, kv_dtypes.Traits())
    if fault or kv_dtypes.caution(_SMALLER, accelerator):
        return None
    found = _compared(model.geometry, _geometry_with(model, _SMALLER), _SMALLER, seqs, model)
    return f"{found.why} fp8 costs some accuracy." if found else None


def _compared(
    auto: Geometry | None, other: Geometry | None, dtype: str, seqs: int, model: ModelView
) -> Suggestion | None:
    """Limits with `dtype`, whose geometry is `other`, in the memory of the limits with `auto`."""
    if auto is None or other is None:
        return None
    return from_dtype(auto, other, dtype, seqs, model.spec.max_num_batched_tokens)


def _geometry_with(model: ModelView, dtype: str) -> Geometry | None:
    """The geometry of the model's cache with another element type."""
    spec = model.spec.model_copy(update={"kv_cache_dtype": dtype})
    return served_geometry(spec, model.engine.geometry_flags, model.config)


_HOLD_BLOCKS = ("cpu", "localSSD", "lustre")


def with_tokens(tiers: Iterable[TierStatus], models: Sequence[ModelView]) -> list[TierStatus]:
    """The tiers with the least tokens that they hold: those of the model with the largest tokens."""
    largest = _largest([model.geometry for model in models])
    return [_counted(tier, largest) if largest else tier for tier in tiers]


def _largest(geometries: Sequence[Geometry | None]) -> Geometry | None:
    """The geometry with the most bytes per token; None if one is unknown, because it may be larger."""
    known = [geometry for geometry in geometries if geometry]
    if not known or len(known) < len(geometries):
        return None
    return max(known, key=Geometry.tier_token_bytes)


def _counted(tier: TierStatus, geometry: Geometry) -> TierStatus:
    if tier.name not in _HOLD_BLOCKS or tier.capacity is None:
        return tier
    tokens = geometry.tier_tokens(quantities.read(tier.capacity))
    return tier.model_copy(update={"tokens": tokens})
