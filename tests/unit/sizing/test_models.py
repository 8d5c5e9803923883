"""Which models kvtier knows the cache of, and which settings it does not guess at."""

from typing import Any

import pytest

from kvtier.data import table as data
from kvtier.sizing.architectures import Config, Layers
from kvtier.sizing.models import cached, config_of, element_type, family_of
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
LLAMA4 = {"model_type": "llama4_text", "num_hidden_layers": 8, "attention_chunk_size": 8192}


def _layers(**changes: Any) -> tuple[Layers, ...] | None:
    dtype, gpus = changes.pop("dtype", "auto"), changes.pop("gpus", 1)
    found = cached({**LLAMA, **changes}, dtype, gpus)
    return found.layers if found else None


@pytest.mark.parametrize("model", data("models")["models"])
def test_every_model_of_the_table_has_a_cache(model: str) -> None:
    config = config_of(model)
    assert config is not None
    found = cached(config, "auto", 1)
    assert found is not None
    cutting = ("deepseek_v32", "glm_moe_dsa")
    layers = sum(one.count for one in found.layers if one.kind != "State")
    assert layers >= config["num_hidden_layers"] or config["model_type"] not in cutting


def test_a_model_that_is_not_in_the_table_is_not_known() -> None:
    assert config_of("someone/their-own") is None


@table(
    "changes, layers",
    {
        "heads of their own count": ({}, (Layers("Full", 2, 4 * 2 * 128 * 2),)),
        "without them every head has its own keys": (
            {"num_key_value_heads": None},
            (Layers("Full", 2, 8 * 2 * 128 * 2),),
        ),
        "other spellings count": (
            {"num_key_value_heads": None, "num_kv_heads": 2},
            (Layers("Full", 2, 2 * 2 * 128 * 2),),
        ),
        "the size of a head may be given": ({"head_dim": 64}, (Layers("Full", 2, 4 * 2 * 64 * 2),)),
        "or be left to zero": ({"head_dim": 0}, (Layers("Full", 2, 4 * 2 * 128 * 2),)),
        "GPUs share the heads": ({"gpus": 2}, (Layers("Full", 2, 2 * 2 * 128 * 2),)),
        "and each has one when there are more GPUs than heads": (
            {"gpus": 8},
            (Layers("Full", 2, 1 * 2 * 128 * 2),),
        ),
        "the element type counts": ({"dtype": "fp8"}, (Layers("Full", 2, 4 * 2 * 128),)),
        "a nested config is the language model's": (
            {"text_config": {**LLAMA, "num_hidden_layers": 7}},
            (Layers("Full", 7, 4 * 2 * 128 * 2),),
        ),
        "a window that is switched off is none": (
            {"model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": False},
            (Layers("Full", 2, 2048),),
        ),
        "layers with a window stand beside those without": (
            GPT_OSS,
            (Layers("Window", 1, 2048, 128), Layers("Full", 1, 2048)),
        ),
        "a latent is one for all heads": (LATENT, (Layers("Full", 2, 1152),)),
        "an indexer lies beside every latent": (SPARSE, (Layers("Full", 2, 1152), Layers("Full", 2, 132))),
        "or beside every other one": (
            {**SPARSE, "num_hidden_layers": 8, "index_topk_freq": 2, "index_skip_topk_offset": 2},
            (Layers("Full", 8, 1152), Layers("Full", 5, 132)),
        ),
        "layers of Llama 4 look at chunks but for every fourth": (
            LLAMA4,
            (Layers("Chunk", 6, 2048, 8192), Layers("Full", 2, 2048)),
        ),
    },
)
def test_layers(changes: dict[str, Any], layers: tuple[Layers, ...]) -> None:
    assert _layers(**changes) == layers


@table(
    "changes",
    {
        "an architecture that was not held against vLLM": {"model_type": "deepseek_v4"},
        "no architecture": {"model_type": None},
        "heads that do not divide among the GPUs": {
            "num_attention_heads": 40,
            "num_key_value_heads": 10,
            "gpus": 4,
        },
        "queries that do not": {"num_attention_heads": 6, "gpus": 4},
        "a window of a model whose windows were not tried": {"sliding_window": 4096},
        "layers of several kinds in a model that has one": {
            "layer_types": ["full_attention", "linear_attention"]
        },
        "layers without a list of their kinds": {**GPT_OSS, "layer_types": None},
        "a list that is too short": {**GPT_OSS, "num_hidden_layers": 3},
        "layers that share a cache": {**GEMMA4, "num_kv_shared_layers": 1},
        "separate keys and values in Gemma 4": {**GEMMA4, "attention_k_eq_v": False},
        "a type without a known layout": {"dtype": "turboquant_k8v4"},
        "8 bits in sparse attention, which mean one thing here and another there": {**SPARSE, "dtype": "fp8"},
        "a field that is missing": {**LATENT, "qk_rope_head_dim": None},
        "a number that is text": {"num_hidden_layers": "many"},
        "a checkpoint that brings a cache type": {"quantization_config": {"kv_cache_quant_algo": "FP8"}},
    },
)
def test_it_does_not_guess_at(changes: dict[str, Any]) -> None:
    assert _layers(**changes) is None


@table(
    "config, element",
    {
        "the weights' type": ({"torch_dtype": "float16"}, "float16"),
        "under its newer name": ({"dtype": "bfloat16"}, "bfloat16"),
        "of the language model": ({"text_config": {"dtype": "float16"}}, "float16"),
        "32 bits are served in 16": ({"dtype": "float32"}, "bfloat16"),
        "and so is what names no type": ({}, "bfloat16"),
        "quantized weights say nothing of the cache": (
            {"dtype": "bfloat16", "quantization_config": {"quant_method": "fp8", "kv_cache_scheme": None}},
            "bfloat16",
        ),
        "an unusual type is not guessed at": ({"dtype": "float8_e4m3fn"}, None),
    },
)
def test_auto_stands_for(config: Config, element: str | None) -> None:
    assert element_type(config, "auto") == element


def test_families_do_not_overlap() -> None:
    kinds = [kind for types in data("models")["families"].values() for kind in types]
    assert len(kinds) == len(set(kinds))
    assert family_of({"text_config": {"model_type": "kimi_k2"}}) == "latent"
