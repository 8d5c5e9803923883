"""What a model's kvCacheDtype means for the number of sequences that the engine may run at once."""

from kvtier.api.v1alpha1 import KVCachePool, ServedModel
from kvtier.checks.geometry import model_geometry
from kvtier.engines import hbm
from kvtier.facts.model import Facts
from kvtier.sizing.suggestions import Suggestion, from_dtype

_SMALLER = "fp8"


def suggestion(pool: KVCachePool, model: ServedModel, facts: Facts) -> str | None:
    """How far limits may rise, with the arithmetic. None where no limit is set, or nothing is known to rise."""
    if model.max_num_seqs is None:
        return None
    if model.kv_cache_dtype != "auto":
        return _of_the_present_type(model, facts, model.max_num_seqs)
    accelerator = pool.spec.node_pool.accelerator.type
    if hbm.verdict(_SMALLER, accelerator, hbm.Traits()) or hbm.caution(_SMALLER, accelerator):
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
        model_geometry(model.model_copy(update={"kv_cache_dtype": one}), facts) for one in ("auto", dtype)
    )
    if plain is None or smaller is None:
        return None
    return from_dtype(plain, smaller, dtype, seqs, model.max_num_batched_tokens)
