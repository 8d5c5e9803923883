"""KVCacheDtypeSupported: the engine's version, the GPU and the model take the type of the cache."""

from kvtier.api.conditions import KV_CACHE_DTYPE_SUPPORTED, Condition, false, true
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool, ServedModel
from kvtier.data.vllm_flags import given
from kvtier.engines import kv_dtypes, versions
from kvtier.engines.kv_dtypes import Traits
from kvtier.facts.model import Facts
from kvtier.sizing.architectures import Config, element_type, family_of
from kvtier.sizing.models import known_config, model_document

_OTHER_MODEL = ("--dtype", "--quantization", "-q", "--hf-overrides", "--hf-config-path")
_OTHER_ATTENTION = "VLLM_MLA_DISABLE"
_SCALED = ("fp8", "quark", "modelopt", "modelopt_fp4")
"""Quantizations of which vLLM looks for scales of the cache, whether there are any or not."""


def check(pool: KVCachePool, facts: Facts) -> Condition:
    """True where something is not known, and said: it is vLLM itself that refuses what it cannot do."""
    if all(model.kv_cache_dtype == "auto" for model in pool.spec.models):
        return true(KV_CACHE_DTYPE_SUPPORTED, Reason.NOT_NEEDED, "every cache has the type of its model")
    accelerator, doubts = pool.spec.node_pool.accelerator.type, []
    for model in pool.spec.models:
        traits = _traits(model, facts)
        fault = _version_fault(model) or kv_dtypes.fault(model.kv_cache_dtype, accelerator, traits)
        if fault:
            return false(KV_CACHE_DTYPE_SUPPORTED, Reason.NOT_SUPPORTED, f"model {model.name}: {fault}")
        doubts += [f"model {model.name}: {doubt}" for doubt in _doubts(model, accelerator, traits)]
    told = "; ".join([f"nothing is known against it on {accelerator}", *doubts])
    return true(KV_CACHE_DTYPE_SUPPORTED, Reason.SUPPORTED, told)


def _version_fault(model: ServedModel) -> str | None:
    known = versions.facts(model)
    if model.kv_cache_dtype in known.kv_cache_dtypes:
        return None
    listed = ", ".join(known.kv_cache_dtypes)
    return f"vLLM {known.version} does not know kvCacheDtype {model.kv_cache_dtype}: it knows {listed}"


def _doubts(model: ServedModel, accelerator: str, traits: Traits) -> list[str]:
    if model.kv_cache_dtype == "auto":
        return []
    unknown = None
    if traits == Traits():
        unknown = "its config.json is not known, so only engine and GPU were looked at"
    return [doubt for doubt in (kv_dtypes.caution(model.kv_cache_dtype, accelerator), unknown) if doubt]


def _traits(model: ServedModel, facts: Facts) -> Traits:
    """What the model's config.json says, unless the user has vLLM read another one into it."""
    config = known_config(model, model_document(model, facts.config_maps))
    changed = given(model.extra_args, _OTHER_MODEL) or any(v.name == _OTHER_ATTENTION for v in model.env)
    if config is None or changed:
        return Traits()
    family = family_of(config)
    return Traits(
        latent=None if family is None else family in ("latent", "sparseLatent"),
        sparse=None if family is None else family == "sparseLatent",
        weights=element_type(config, "auto"),
        fp8_scales=_scaled(config),
    )


def _scaled(config: Config) -> bool:
    """Whether vLLM prepares for scales of the cache (model_executor/layers/quantization of 0.33.0)."""
    quantization = config.get("quantization_config")
    if not isinstance(quantization, dict):
        return False
    own = quantization.get("kv_cache_scheme") or quantization.get("kv_cache_quant_algo")
    return bool(own) or quantization.get("quant_method") in _SCALED
