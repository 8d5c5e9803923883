"""What a model caches on each of its GPUs, by the architecture that its config.json names.

The result is None for other architectures and for unknown settings, because a wrong size is worse than none. Each
family was compared with the classes of vLLM 0.33.0 (`data/models.yaml`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from kvtier.data import table
from kvtier.data.kv_dtypes import KV_DTYPES, Layout

Config = dict[str, Any]
"""A config.json, or the language model's part of one."""
Kind = Literal["Full", "Window", "Chunk", "State"]

_MOST_LAYERS = 1000
_MOST_BYTES = 1 << 28
"""Limits beyond any real model, for the bytes of one token or one state in a layer.

A document may contain any number, and the results must fit into 64-bit fields of the status. With these limits, a chunk
of 1024 blocks of 128 tokens on 64 GPUs has less than 2^62 bytes.
"""


@dataclass(frozen=True)
class Layers:
    """`count` layers that cache in the same way. Sizes are bytes on one GPU.

    Full: caches every token of a sequence. Window and Chunk: cache the last `span` tokens. State: caches `size` bytes
    per sequence of any length. For the other kinds, `size` is bytes per token.
    """

    kind: Kind
    count: int
    size: int
    span: int | None = None


@dataclass(frozen=True)
class Cached:
    """All cached layers of a model.

    `one_copy`: every GPU holds the same bytes, and a tier keeps them once. `together`: layers of different
    sizes share their blocks. `align`: with states, the tokens of a block are a multiple of this.
    """

    layers: tuple[Layers, ...]
    one_copy: bool = False
    together: bool = False
    align: int = 1


def cached(config: Config, dtype: str, gpus: int) -> Cached | None:
    """What each of `gpus` GPUs caches of a model with this config.json and --kv-cache-dtype `dtype`."""
    text, element = text_config(config), element_type(config, dtype)
    family, attending = family_of(config), text.get("num_attention_heads")
    if family is None or element is None or not isinstance(attending, int) or attending % gpus:
        return None
    if not _within(text.get("num_hidden_layers"), _MOST_LAYERS):
        return None
    try:
        found = _FAMILIES[family](text, element, gpus)
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
        return None
    return found if found and _plausible(found) else None


def family_of(config: Config) -> str | None:
    """The row of `families` in `data/models.yaml` for a config.json, None if it belongs to no family."""
    kind = text_config(config).get("model_type")
    families: dict[str, list[str]] = table("models")["families"]
    return next((family for family, types in families.items() if kind in types), None)


_AUTO = {"float16": "float16", "bfloat16": "bfloat16", "float32": "bfloat16", "None": "bfloat16"}
"""The type that vLLM uses, by type of the weights: 16 bits also for 32-bit models and for models without a type."""


def element_type(config: Config, dtype: str) -> str | None:
    """`dtype` itself, or the type that `auto` stands for. None if kvtier does not know the layout.

    Checkpoints with their own cache type decide what `auto` means. They are not covered.
    """
    if dtype != "auto":
        return dtype if dtype in KV_DTYPES.dtypes else None
    text, own = text_config(config), ("kv_cache_scheme", "kv_cache_quant_algo", "quantization")
    quantized = config.get("quantization_config") or text.get("quantization_config") or {}
    if not isinstance(quantized, dict) or any(quantized.get(name) for name in own):
        return None
    named = (part.get(name) for part in (config, text) for name in ("dtype", "torch_dtype"))
    return _AUTO.get(str(next((value for value in named if value), None)))


def text_config(config: Config) -> Config:
    """The part of a multimodal model's config for its language model, else the config itself."""
    nested = config.get("text_config")
    return nested if isinstance(nested, dict) else config


def _plausible(found: Cached) -> bool:
    """Whether there are layers, and each has a size within the limits above."""
    layers = [one for one in found.layers if one.count]
    return bool(layers) and all(
        _within(one.count, _MOST_LAYERS)
        and _within(one.size, _MOST_BYTES)
        and (one.span is None or _within(one.span, _MOST_BYTES))
        for one in layers
    )


def _within(number: object, most: int) -> bool:
    return isinstance(number, int) and 0 < number <= most


# Attention to everything, to a window, or to a chunk.


def _full(text: Config, element: str, gpus: int) -> Cached | None:
    """Every layer attends to every token. A Mistral model may have the same window in all layers."""
    count, each = int(text["num_hidden_layers"]), _layer_bytes(text, element, gpus)
    if set(text.get("layer_types") or ["full_attention"]) != {"full_attention"}:
        return None
    window = text.get("sliding_window") if text.get("use_sliding_window", True) else None
    if window is None:
        return Cached((Layers("Full", count, each),))
    return Cached((Layers("Window", count, each, int(window)),)) if text["model_type"] == "mistral" else None


def _windows(text: Config, element: str, gpus: int) -> Cached | None:
    """gpt-oss, Gemma 3: some layers attend to a window, and all heads have the same size."""
    each = _layer_bytes(text, element, gpus)
    return _by_layer_types(text, each, each)


def _two_head_sizes(text: Config, element: str, gpus: int) -> Cached | None:
    """Gemma 4: layers with full attention have fewer and larger heads. None if layers share a cache."""
    if text.get("num_kv_shared_layers") or not text.get("attention_k_eq_v"):
        return None
    wide = int(text["global_head_dim"])
    full = _heads_bytes(int(text["num_global_key_value_heads"]), wide, wide, element, gpus)
    return _by_layer_types(text, _layer_bytes(text, element, gpus), full)


def _by_layer_types(text: Config, window_size: int, full_size: int) -> Cached | None:
    types = text.get("layer_types") or []
    narrow, wide = types.count("sliding_attention"), types.count("full_attention")
    if narrow + wide != text["num_hidden_layers"] or not text.get("sliding_window"):
        return None
    span = int(text["sliding_window"])
    return Cached((Layers("Window", narrow, window_size, span), Layers("Full", wide, full_size)))


def _two_value_sizes(text: Config, element: str, gpus: int) -> Cached | None:
    """MiMo-V2: keys and values differ in size, and layers with a window have different heads."""
    pattern = text["hybrid_layer_pattern"]
    if len(pattern) != text["num_hidden_layers"]:
        return None
    full, window = (
        _heads_bytes(
            int(text[f"{own}num_key_value_heads"]),
            int(text[f"{own}head_dim"]),
            int(text[f"{own}v_head_dim"]),
            element,
            gpus,
        )
        for own in ("", "swa_")
    )
    span = int(text["sliding_window"])
    return Cached((Layers("Full", pattern.count(0), full), Layers("Window", pattern.count(1), window, span)))


_LLAMA4_INTERVAL = 4
"""In Llama 4, every fourth layer has full attention, unless no_rope_layers says otherwise."""


def _chunks(text: Config, element: str, gpus: int) -> Cached | None:
    """Llama 4: most layers attend within a chunk of the text."""
    count, each = int(text["num_hidden_layers"]), _layer_bytes(text, element, gpus)
    local = text.get("no_rope_layers") or [int((i + 1) % _LLAMA4_INTERVAL != 0) for i in range(count)]
    if not text.get("attention_chunk_size") or len(local) != count:
        return None
    span = int(text["attention_chunk_size"])
    return Cached((Layers("Chunk", local.count(1), each, span), Layers("Full", local.count(0), each)))


# Latent attention: keys and values of all heads come from one latent.


def _latent(text: Config, element: str, gpus: int) -> Cached | None:
    """Multi-head latent attention: one latent for all heads, whole on every GPU."""
    each = latent_bytes(int(text["kv_lora_rank"]) + int(text["qk_rope_head_dim"]), element) or 0
    return Cached((Layers("Full", int(text["num_hidden_layers"]), each),), one_copy=True)


def _sparse_latent(text: Config, element: str, gpus: int) -> Cached | None:
    """A latent, and in some layers an indexer that chooses tokens.

    None for `fp8`, which means fp8_ds_mla or plain 8 bits, depending on the attention kernel of the GPU.
    """
    plain = _latent(text, element, gpus)
    if plain is None or element not in ("float16", "bfloat16", "fp8_ds_mla"):
        return None
    indexer = Layers("Full", _indexers(text), indexer_bytes(int(text["index_head_dim"])))
    return Cached((*plain.layers, indexer), one_copy=True, together=True)


def _indexers(text: Config) -> int:
    """Number of layers with an indexer. Other layers use the one of an earlier layer (deepseek_v2.py, 0.33.0)."""
    count, every = int(text["num_hidden_layers"]), int(text.get("index_topk_freq") or 1)
    offset = int(text.get("index_skip_topk_offset", 2))
    if text.get("index_topk_pattern"):
        return count - str(text["index_topk_pattern"])[:count].count("S")
    return sum(max(layer - offset + 1, 0) % every == 0 for layer in range(count))


# Models that have both layers with a state of the sequence and layers with attention.

_STATE_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}
_CONVOLUTION_BYTES = 2
_MAMBA_ALIGN = 16
_GATED_ALIGN = 64
"""The tokens of a block are a multiple of this: 64 on Hopper with 0.33.

It is 16 on older GPUs and with 0.32, and 128 on newer GPUs. It changes the tokens of a chunk, not the bytes per token.
"""


def _mamba2(text: Config, element: str, gpus: int) -> Cached | None:
    """Nemotron-H. States have 32 bits unless the config says otherwise."""
    pattern = text.get("hybrid_override_pattern")
    groups, inner = int(text["n_groups"]), int(text["mamba_num_heads"]) * int(text["mamba_head_dim"])
    if not pattern or len(pattern) != text["num_hidden_layers"] or groups % gpus:
        return None
    wide = (inner + 2 * groups * int(text["ssm_state_size"])) * (int(text["conv_kernel"]) - 1)
    kept = inner * int(text["ssm_state_size"]) * _STATE_BYTES[text.get("mamba_ssm_cache_dtype") or "float32"]
    state = (wide * _CONVOLUTION_BYTES + kept) // gpus
    attending = Layers("Full", pattern.count("*"), _layer_bytes(text, element, gpus))
    return Cached((Layers("State", pattern.count("M"), state), attending), align=_MAMBA_ALIGN)


def _gated_delta(text: Config, element: str, gpus: int) -> Cached | None:
    """Qwen3-Next and Qwen3.5. States have 16 bits unless the config says otherwise."""
    keys, values = int(text["linear_num_key_heads"]), int(text["linear_num_value_heads"])
    key, value = int(text["linear_key_head_dim"]), int(text["linear_value_head_dim"])
    if keys % gpus or values % gpus:
        return None
    wide = (2 * key * keys + value * values) * (int(text["linear_conv_kernel_dim"]) - 1)
    kept = values * value * key * _STATE_BYTES[text.get("mamba_ssm_dtype") or "bfloat16"]
    attending = Layers("Full", _attending(text), _layer_bytes(text, element, gpus))
    linear = int(text["num_hidden_layers"]) - attending.count
    state = Layers("State", linear, (wide * _CONVOLUTION_BYTES + kept) // gpus)
    return Cached((state, attending), align=_GATED_ALIGN)


def _attending(text: Config) -> int:
    types = text.get("layer_types")
    if types:
        return int(types.count("full_attention"))
    return int(text["num_hidden_layers"]) // int(text.get("full_attention_interval") or 4)


_FAMILIES: dict[str, Callable[[Config, str, int], Cached | None]] = {
    "full": _full,
    "windows": _windows,
    "twoHeadSizes": _two_head_sizes,
    "twoValueSizes": _two_value_sizes,
    "chunks": _chunks,
    "latent": _latent,
    "sparseLatent": _sparse_latent,
    "mamba2": _mamba2,
    "gatedDelta": _gated_delta,
}


# Bytes of one token in one layer.

_HEADS = ("n_head_kv", "num_kv_heads", "num_key_value_heads", "multi_query_group_num", "num_attention_groups")
"""Names of the field with the number of key and value heads, in vLLM's order (CONFIG_FIELD_ALIASES, 0.33.0)."""


def _layer_bytes(text: Config, element: str, gpus: int) -> int:
    """Bytes on one GPU of a layer whose heads all have the same size; 0 for what vLLM refuses."""
    given = text.get("head_dim") or text.get("hidden_size_per_head")
    size = int(given or text["hidden_size"] // text["num_attention_heads"])
    return _heads_bytes(_heads(text), size, size, element, gpus)


def _heads(text: Config) -> int:
    """Number of key and value heads; the number of attention heads if the config does not give one."""
    named = (text.get(name) for name in _HEADS)
    return int(next((heads for heads in named if heads is not None), text["num_attention_heads"]))


def _heads_bytes(heads: int, key: int, value: int, element: str, gpus: int) -> int:
    """Bytes on one GPU; 0 for what vLLM refuses. If heads are fewer than GPUs, vLLM copies them to more GPUs."""
    if heads % gpus == 0:
        return head_bytes(heads // gpus, key, value, element) or 0
    return (head_bytes(1, key, value, element) or 0) if gpus % heads == 0 else 0


def head_bytes(heads: int, key: int, value: int, dtype: str) -> int | None:
    """Bytes of `heads` heads with keys of `key` and values of `value` elements; None if vLLM has no such layout."""
    layout = KV_DTYPES.dtypes.get(dtype, Layout())
    if layout.bits is None or (layout.elements_per_scale_byte and key != value):
        return None
    return heads * sum(elements * layout.bits // 8 + _scale(elements, layout) for elements in (key, value))


def _scale(elements: int, layout: Layout) -> int:
    each = layout.elements_per_scale_byte
    return elements // each if each else layout.scale


def latent_bytes(width: int, dtype: str) -> int | None:
    """Bytes of the latent that all heads share in multi-head latent attention (MLA); it holds keys and values.

    None for the types that no MLA kernel for CUDA supports: those with scales, and fp8_e5m2.
    """
    layout = KV_DTYPES.dtypes.get(dtype, Layout())
    if layout.latent is not None:
        return layout.latent if width == KV_DTYPES.latent_width else None
    if layout.bits is None or dtype not in KV_DTYPES.for_latents:
        return None
    return width * layout.bits // 8


def indexer_bytes(width: int) -> int:
    """Bytes of the indexer of sparse attention, in addition to the latent; the same for every type of the cache."""
    indexer = KV_DTYPES.indexer
    return width + width // indexer.elements_per_scale * indexer.scale
