"""Types of the cache that a GPU or a model does not take."""

import pytest

from kvtier.data import table as data
from kvtier.engines.hbm import Traits, verdict
from unit.tables import table

H100, A100 = "nvidia-h100-80gb", "nvidia-tesla-a100"
PLAIN = Traits(latent=False, sparse=False, weights="bfloat16", fp8_scales=False)
LATENT = Traits(latent=True, sparse=False, weights="bfloat16")


@table(
    "dtype, accelerator, model, says",
    {
        "eight bits on an older GPU": (
            "fp8",
            A100,
            PLAIN,
            "kvCacheDtype fp8 needs a GPU of compute capability 8.9 or later, which nvidia-tesla-a100 (8.0) is not: "
            "use fp8_e5m2, or leave the type out",
        ),
        "a latent has no kernel for e5m2": (
            "fp8_e5m2",
            H100,
            LATENT,
            "kvCacheDtype fp8_e5m2: no kernel for latent attention (MLA) on NVIDIA GPUs takes it: use fp8",
        ),
        "nor for nvfp4": (
            "nvfp4",
            "nvidia-b200",
            LATENT,
            "kvCacheDtype nvfp4 is not for models with latent attention (MLA): vLLM refuses it",
        ),
        "records need a latent": (
            "nvfp4_ds_mla",
            "nvidia-b200",
            PLAIN,
            "kvCacheDtype nvfp4_ds_mla is a format of latent attention (MLA), which this model does not have",
        ),
        "and one of them sparse attention": (
            "fp8_ds_mla",
            H100,
            LATENT,
            "kvCacheDtype fp8_ds_mla needs sparse attention, which this model does not have: use fp8",
        ),
        "e5m2 has no scales": (
            "fp8_e5m2",
            A100,
            Traits(fp8_scales=True),
            "kvCacheDtype fp8_e5m2 is not for checkpoints with scales of their own for an 8-bit cache: use fp8",
        ),
        "another type of 16 bits than the model's": (
            "float16",
            H100,
            PLAIN,
            "kvCacheDtype float16 must be the type of the model, which is bfloat16: leave it out",
        ),
    },
)
def test_it_refuses(dtype: str, accelerator: str, model: Traits, says: str) -> None:
    assert verdict(dtype, accelerator, model) == says


@table(
    "dtype, accelerator, model",
    {
        "eight bits from Ada on": ("fp8", "nvidia-l4", PLAIN),
        "e5m2 on an older GPU": ("fp8_e5m2", A100, PLAIN),
        "sparse attention in records": ("fp8_ds_mla", H100, Traits(latent=True, sparse=True)),
        "a latent in eight bits": ("fp8", H100, LATENT),
        "the type of the model": ("bfloat16", H100, PLAIN),
        "a GPU that is not in the table": ("fp8", "nvidia-next", PLAIN),
        "a model that nothing is known of": ("fp8_e5m2", H100, Traits()),
    },
)
def test_it_lets_pass(dtype: str, accelerator: str, model: Traits) -> None:
    assert verdict(dtype, accelerator, model) is None


@pytest.mark.parametrize("accelerator", data("accelerators")["capability"])
def test_a_type_that_is_left_out_always_passes(accelerator: str) -> None:
    assert verdict("auto", accelerator, LATENT) is None
