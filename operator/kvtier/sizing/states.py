"""Architectures that mix attention with layers that keep one state per sequence (Mamba 2, gated delta networks).

Shapes: vllm/model_executor/layers/mamba/mamba_utils.py, 0.33.0. A state is kept at the end of every block, in the
attention layers' pages, so the blocks of such models have hundreds of tokens.
"""

from kvtier.sizing.shapes import Cached, Config, Layers, plain_size

_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}
_CONVOLUTION_BYTES = 2
_MAMBA_ALIGN = 16
_GATED_ALIGN = 64
"""What the tokens of a block are a multiple of: 64 on Hopper with 0.33. Older GPUs and 0.32 take 16, newer GPUs 128.

It changes how much a chunk stands for, not the bytes per token.
"""


def mamba2(text: Config, element: str, gpus: int) -> Cached | None:
    """Nemotron-H. Its states have 32 bits unless the config says otherwise."""
    pattern = text.get("hybrid_override_pattern")
    groups, inner = int(text["n_groups"]), int(text["mamba_num_heads"]) * int(text["mamba_head_dim"])
    if not pattern or len(pattern) != text["num_hidden_layers"] or groups % gpus:
        return None
    wide = (inner + 2 * groups * int(text["ssm_state_size"])) * (int(text["conv_kernel"]) - 1)
    kept = inner * int(text["ssm_state_size"]) * _BYTES[text.get("mamba_ssm_cache_dtype") or "float32"]
    state = (wide * _CONVOLUTION_BYTES + kept) // gpus
    attending = Layers("Full", pattern.count("*"), plain_size(text, element, gpus))
    return Cached((Layers("State", pattern.count("M"), state), attending), align=_MAMBA_ALIGN)


def gated_delta(text: Config, element: str, gpus: int) -> Cached | None:
    """Qwen3-Next and Qwen3.5. Left out of the config, the states have 16 bits."""
    keys, values = int(text["linear_num_key_heads"]), int(text["linear_num_value_heads"])
    key, value = int(text["linear_key_head_dim"]), int(text["linear_value_head_dim"])
    if keys % gpus or values % gpus:
        return None
    wide = (2 * key * keys + value * values) * (int(text["linear_conv_kernel_dim"]) - 1)
    kept = values * value * key * _BYTES[text.get("mamba_ssm_dtype") or "bfloat16"]
    attending = Layers("Full", _attending(text), plain_size(text, element, gpus))
    linear = int(text["num_hidden_layers"]) - attending.count
    state = Layers("State", linear, (wide * _CONVOLUTION_BYTES + kept) // gpus)
    return Cached((state, attending), align=_GATED_ALIGN)


def _attending(text: Config) -> int:
    types = text.get("layer_types")
    if types:
        return int(types.count("full_attention"))
    return int(text["num_hidden_layers"]) // int(text.get("full_attention_interval") or 4)
