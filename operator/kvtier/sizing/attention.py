"""Architectures that only attend: to every token, to a window, or through a latent.

Each function takes the language model's config, the type of the cache's elements and the number of GPUs, and says what
one GPU caches, or None for a setting that was not held against vLLM.
"""

from kvtier.sizing import token_bytes
from kvtier.sizing.shapes import Cached, Config, Layers, plain_size, size

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
    each = token_bytes.of_latent(int(text["kv_lora_rank"]) + int(text["qk_rope_head_dim"]), element) or 0
    return Cached((Layers("Full", int(text["num_hidden_layers"]), each),), one_copy=True)


def sparse_latent(text: Config, element: str, gpus: int) -> Cached | None:
    """A latent, and in some layers an indexer that chooses tokens.

    What `fp8` means depends on the attention kernel of the GPU: fp8_ds_mla or plain 8 bits.
    """
    plain = latent(text, element, gpus)
    if plain is None or element not in ("float16", "bfloat16", "fp8_ds_mla"):
        return None
    indexer = Layers("Full", _indexers(text), token_bytes.of_indexer(int(text["index_head_dim"])))
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
