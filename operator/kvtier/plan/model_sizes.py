"""Sizes in the status: of a model's tokens and chunks, how far its limits may rise, and what tiers hold in tokens."""

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
    """The status with the model's sizes; `shared` is whether its Pods share a tier.

    A provisional number of blocks is not recorded, lest it stays, unless there are engines that use it.
    """
    if model.provisional and model.deployment is None:
        return status
    return status.model_copy(
        update={
            "fingerprint": model.fingerprint,
            "blocks_per_chunk": model.blocks_per_chunk,
            "chunk": described(model.chunk, shared),
            "bytes_per_token": math.ceil(model.geometry.tier_token_bytes()) if model.geometry else None,
            "suggestion": suggestion(model, accelerator),
        }
    )


_SMALLER = "fp8"


def suggestion(model: ModelView, accelerator: str) -> str | None:
    """How far limits may rise, with the arithmetic. None where no limit is set, or none is known to rise."""
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
    """What `dtype`, which makes the `other` geometry, means for limits that `auto` held."""
    if auto is None or other is None:
        return None
    return from_dtype(auto, other, dtype, seqs, model.spec.max_num_batched_tokens)


def _geometry_with(model: ModelView, dtype: str) -> Geometry | None:
    """The geometry that the model's cache would have with another element type."""
    spec = model.spec.model_copy(update={"kv_cache_dtype": dtype})
    return served_geometry(spec, model.engine.geometry_flags, model.config)


_HOLD_BLOCKS = ("cpu", "localSSD", "lustre")


def with_tokens(tiers: Iterable[TierStatus], models: Sequence[ModelView]) -> list[TierStatus]:
    """The tiers with the tokens that they hold of the model that takes most, at least."""
    largest = _largest([model.geometry for model in models])
    return [_counted(tier, largest) if largest else tier for tier in tiers]


def _largest(geometries: Sequence[Geometry | None]) -> Geometry | None:
    """The one with the most bytes per token. A model of unknown geometry could have more, so then there is none."""
    known = [geometry for geometry in geometries if geometry]
    if not known or len(known) < len(geometries):
        return None
    return max(known, key=Geometry.tier_token_bytes)


def _counted(tier: TierStatus, geometry: Geometry) -> TierStatus:
    if tier.name not in _HOLD_BLOCKS or tier.capacity is None:
        return tier
    tokens = geometry.tier_tokens(quantities.parse(tier.capacity))
    return tier.model_copy(update={"tokens": tokens})
