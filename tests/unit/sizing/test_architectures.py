"""What models cache by their architecture, and for which settings kvtier has no numbers."""

from typing import Any

import pytest

from kvtier.data import table as data
from kvtier.data.engines import ENGINES
from kvtier.data.kv_dtypes import KV_DTYPES
from kvtier.sizing.architectures import (
    Config,
    Layers,
    cached,
    element_type,
    family_of,
    head_bytes,
    indexer_bytes,
    latent_bytes,
)
from unit.sizing.known import config
from unit.tables import table

LLAMA: Config = {
    "model_type": "llama",
    "num_hidden_layers": 2,
    "hidden_size": 1024,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "torch_dtype": "bfloat16",
}
GPT_OSS = {
    "model_type": "gpt_oss",
    "layer_types": ["sliding_attention", "full_attention"],
    "sliding_window": 128,
}
LATENT = {"model_type": "deepseek_v3", "kv_lora_rank": 512, "qk_rope_head_dim": 64}
SPARSE = {**LATENT, "model_type": "deepseek_v32", "index_head_dim": 128}
GEMMA4 = {
    **GPT_OSS,
    "model_type": "gemma4_text",
    "attention_k_eq_v": True,
    "global_head_dim": 256,
    "num_global_key_value_heads": 2,
}
MIMO = {
    "model_type": "mimo_v2_flash",
    "hybrid_layer_pattern": [0, 1],
    "sliding_window": 128,
    **dict.fromkeys(("num_key_value_heads", "swa_num_key_value_heads"), 4),
    **dict.fromkeys(("head_dim", "v_head_dim", "swa_head_dim", "swa_v_head_dim"), 64),
}
MAMBA = config("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16")
GATED = config("Qwen/Qwen3.5-35B-A3B")
LLAMA4 = {"model_type": "llama4_text", "num_hidden_layers": 8, "attention_chunk_size": 8192}


def _layers(**changes: Any) -> tuple[Layers, ...] | None:
    dtype, gpus = changes.pop("dtype", "auto"), changes.pop("gpus", 1)
    found = cached({**LLAMA, **changes}, dtype, gpus)
    return found.layers if found else None


@pytest.mark.parametrize("model", data("models")["models"])
def test_every_model_of_the_table_has_a_cache(model: str) -> None:
    found = cached(config(model), "auto", 1)
    assert found is not None
    indexed = config(model)["model_type"] in data("models")["families"]["sparseLatent"]
    layers = sum(one.count for one in found.layers)
    assert layers > config(model)["num_hidden_layers"] if indexed else layers > 0


@table(
    "changes, layers",
    {
        "separate key and value heads": ({}, (Layers("Full", 2, 4 * 2 * 128 * 2),)),
        "without that number, every attention head has its own keys": (
            {"num_key_value_heads": None},
            (Layers("Full", 2, 8 * 2 * 128 * 2),),
        ),
        "other names of the field": (
            {"num_key_value_heads": None, "num_kv_heads": 2},
            (Layers("Full", 2, 2 * 2 * 128 * 2),),
        ),
        "a given head size": ({"head_dim": 64}, (Layers("Full", 2, 4 * 2 * 64 * 2),)),
        "a head size of zero": ({"head_dim": 0}, (Layers("Full", 2, 4 * 2 * 128 * 2),)),
        "GPUs share the heads": ({"gpus": 2}, (Layers("Full", 2, 2 * 2 * 128 * 2),)),
        "with more GPUs than heads, each GPU has one head": (
            {"gpus": 8},
            (Layers("Full", 2, 1 * 2 * 128 * 2),),
        ),
        "the element type": ({"dtype": "fp8"}, (Layers("Full", 2, 4 * 2 * 128),)),
        "the nested config of the language model": (
            {"text_config": {**LLAMA, "num_hidden_layers": 7}},
            (Layers("Full", 7, 4 * 2 * 128 * 2),),
        ),
        "a disabled window": (
            {"model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": False},
            (Layers("Full", 2, 2048),),
        ),
        "layers with and without a window": (
            GPT_OSS,
            (Layers("Window", 1, 2048, 128), Layers("Full", 1, 2048)),
        ),
        "one latent for all heads": (LATENT, (Layers("Full", 2, 1152),)),
        "an indexer in every layer": (SPARSE, (Layers("Full", 2, 1152), Layers("Full", 2, 132))),
        "an indexer in every second layer": (
            {**SPARSE, "num_hidden_layers": 8, "index_topk_freq": 2, "index_skip_topk_offset": 2},
            (Layers("Full", 8, 1152), Layers("Full", 5, 132)),
        ),
        "an indexer in the layers of a pattern": (
            {**SPARSE, "index_topk_pattern": "FS"},
            (Layers("Full", 2, 1152), Layers("Full", 1, 132)),
        ),
        "Llama 4: every fourth layer has full attention, the others use chunks": (
            LLAMA4,
            (Layers("Chunk", 6, 2048, 8192), Layers("Full", 2, 2048)),
        ),
        "keys and values of two sizes": (
            {**MIMO, "v_head_dim": 32},
            (Layers("Full", 1, 4 * (64 + 32) * 2), Layers("Window", 1, 4 * 2 * 64 * 2, 128)),
        ),
        "linear layers, and full attention in the layers of a list": (
            {**GATED, "num_hidden_layers": 2, "layer_types": ["linear_attention", "full_attention"]},
            (Layers("State", 1, 2_146_304), Layers("Full", 1, 2048)),
        ),
    },
)
def test_layers(changes: dict[str, Any], layers: tuple[Layers, ...]) -> None:
    assert _layers(**changes) == layers


@table(
    "changes",
    {
        "an architecture that was not compared with vLLM": {"model_type": "deepseek_v4"},
        "no architecture": {"model_type": None},
        "heads that do not divide among the GPUs": {
            "num_attention_heads": 40,
            "num_key_value_heads": 10,
            "gpus": 4,
        },
        "queries that do not divide among the GPUs": {"num_attention_heads": 6, "gpus": 4},
        "a window of a model whose windows were not compared": {"sliding_window": 4096},
        "layers of several kinds in an architecture with one kind": {
            "layer_types": ["full_attention", "linear_attention"]
        },
        "layers without a list of their kinds": {**GPT_OSS, "layer_types": None},
        "a list that is too short": {**GPT_OSS, "num_hidden_layers": 3},
        "layers that share a cache": {**GEMMA4, "num_kv_shared_layers": 1},
        "separate keys and values in Gemma 4": {**GEMMA4, "attention_k_eq_v": False},
        "a list of layers that is too short": {**MIMO, "num_hidden_layers": 3},
        "Llama 4 without a chunk size": {**LLAMA4, "attention_chunk_size": None},
        "layers of Mamba without a list of their kinds": {**MAMBA, "hybrid_override_pattern": None},
        "groups of Mamba that do not divide among the GPUs": {**MAMBA, "num_attention_heads": 48, "gpus": 16},
        "linear heads that do not divide among the GPUs": {**GATED, "num_attention_heads": 32, "gpus": 32},
        "no layers": {"num_hidden_layers": 0},
        "more layers than any model has": {"num_hidden_layers": 1001},
        "more bytes than any model has": {"hidden_size": 1 << 32},
        "a type without a known layout": {"dtype": "turboquant_k8v4"},
        "8 bits in sparse attention, which depend on the GPU": {**SPARSE, "dtype": "fp8"},
        "a missing field": {**LATENT, "qk_rope_head_dim": None},
        "a text instead of a number": {"num_hidden_layers": "many"},
        "a checkpoint with a cache type": {"quantization_config": {"kv_cache_quant_algo": "FP8"}},
    },
)
def test_there_are_no_numbers_for(changes: dict[str, Any]) -> None:
    assert _layers(**changes) is None


@table(
    "of, element",
    {
        "the weights' type": ({"torch_dtype": "float16"}, "float16"),
        "the newer name of the field": ({"dtype": "bfloat16"}, "bfloat16"),
        "the weights' type of the language model": ({"text_config": {"dtype": "float16"}}, "float16"),
        "32 bits are served with 16": ({"dtype": "float32"}, "bfloat16"),
        "a model without a type is served with 16 bits": ({}, "bfloat16"),
        "quantized weights do not change the type of the cache": (
            {"dtype": "bfloat16", "quantization_config": {"quant_method": "fp8", "kv_cache_scheme": None}},
            "bfloat16",
        ),
        "an unusual type is unknown": ({"dtype": "float8_e4m3fn"}, None),
    },
)
def test_auto_stands_for(of: Config, element: str | None) -> None:
    assert element_type(of, "auto") == element


def test_families_do_not_overlap() -> None:
    kinds = [kind for types in data("models")["families"].values() for kind in types]
    assert len(kinds) == len(set(kinds))
    assert family_of({"text_config": {"model_type": "kimi_k2"}}) == "latent"


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
    assert head_bytes(8, 128, 128, dtype) == size


def test_keys_and_values_may_differ_in_size() -> None:
    assert head_bytes(4, 192, 128, "bfloat16") == 4 * (192 + 128) * 2
    assert head_bytes(4, 192, 128, "nvfp4") is None, "vLLM refuses it"


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
    assert latent_bytes(576, dtype) == size


def test_records_are_for_latents_of_one_width_only() -> None:
    assert latent_bytes(320, "fp8_ds_mla") is None
    assert head_bytes(8, 128, 128, "fp8_ds_mla") is None


def test_an_indexer_keeps_eight_bits_and_a_scale_for_128_elements() -> None:
    assert indexer_bytes(128) == 132


NO_NUMBERS = {
    "fp8_inc",
    "nvfp4_4over6",
    *(f"turboquant_{kind}" for kind in ("k8v4", "4bit_nc", "k3v4_nc", "3bit_nc")),
    *(f"octave_{kind}" for kind in ("k3v4", "k3v3", "k3v3_compact")),
    "ultraquant_4bit",
}
"""Types whose layout was not held against vLLM's: kvtier passes them on and counts nothing."""


def test_every_type_that_a_pool_may_ask_for_has_numbers_but_for_these() -> None:
    known = {dtype for version in ENGINES.versions.values() for dtype in version.kv_cache_dtypes}
    assert known - set(KV_DTYPES.dtypes) == {"auto", *NO_NUMBERS}
