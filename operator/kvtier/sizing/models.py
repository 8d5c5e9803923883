"""Which architectures and which models kvtier knows the cache of (`data/models.yaml`).

Everything else, and every setting that is not understood, is None: a wrong size is worse than none.
"""

from collections.abc import Callable
from typing import Any

from kvtier.data import table
from kvtier.sizing import attention, states, token_bytes
from kvtier.sizing.shapes import Cached, Config

_FAMILIES: dict[str, Callable[[Config, str, int], Cached | None]] = {
    "full": attention.full,
    "windows": attention.windows,
    "twoHeadSizes": attention.two_head_sizes,
    "twoValueSizes": attention.two_value_sizes,
    "chunks": attention.chunks,
    "latent": attention.latent,
    "sparseLatent": attention.sparse_latent,
    "mamba2": states.mamba2,
    "gatedDelta": states.gated_delta,
}
_MOST_LAYERS = 1000
_MOST_BYTES = 1 << 40
"""Beyond any model: a document may say anything, and what comes of it goes into 64-bit numbers of the status."""

_LAYER_TYPES = {"F": "full_attention", "W": "sliding_attention"}
_AUTO = {"float16": "float16", "bfloat16": "bfloat16", "float32": "bfloat16", "None": "bfloat16"}
"""What vLLM makes of the weights' type: models in 32 bits, and those that name none, are served in 16."""


def config_of(model: str) -> Config | None:
    """The fields of config.json that matter here, for a model of the table."""
    row = table("models")["models"].get(model)
    if row is None:
        return None
    config = {name: value for name, value in row.items() if name not in ("layers", "from")}
    return {**config, **_layer_fields(row["model_type"], row["layers"])} if "layers" in row else config


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
    return found if found and _whole(found) else None


def _whole(found: Cached) -> bool:
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


def family_of(config: Config) -> str | None:
    """The row of `families` that a config.json belongs to."""
    kind = _text(config).get("model_type")
    families: dict[str, list[str]] = table("models")["families"]
    return next((family for family, types in families.items() if kind in types), None)


def element_type(config: Config, dtype: str) -> str | None:
    """The type that `auto` stands for, and any other type as it is, if kvtier knows its layout.

    A checkpoint that brings a cache type of its own decides what `auto` is, which is not covered.
    """
    if dtype != "auto":
        return dtype if token_bytes.covered(dtype) else None
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


def _layer_fields(model_type: str, layers: str) -> dict[str, Any]:
    """The list of layer types that the table writes as one letter for each layer."""
    if model_type == "mimo_v2_flash":
        return {"hybrid_layer_pattern": ["FW".index(letter) for letter in layers]}
    if model_type == "nemotron_h":
        return {"hybrid_override_pattern": layers}
    return {"layer_types": [_LAYER_TYPES[letter] for letter in layers]}
