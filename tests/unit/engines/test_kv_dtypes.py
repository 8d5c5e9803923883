"""Types of the cache that a GPU or a model does not take."""

import re

import pytest

from kvtier.data import table as data
from kvtier.engines.kv_dtypes import Traits, caution, fault
from unit.tables import table

H100, A100, B200, T4 = "nvidia-h100-80gb", "nvidia-tesla-a100", "nvidia-b200", "nvidia-tesla-t4"
PLAIN = Traits(latent=False, sparse=False, weights="bfloat16", fp8_scales=False)
LATENT = Traits(latent=True, sparse=False, weights="bfloat16")
SPARSE = Traits(latent=True, sparse=True)
NO_KERNEL = "no kernel for latent attention (MLA) on NVIDIA GPUs takes it: use fp8"
LATENT_GPU = (
    "needs a GPU of compute capability 8.9 or later for latent attention (MLA), which nvidia-tesla-a100 (8.0)"
)


@table(
    "given, says",
    {
        "eight bits on a GPU that FlashInfer does not serve": (
            ("fp8", T4, PLAIN),
            "needs a GPU of compute capability 8.0 or later, which nvidia-tesla-t4 (7.5) is not: take another type",
        ),
        "eight bits for a latent on an older GPU": (("fp8", A100, LATENT), LATENT_GPU),
        "scales by token on an older GPU": (
            ("fp8_per_token_head", A100, PLAIN),
            "needs a GPU of compute capability 8.9 or later, which nvidia-tesla-a100 (8.0) is not",
        ),
        "a search for scales anywhere but on Blackwell": (
            ("nvfp4_4over6", H100, PLAIN),
            "needs a GPU of compute capability 10.0 to 10.9, which nvidia-h100-80gb (9.0) is not",
        ),
        "nor on its smaller kin": (
            ("nvfp4_4over6", "nvidia-rtx-pro-6000", PLAIN),
            "needs a GPU of compute capability 10.0 to 10.9, which nvidia-rtx-pro-6000 (12.0) is not",
        ),
        "a type of another maker": (
            ("octave_k3v4", H100, PLAIN),
            "is for AMD GPUs, and nvidia-h100-80gb is not one: leave the type out",
        ),
        "a latent has no kernel for e5m2": (("fp8_e5m2", H100, LATENT), NO_KERNEL),
        "nor for nvfp4": (("nvfp4", B200, LATENT), NO_KERNEL),
        "nor for rotated keys": (("turboquant_k8v4", H100, LATENT), NO_KERNEL),
        "records need a latent": (
            ("nvfp4_ds_mla", B200, PLAIN),
            "is a format of latent attention (MLA), which this model does not have",
        ),
        "and sparse attention": (
            ("fp8_ds_mla", H100, LATENT),
            "needs sparse attention, which this model does not have: use fp8",
        ),
        "e5m2 has no scales": (
            ("fp8_e5m2", H100, Traits(fp8_scales=True)),
            "is not for checkpoints that are quantized to 8 bits or bring scales for such a cache: use fp8",
        ),
        "another type of 16 bits than the model's": (
            ("float16", H100, PLAIN),
            "must be the type of the model, which is bfloat16: leave it out",
        ),
    },
)
def test_it_refuses(given: tuple[str, str, Traits], says: str) -> None:
    found = fault(*given) or ""
    assert re.match(f"kvCacheDtype {given[0]}:? {re.escape(says)}", found), found


@table(
    "dtype, accelerator, model",
    {
        "eight bits from Ada on": ("fp8", "nvidia-l4", PLAIN),
        "eight bits where FlashInfer serves them": ("fp8", A100, PLAIN),
        "e5m2 on an older GPU": ("fp8_e5m2", A100, PLAIN),
        "sparse attention in records": ("fp8_ds_mla", H100, SPARSE),
        "sparse attention in smaller records, on Blackwell": ("nvfp4_ds_mla", B200, SPARSE),
        "a latent in eight bits": ("fp8", H100, LATENT),
        "rotated keys": ("turboquant_k8v4", A100, PLAIN),
        "the type of the model": ("bfloat16", H100, PLAIN),
        "a GPU that is not in the table": ("fp8", "nvidia-next", PLAIN),
        "a type of another maker, on its own": ("octave_k3v4", "amd-instinct-mi300x", PLAIN),
        "a model that nothing is known of": ("fp8_e5m2", H100, Traits()),
    },
)
def test_it_lets_pass(dtype: str, accelerator: str, model: Traits) -> None:
    assert fault(dtype, accelerator, model) is None


@pytest.mark.parametrize("accelerator", data("accelerators")["capability"])
def test_a_type_that_is_left_out_always_passes(accelerator: str) -> None:
    assert fault("auto", accelerator, LATENT) is None
    assert caution("auto", accelerator) is None


@pytest.mark.parametrize("dtype", ["fp8", "fp8_e4m3", "fp8_e5m2"])
def test_eight_bits_on_an_older_gpu_are_not_sure_to_serve(dtype: str) -> None:
    assert caution(dtype, A100) is not None
    assert caution(dtype, "nvidia-l4") is None
    assert caution(dtype, "nvidia-next") is None
