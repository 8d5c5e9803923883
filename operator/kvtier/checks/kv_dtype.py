"""KVCacheDtypeSupported: the engine's version, the GPU and the model take the type of the cache."""

from kvtier.api.conditions import KV_CACHE_DTYPE_SUPPORTED, Condition, false, true
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import ServedModel
from kvtier.context import Context
from kvtier.data.engines import EngineFacts
from kvtier.data.vllm_flags import given
from kvtier.engines import kv_dtypes
from kvtier.engines.kv_dtypes import Traits
from kvtier.sizing.architectures import Config, element_type, family_of

_OTHER_MODEL = ("--dtype", "--quantization", "-q", "--hf-overrides", "--hf-config-path")
_OTHER_ATTENTION = "VLLM_MLA_DISABLE"
_SCALED = ("fp8", "quark", "modelopt", "modelopt_fp4")
"""Quantizations of which vLLM looks for scales of the cache, whether there are any or not."""


def check(context: Context) -> Condition:
    """True where something is not known, and said: it is vLLM itself that refuses what it cannot do."""
    if all(model.spec.kv_cache_dtype == "auto" for model in context.models):
        return true(KV_CACHE_DTYPE_SUPPORTED, Reason.NOT_NEEDED, "every cache has the type of its model")
    accelerator, doubts = context.pool.spec.node_pool.accelerator.type, []
    for model in context.models:
        name, dtype, traits = model.spec.name, model.spec.kv_cache_dtype, _traits(model.spec, model.config)
        fault = _version_fault(dtype, model.engine) or kv_dtypes.fault(dtype, accelerator, traits)
        if fault:
            return false(KV_CACHE_DTYPE_SUPPORTED, Reason.NOT_SUPPORTED, f"model {name}: {fault}")
        doubts += [f"model {name}: {doubt}" for doubt in _doubts(dtype, accelerator, traits)]
    message = "; ".join([f"nothing is known against it on {accelerator}", *doubts])
    return true(KV_CACHE_DTYPE_SUPPORTED, Reason.SUPPORTED, message)


def _version_fault(dtype: str, engine: EngineFacts) -> str | None:
    if dtype in engine.kv_cache_dtypes:
        return None
    listed = ", ".join(engine.kv_cache_dtypes)
    return f"vLLM {engine.version} does not know kvCacheDtype {dtype}: it knows {listed}"


def _doubts(dtype: str, accelerator: str, traits: Traits) -> list[str]:
    if dtype == "auto":
        return []
    unknown = None
    if traits == Traits():
        unknown = "its config.json is not known, so only engine and GPU were looked at"
    return [doubt for doubt in (kv_dtypes.caution(dtype, accelerator), unknown) if doubt]


def _traits(model: ServedModel, config: Config | None) -> Traits:
    """What the model's config.json says, unless the user has vLLM read another one into it."""
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
