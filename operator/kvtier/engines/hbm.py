"""Whether a GPU and a model take a type of cache. Only what was read or seen in vLLM 0.33.0 is refused."""

from dataclasses import dataclass

from kvtier.data import table

_E4M3 = ("fp8", "fp8_e4m3")
_SAME = ("float16", "bfloat16")
_RECORDS = ("fp8_ds_mla", "nvfp4_ds_mla")
_FP8_SINCE = 89
"""vLLM: native FP8 (fp8e4nv) requires SM89+. fp8_e5m2 is converted on the way."""


@dataclass(frozen=True)
class Traits:
    """What is known of a model; None for what is not.

    `latent`: it uses multi-head latent attention (MLA). `sparse`: with an indexer. `weights`: the type that its
    cache has by itself. `fp8_scales`: its checkpoint brings scales for a cache of 8 bits.
    """

    latent: bool | None = None
    sparse: bool | None = None
    weights: str | None = None
    fp8_scales: bool | None = None


def verdict(dtype: str, accelerator: str, model: Traits) -> str | None:
    """Why vLLM would not start with this --kv-cache-dtype, or None if nothing is known against it."""
    capability = table("accelerators")["capability"].get(accelerator)
    return (
        _of_accelerator(dtype, accelerator, capability)
        or _of_latents(dtype, model)
        or _of_weights(dtype, model)
    )


def _of_accelerator(dtype: str, accelerator: str, capability: int | None) -> str | None:
    if dtype in _E4M3 and capability is not None and capability < _FP8_SINCE:
        return (
            f"kvCacheDtype {dtype} needs a GPU of compute capability 8.9 or later, which {accelerator} "
            f"({capability / 10}) is not: use fp8_e5m2, or leave the type out"
        )
    return None


def _of_latents(dtype: str, model: Traits) -> str | None:
    if model.latent and dtype == "fp8_e5m2":
        return "kvCacheDtype fp8_e5m2: no kernel for latent attention (MLA) on NVIDIA GPUs takes it: use fp8"
    if model.latent and dtype == "nvfp4":
        return "kvCacheDtype nvfp4 is not for models with latent attention (MLA): vLLM refuses it"
    if dtype in _RECORDS and model.latent is False:
        return f"kvCacheDtype {dtype} is a format of latent attention (MLA), which this model does not have"
    if dtype == "fp8_ds_mla" and model.sparse is False:
        return "kvCacheDtype fp8_ds_mla needs sparse attention, which this model does not have: use fp8"
    return None


def _of_weights(dtype: str, model: Traits) -> str | None:
    if dtype == "fp8_e5m2" and model.fp8_scales:
        return "kvCacheDtype fp8_e5m2 is not for checkpoints with scales of their own for an 8-bit cache: use fp8"
    if dtype in _SAME and model.weights in _SAME and model.weights != dtype:
        return f"kvCacheDtype {dtype} must be the type of the model, which is {model.weights}: leave it out"
    return None
