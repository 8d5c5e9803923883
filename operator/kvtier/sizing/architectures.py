"""What a model caches on each of its GPUs, by the architecture that its config.json names.

Everything else, and every setting that is not understood, is None: a wrong size is worse than none. Each family was
held against the classes of vLLM 0.33.0 (`data/models.yaml`).
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
"""Beyond any model: a document may say anything, and what comes of it goes into 64-bit numbers of the status.

Of a layer's token or state. A chunk of 1024 blocks of 128 tokens on 64 GPUs then has less than 2^62 bytes.
"""


@dataclass(frozen=True)
class Layers:
    """`count` layers that cache alike. Bytes of one GPU.

    Full: every token, for ever. Window and Chunk: the last `span` tokens. State: `size` bytes for a whole
    sequence, whatever its length. For the others `size` is bytes per token.
    """

    kind: Kind
    count: int
    size: int
    span: int | None = None


@dataclass(frozen=True)
class Cached:
    """All cached layers of a model.

    `one_copy`: every GPU holds the same bytes, and a tier keeps them once. `together`: layers of different
    sizes share their blocks. `align`: what the tokens of a block are a multiple of where states are cached.
    """

    layers: tuple[Layers, ...]
    one_copy: bool = False
    together: bool = False
    align: int = 1


def cached(config: Config, dtype: str, gpus: int) -> Cached | None:
    """What one of `gpus` GPUs caches of a model with this config.json under --kv-cache-dtype `dtype`."""
    text, element = _text(config), element_type(config, dtype)
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
    """The row of `families` in `data/models.yaml` that a config.json belongs to."""
    kind = _text(config).get("model_type")
    families: dict[str, list[str]] = table("models")["families"]
    return next((family for family, types in families.items() if kind in types), None)


_AUTO = {"float16": "float16", "bfloat16": "bfloat16", "float32": "bfloat16", "None": "bfloat16"}
"""What vLLM makes of the weights' type: models in 32 bits, and those that name none, are served in 16."""


def element_type(config: Config, dtype: str) -> str | None:
    """The type that `auto` stands for, and any other type as it is, if kvtier knows its layout.

    A checkpoint that brings a cache type of its own decides what `auto` is, which is not covered.
    """
    if dtype != "auto":
        return dtype if dtype in KV_DTYPES.dtypes else None
    text, own = _text(config), ("kv_cache_scheme", "kv_cache_quant_algo", "quantization")
    quantized = config.get("quantization_config") or text.get("quantization_config") or {}
    if not isinstance(quantized, dict) or any(quantized.get(name) for name in own):
        return None
    named = (part.get(name) for part in (config, text) for name in ("dtype", "torch_dtype"))
    return _AUTO.get(str(next((value for value in named if value), None)))


def _text(config: Config) -> Config:
    """The language model's part of a multimodal model's config."""
    nested = config.get("text_config")
    return nested if isinstance(nested, dict) else config


def _plausible(found: Cached) -> bool:
    """Whether there are layers, none of them without bytes or with more than any model has."""
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
    """Every layer attends to every token; a Mistral model may have one window for all of them."""
    count, each = int(text["num_hidden_layers"]), _layer_bytes(text, element, gpus)
    if set(text.get("layer_types") or ["full_attention"]) != {"full_attention"}:
        return None
    window = text.get("sliding_window") if text.get("use_sliding_window", True) else None
    if window is None:
        return Cached((Layers("Full", count, each),))
    return Cached((Layers("Window", count, each, int(window)),)) if text["model_type"] == "mistral" else None


def _windows(text: Config, element: str, gpus: int) -> Cached | None:
    """Some layers attend to a window, all heads are alike: gpt-oss, Gemma 3."""
    each = _layer_bytes(text, element, gpus)
    return _by_layer_types(text, each, each)


def _two_head_sizes(text: Config, element: str, gpus: int) -> Cached | None:
    """Gemma 4: layers that attend to everything have fewer and larger heads. Layers that share a cache: None."""
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
    """MiMo-V2: keys and values differ in size, and layers with a window have heads of their own."""
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
"""Every fourth layer of Llama 4 attends to everything, unless no_rope_layers says otherwise."""


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

    What `fp8` means depends on the attention kernel of the GPU: fp8_ds_mla or plain 8 bits.
    """
    plain = _latent(text, element, gpus)
    if plain is None or element not in ("float16", "bfloat16", "fp8_ds_mla"):
        return None
    indexer = Layers("Full", _indexers(text), indexer_bytes(int(text["index_head_dim"])))
    return Cached((*plain.layers, indexer), one_copy=True, together=True)


def _indexers(text: Config) -> int:
    """Layers with an indexer of their own; the others use that of a layer before (deepseek_v2.py, 0.33.0)."""
    count, every = int(text["num_hidden_layers"]), int(text.get("index_topk_freq") or 1)
    offset = int(text.get("index_skip_topk_offset", 2))
    if text.get("index_topk_pattern"):
        return count - str(text["index_topk_pattern"])[:count].count("S")
    return sum(max(layer - offset + 1, 0) % every == 0 for layer in range(count))


# Layers that keep a state of the sequence beside layers that attend.

_STATE_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}
_CONVOLUTION_BYTES = 2
_MAMBA_ALIGN = 16
_GATED_ALIGN = 64
"""What the tokens of a block are a multiple of: 64 on Hopper with 0.33. Older GPUs and 0.32 take 16, newer GPUs 128.

It changes how much a chunk stands for, not the bytes per token.
"""


def _mamba2(text: Config, element: str, gpus: int) -> Cached | None:
    """Nemotron-H. Its states have 32 bits unless the config says otherwise."""
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
    """Qwen3-Next and Qwen3.5. Left out of the config, the states have 16 bits."""
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
"""Spellings of the number of key and value heads, in vLLM's order (CONFIG_FIELD_ALIASES, 0.33.0)."""


def _layer_bytes(text: Config, element: str, gpus: int) -> int:
    """Bytes on one GPU, of a layer of which all heads are alike; 0 for what vLLM refuses."""
    given = text.get("head_dim") or text.get("hidden_size_per_head")
    size = int(given or text["hidden_size"] // text["num_attention_heads"])
    return _heads_bytes(_heads(text), size, size, element, gpus)


def _heads(text: Config) -> int:
    """Key and value heads of a model; as many as attention heads when the config names none."""
    named = (text.get(name) for name in _HEADS)
    return int(next((heads for heads in named if heads is not None), text["num_attention_heads"]))


def _heads_bytes(heads: int, key: int, value: int, element: str, gpus: int) -> int:
    """Bytes on one GPU; 0 for what vLLM refuses. Fewer heads than GPUs are repeated, others must divide evenly."""
    if heads % gpus == 0:
        return head_bytes(heads // gpus, key, value, element) or 0
    return (head_bytes(1, key, value, element) or 0) if gpus % heads == 0 else 0


def head_bytes(heads: int, key: int, value: int, dtype: str) -> int | None:
    """Keys and values of `heads` heads of `key` and `value` elements; None where vLLM has no such layout."""
    layout = KV_DTYPES.dtypes.get(dtype, Layout())
    if layout.bits is None or (layout.elements_per_scale_byte and key != value):
        return None
    return heads * sum(elements * layout.bits // 8 + _scale(elements, layout) for elements in (key, value))


def _scale(elements: int, layout: Layout) -> int:
    each = layout.elements_per_scale_byte
    return elements // each if each else layout.scale


def latent_bytes(width: int, dtype: str) -> int | None:
    """The one latent that all heads of multi-head latent attention (MLA) share; it has no values of its own.

    None for the types that no MLA kernel for CUDA takes: those with scales, and fp8_e5m2.
    """
    layout = KV_DTYPES.dtypes.get(dtype, Layout())
    if layout.latent is not None:
        return layout.latent if width == KV_DTYPES.latent_width else None
    if layout.bits is None or dtype not in KV_DTYPES.for_latents:
        return None
    return width * layout.bits // 8


def indexer_bytes(width: int) -> int:
    """What the indexer of sparse attention keeps beside the latent, whatever the type of the cache."""
    indexer = KV_DTYPES.indexer
    return width + width // indexer.elements_per_scale * indexer.scale
