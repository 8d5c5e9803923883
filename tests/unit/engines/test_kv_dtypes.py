"""Values of kvCacheDtype that a GPU or a model does not support."""

import pytest

from kvtier.data import table as data
from kvtier.engines.kv_dtypes import Traits, caution, fault
from unit.tables import table

H100, A100, B200, T4 = "nvidia-h100-80gb", "nvidia-tesla-a100", "nvidia-b200", "nvidia-tesla-t4"
PLAIN = Traits(latent=False, sparse=False, weights="bfloat16", fp8_scales=False)
LATENT = Traits(latent=True, sparse=False, weights="bfloat16")
SPARSE = Traits(latent=True, sparse=True)
NO_KERNEL = "has no kernel for latent attention (MLA) on NVIDIA GPUs. Use fp8."
LATENT_GPU = "needs a GPU of compute capability 8.9 or later for latent attention (MLA), but nvidia-tesla-a100 has 8.0."


@table(
    "given, fault_text",
    {
        "8 bits on a GPU that FlashInfer does not support": (
            ("fp8", T4, PLAIN),
            "needs a GPU of compute capability 8.0 or later, but nvidia-tesla-t4 has 7.5. Use another type, or remove "
            "it.",
        ),
        "8 bits for a latent on an older GPU": (("fp8", A100, LATENT), LATENT_GPU),
        "scales per token on an older GPU": (
            ("fp8_per_token_head", A100, PLAIN),
            "needs a GPU of compute capability 8.9 or later, but nvidia-tesla-a100 has 8.0.",
        ),
        "nvfp4_4over6 on a GPU before Blackwell": (
            ("nvfp4_4over6", H100, PLAIN),
            "needs a GPU of compute capability 10.0 to 10.9, but nvidia-h100-80gb has 9.0.",
        ),
        "nvfp4_4over6 on a Blackwell workstation GPU": (
            ("nvfp4_4over6", "nvidia-rtx-pro-6000", PLAIN),
            "needs a GPU of compute capability 10.0 to 10.9, but nvidia-rtx-pro-6000 has 12.0.",
        ),
        "a type for other hardware": (
            ("octave_k3v4", H100, PLAIN),
            "is for AMD GPUs, not for nvidia-h100-80gb. Remove it.",
        ),
        "a latent with e5m2": (("fp8_e5m2", H100, LATENT), NO_KERNEL),
        "a latent with nvfp4": (("nvfp4", B200, LATENT), NO_KERNEL),
        "a latent with rotated keys": (("turboquant_k8v4", H100, LATENT), NO_KERNEL),
        "a type for latents, and a model without": (
            ("nvfp4_ds_mla", B200, PLAIN),
            "is for latent attention (MLA), which this model does not use. Remove it.",
        ),
        "a type for sparse attention, and a model without": (
            ("fp8_ds_mla", H100, LATENT),
            "needs sparse attention, which this model does not use. Use fp8.",
        ),
        "e5m2 with scales in the checkpoint": (
            ("fp8_e5m2", H100, Traits(fp8_scales=True)),
            "does not work with checkpoints that are quantized to 8 bits, or have scales for an 8-bit cache. Use fp8.",
        ),
        "another 16-bit type than the model's": (
            ("float16", H100, PLAIN),
            "is not the type of the model, which is bfloat16. Remove it.",
        ),
    },
)
def test_it_refuses(given: tuple[str, str, Traits], fault_text: str) -> None:
    assert (fault(*given) or "").startswith(f"kvCacheDtype {given[0]} {fault_text}")


@table(
    "dtype, accelerator, model",
    {
        "8 bits from Ada on": ("fp8", "nvidia-l4", PLAIN),
        "8 bits on a GPU that FlashInfer supports": ("fp8", A100, PLAIN),
        "e5m2 on an older GPU": ("fp8_e5m2", A100, PLAIN),
        "sparse attention with fp8_ds_mla": ("fp8_ds_mla", H100, SPARSE),
        "sparse attention with nvfp4_ds_mla on Blackwell": ("nvfp4_ds_mla", B200, SPARSE),
        "a latent in 8 bits": ("fp8", H100, LATENT),
        "rotated keys": ("turboquant_k8v4", A100, PLAIN),
        "the type of the model": ("bfloat16", H100, PLAIN),
        "a GPU that is not in the table": ("fp8", "nvidia-next", PLAIN),
        "a type for other hardware, on that hardware": ("octave_k3v4", "amd-instinct-mi300x", PLAIN),
        "an unknown model": ("fp8_e5m2", H100, Traits()),
    },
)
def test_it_accepts(dtype: str, accelerator: str, model: Traits) -> None:
    assert fault(dtype, accelerator, model) is None


@pytest.mark.parametrize("accelerator", data("accelerators")["capability"])
def test_auto_is_always_accepted(accelerator: str) -> None:
    assert fault("auto", accelerator, LATENT) is None
    assert caution("auto", accelerator) is None


@pytest.mark.parametrize("dtype", ["fp8", "fp8_e4m3", "fp8_e5m2"])
def test_8_bits_on_an_older_gpu_have_a_caution(dtype: str) -> None:
    assert caution(dtype, A100) is not None
    assert caution(dtype, "nvidia-l4") is None
    assert caution(dtype, "nvidia-next") is None
