"""Bytes of one token in one layer."""

import pytest

from kvtier.data import table as data
from kvtier.sizing.architectures import covered, of_heads, of_indexer, of_latent
from unit.tables import table


@table(
    "dtype, size",
    {
        "sixteen bits are two bytes for keys and for values": ("bfloat16", 8 * 2 * 128 * 2),
        "eight bits are one, without scales": ("fp8", 8 * 2 * 128),
        "a scale for every head and side takes four bytes": ("fp8_per_token_head", 8 * (2 * 128 + 8)),
        "integers of eight bits likewise": ("int8_per_token_head", 8 * (2 * 128 + 8)),
        "of four bits two share a byte": ("int4_per_token_head", 8 * (128 + 8)),
        "nvfp4 has a scale byte for sixteen elements": ("nvfp4", 8 * 144),
    },
)
def test_eight_heads_of_128_elements(dtype: str, size: int) -> None:
    assert of_heads(8, 128, 128, dtype) == size


def test_keys_and_values_may_differ_in_size() -> None:
    assert of_heads(4, 192, 128, "bfloat16") == 4 * (192 + 128) * 2
    assert of_heads(4, 192, 128, "nvfp4") is None, "vLLM refuses it"


@table(
    "dtype, size",
    {
        "a latent of 512 and 64 elements in 16 bits": ("bfloat16", 1152),
        "in 8 bits": ("fp8", 576),
        "as a record with scales": ("fp8_ds_mla", 656),
        "as a record of 4 bits": ("nvfp4_ds_mla", 352),
        "not in a type that no kernel takes": ("fp8_e5m2", None),
        "not with scales by head": ("int8_per_token_head", None),
        "not in plain nvfp4": ("nvfp4", None),
        "not in a type that is not known": ("turboquant_k8v4", None),
    },
)
def test_a_latent(dtype: str, size: int | None) -> None:
    assert of_latent(576, dtype) == size


def test_records_are_for_latents_of_one_width_only() -> None:
    assert of_latent(320, "fp8_ds_mla") is None
    assert of_heads(8, 128, 128, "fp8_ds_mla") is None


def test_an_indexer_keeps_eight_bits_and_a_scale_for_128_elements() -> None:
    assert of_indexer(128) == 132


NO_NUMBERS = {
    "fp8_inc",
    "nvfp4_4over6",
    *(f"turboquant_{kind}" for kind in ("k8v4", "4bit_nc", "k3v4_nc", "3bit_nc")),
    *(f"octave_{kind}" for kind in ("k3v4", "k3v3", "k3v3_compact")),
    "ultraquant_4bit",
}
"""Types whose layout was not held against vLLM's: kvtier passes them on and counts nothing."""


@pytest.mark.parametrize(
    "dtype", sorted({d for v in data("engines")["versions"].values() for d in v["kvCacheDtypes"]})
)
def test_every_type_that_a_pool_may_ask_for_is_covered_but_for_these(dtype: str) -> None:
    assert dtype == "auto" or covered(dtype) != (dtype in NO_NUMBERS)
