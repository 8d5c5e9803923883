"""Whether a GPU and a model support a kvCacheDtype. Refuses only what the source of vLLM 0.33.0 refuses."""

from dataclasses import dataclass

from kvtier.api.v1alpha1 import ServedModel
from kvtier.data.kv_dtypes import KV_DTYPES
from kvtier.data.machines import ACCELERATORS
from kvtier.data.vllm_flags import given
from kvtier.sizing.architectures import Config, element_type, family_of

_SAME = ("float16", "bfloat16")
_RECORDS = ("fp8_ds_mla", "nvfp4_ds_mla")
_EIGHT_BITS = ("fp8", "fp8_e4m3", "fp8_e5m2")
_TENSOR_CORES_SINCE = 89


@dataclass(frozen=True)
class Traits:
    """What kvtier knows about a model; None means unknown.

    `latent`: it uses multi-head latent attention (MLA). `sparse`: with an indexer. `weights`: the type of its cache
    with kvCacheDtype auto. `fp8_scales`: vLLM looks for scales of an 8-bit cache in its checkpoint.
    """

    latent: bool | None = None
    sparse: bool | None = None
    weights: str | None = None
    fp8_scales: bool | None = None


_OTHER_MODEL = ("--dtype", "--quantization", "-q", "--hf-overrides", "--hf-config-path")
_OTHER_ATTENTION = "VLLM_MLA_DISABLE"


def traits(model: ServedModel, config: Config | None) -> Traits:
    """The traits in the model's config.json; all unknown if extraArgs or env override it."""
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


_SCALED = ("fp8", "quark", "modelopt", "modelopt_fp4")
"""Quantizations for which vLLM always looks for scales of the cache in the checkpoint."""


def _scaled(config: Config) -> bool:
    """Whether vLLM looks for scales of the cache (model_executor/layers/quantization of 0.33.0)."""
    quantization = config.get("quantization_config")
    if not isinstance(quantization, dict):
        return False
    own = quantization.get("kv_cache_scheme") or quantization.get("kv_cache_quant_algo")
    return bool(own) or quantization.get("quant_method") in _SCALED


def fault(dtype: str, accelerator: str, model: Traits) -> str | None:
    """Why vLLM would not start with this --kv-cache-dtype, or None if no incompatibility is known."""
    return (
        _other_maker(dtype, accelerator)
        or _no_latent_kernel(dtype, model)
        or _other_capability(dtype, accelerator, model)
        or _other_weights(dtype, model)
    )


def caution(dtype: str, accelerator: str) -> str | None:
    """Why a type may not work on a GPU although vLLM accepts it, or None."""
    capability = ACCELERATORS.capability.get(accelerator)
    if dtype not in _EIGHT_BITS or capability is None or capability >= _TENSOR_CORES_SINCE:
        return None
    return (
        f"on {accelerator} ({capability / 10}) {dtype} needs FlashInfer in the image. "
        "vLLM's maintainers report that fp8_e5m2 is the only 8-bit type that works there (vllm#45040)."
    )


def _other_maker(dtype: str, accelerator: str) -> str | None:
    maker = KV_DTYPES.other_makers.get(dtype)
    if maker is None or not accelerator.startswith("nvidia-"):
        return None
    return f"kvCacheDtype {dtype} is for {maker}, not for {accelerator}. Remove it."


def _no_latent_kernel(dtype: str, model: Traits) -> str | None:
    if model.latent and dtype not in KV_DTYPES.for_latents:
        return f"kvCacheDtype {dtype} has no kernel for latent attention (MLA) on NVIDIA GPUs. Use fp8."
    if dtype in _RECORDS and model.latent is False:
        return (
            f"kvCacheDtype {dtype} is for latent attention (MLA), which this model does not use. Remove it."
        )
    if dtype in _RECORDS and model.sparse is False:
        return f"kvCacheDtype {dtype} needs sparse attention, which this model does not use. Use fp8."
    return None


def _other_capability(dtype: str, accelerator: str, model: Traits) -> str | None:
    capability, row = ACCELERATORS.capability.get(accelerator), KV_DTYPES.gpus.get(dtype)
    if capability is None or row is None:
        return None
    least = row.latent if model.latent and row.latent else row.least
    if capability >= least and (row.most is None or capability <= row.most):
        return None
    needed = f"{least / 10} to {row.most / 10}" if row.most else f"{least / 10} or later"
    whose = " for latent attention (MLA)" if model.latent and row.latent else ""
    return (
        f"kvCacheDtype {dtype} needs a GPU of compute capability {needed}{whose}, but {accelerator} has "
        f"{capability / 10}. Use another type, or remove it."
    )


def _other_weights(dtype: str, model: Traits) -> str | None:
    if dtype == "fp8_e5m2" and model.fp8_scales:
        return (
            "kvCacheDtype fp8_e5m2 does not work with checkpoints that are quantized to 8 bits, or have scales for an "
            "8-bit cache. Use fp8."
        )
    if dtype in _SAME and model.weights in _SAME and model.weights != dtype:
        return f"kvCacheDtype {dtype} is not the type of the model, which is {model.weights}. Remove it."
    return None
