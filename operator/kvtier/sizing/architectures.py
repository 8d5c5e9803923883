"""Bytes of one token in one attention layer, by the type that the cache is kept in (`data/kv_dtypes.yaml`)."""

from dataclasses import dataclass
from typing import Any, Literal

from kvtier.data import table


def covered(dtype: str) -> bool:
    """Whether kvtier knows the layout of a cache of this type."""
    return dtype in table("kv_dtypes")["dtypes"]


def of_heads(heads: int, key: int, value: int, dtype: str) -> int | None:
    """Keys and values of `heads` heads of `key` and `value` elements; None where vLLM has no such layout."""
    row = _row(dtype)
    if "bits" not in row or ("elementsPerScaleByte" in row and key != value):
        return None
    sides = [_side(elements, row) for elements in (key, value)]
    return heads * sum(sides)


def of_latent(width: int, dtype: str) -> int | None:
    """The one latent that all heads of multi-head latent attention (MLA) share; it has no values of its own.

    None for the types that no MLA kernel for CUDA takes: those with scales, and fp8_e5m2.
    """
    row, known = _row(dtype), table("kv_dtypes")
    if "latent" in row:
        return int(row["latent"]) if width == known["latentWidth"] else None
    plain = set(row) == {"bits"} and dtype in known["forLatents"]
    return width * int(row["bits"]) // 8 if plain else None


def of_indexer(width: int) -> int:
    """What the indexer of sparse attention keeps beside the latent, whatever the type of the cache."""
    indexer = table("kv_dtypes")["indexer"]
    return width + width // int(indexer["elementsPerScale"]) * int(indexer["scale"])


def _side(elements: int, row: dict[str, Any]) -> int:
    scale = elements // row["elementsPerScaleByte"] if "elementsPerScaleByte" in row else row.get("scale", 0)
    return elements * int(row["bits"]) // 8 + int(scale)


def _row(dtype: str) -> dict[str, Any]:
    row: dict[str, Any] = table("kv_dtypes")["dtypes"].get(dtype, {})
    return row


Config = dict[str, Any]
Kind = Literal["Full", "Window", "Chunk", "State"]

_HEADS = ("n_head_kv", "num_kv_heads", "num_key_value_heads", "multi_query_group_num", "num_attention_groups")
"""Spellings of the number of key and value heads, in vLLM's order (CONFIG_FIELD_ALIASES, 0.33.0)."""


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


def heads(text: Config) -> int:
    """Key and value heads of a model; as many as attention heads when the config names none."""
    return next(
        (int(text[name]) for name in _HEADS if text.get(name) is not None), int(text["num_attention_heads"])
    )


def head_size(text: Config) -> int:
    """Elements of a head."""
    given = text.get("head_dim") or text.get("hidden_size_per_head")
    return int(given or text["hidden_size"] // text["num_attention_heads"])


def heads_per_gpu(total: int, gpus: int) -> int | None:
    """Heads of one GPU. Fewer heads than GPUs are repeated, others must divide evenly: vLLM refuses the rest."""
    if total % gpus == 0:
        return total // gpus
    return 1 if gpus % total == 0 else None


def size(total_heads: int, key: int, value: int, element: str, gpus: int) -> int:
    """Bytes per token of one layer on one GPU; 0 for what vLLM refuses."""
    mine = heads_per_gpu(total_heads, gpus)
    return (of_heads(mine, key, value, element) or 0) if mine else 0


def plain_size(text: Config, element: str, gpus: int) -> int:
    """Bytes per token of a layer of which all heads are alike, on one GPU."""
    return size(heads(text), head_size(text), head_size(text), element, gpus)


_LLAMA4_INTERVAL = 4
"""Every fourth layer of Llama 4 attends to everything, unless no_rope_layers says otherwise."""


def full(text: Config, element: str, gpus: int) -> Cached | None:
    """Every layer attends to every token; a Mistral model may have one window for all of them."""
    count, each = int(text["num_hidden_layers"]), plain_size(text, element, gpus)
    if set(text.get("layer_types") or ["full_attention"]) != {"full_attention"}:
        return None
    window = text.get("sliding_window") if text.get("use_sliding_window", True) else None
    if window is None:
        return Cached((Layers("Full", count, each),))
    return Cached((Layers("Window", count, each, int(window)),)) if text["model_type"] == "mistral" else None


def windows(text: Config, element: str, gpus: int) -> Cached | None:
    """Some layers attend to a window, all heads are alike: gpt-oss, Gemma 3."""
    each = plain_size(text, element, gpus)
    return _by_type(text, each, each)


def two_head_sizes(text: Config, element: str, gpus: int) -> Cached | None:
    """Gemma 4: layers that attend to everything have fewer and larger heads. Layers that share a cache: None."""
    if text.get("num_kv_shared_layers") or not text.get("attention_k_eq_v"):
        return None
    wide = int(text["global_head_dim"])
    full_size = size(int(text["num_global_key_value_heads"]), wide, wide, element, gpus)
    return _by_type(text, plain_size(text, element, gpus), full_size)


def two_value_sizes(text: Config, element: str, gpus: int) -> Cached | None:
    """MiMo-V2: keys and values differ in size, and layers with a window have heads of their own."""
    pattern = text["hybrid_layer_pattern"]
    if len(pattern) != text["num_hidden_layers"]:
        return None
    wide = size(
        int(text["num_key_value_heads"]), int(text["head_dim"]), int(text["v_head_dim"]), element, gpus
    )
    own = [int(text[f"swa_{name}"]) for name in ("num_key_value_heads", "head_dim", "v_head_dim")]
    narrow = size(own[0], own[1], own[2], element, gpus)
    span = int(text["sliding_window"])
    return Cached((Layers("Full", pattern.count(0), wide), Layers("Window", pattern.count(1), narrow, span)))


def chunks(text: Config, element: str, gpus: int) -> Cached | None:
    """Llama 4: most layers attend within a chunk of the text."""
    count, each = int(text["num_hidden_layers"]), plain_size(text, element, gpus)
    local = text.get("no_rope_layers") or [int((i + 1) % _LLAMA4_INTERVAL != 0) for i in range(count)]
    if not text.get("attention_chunk_size") or len(local) != count:
        return None
    span = int(text["attention_chunk_size"])
    return Cached((Layers("Chunk", local.count(1), each, span), Layers("Full", local.count(0), each)))


def latent(text: Config, element: str, gpus: int) -> Cached | None:
    """Multi-head latent attention: one latent for all heads, whole on every GPU."""
    each = of_latent(int(text["kv_lora_rank"]) + int(text["qk_rope_head_dim"]), element) or 0
    return Cached((Layers("Full", int(text["num_hidden_layers"]), each),), one_copy=True)


def sparse_latent(text: Config, element: str, gpus: int) -> Cached | None:
    """A latent, and in some layers an indexer that chooses tokens.

    What `fp8` means depends on the attention kernel of the GPU: fp8_ds_mla or plain 8 bits.
    """
    plain = latent(text, element, gpus)
    if plain is None or element not in ("float16", "bfloat16", "fp8_ds_mla"):
        return None
    indexer = Layers("Full", _indexers(text), of_indexer(int(text["index_head_dim"])))
    return Cached((*plain.layers, indexer), one_copy=True, together=True)


def _indexers(text: Config) -> int:
    """Layers with an indexer of their own; the others use that of a layer before (deepseek_v2.py, 0.33.0)."""
    count, every = int(text["num_hidden_layers"]), int(text.get("index_topk_freq") or 1)
    offset = int(text.get("index_skip_topk_offset", 2))
    if text.get("index_topk_pattern"):
        return count - str(text["index_topk_pattern"])[:count].count("S")
    return sum(max(layer - offset + 1, 0) % every == 0 for layer in range(count))


def _by_type(text: Config, window_size: int, full_size: int) -> Cached | None:
    types = text.get("layer_types") or []
    narrow, wide = types.count("sliding_attention"), types.count("full_attention")
    if narrow + wide != text["num_hidden_layers"] or not text.get("sliding_window"):
        return None
    span = int(text["sliding_window"])
    return Cached((Layers("Window", narrow, window_size, span), Layers("Full", wide, full_size)))


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
