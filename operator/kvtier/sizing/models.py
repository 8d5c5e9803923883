"""Which architectures and which models kvtier knows the cache of (`data/models.yaml`).

Everything else, and every setting that is not understood, is None: a wrong size is worse than none.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kvtier.api.v1alpha1 import ServedModel
from kvtier.data import table
from kvtier.data.vllm_flags import given
from kvtier.facts.model import ConfigMaps
from kvtier.sizing import architectures
from kvtier.sizing.architectures import Cached, Config
from kvtier.sizing.geometry import BLOCK, Geometry, geometry

_FAMILIES: dict[str, Callable[[Config, str, int], Cached | None]] = {
    "full": architectures.full,
    "windows": architectures.windows,
    "twoHeadSizes": architectures.two_head_sizes,
    "twoValueSizes": architectures.two_value_sizes,
    "chunks": architectures.chunks,
    "latent": architectures.latent,
    "sparseLatent": architectures.sparse_latent,
    "mamba2": architectures.mamba2,
    "gatedDelta": architectures.gated_delta,
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
        return dtype if architectures.covered(dtype) else None
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


@dataclass(frozen=True)
class Document:
    """The parsed document, or a sentence that says what is wrong with it and what to do (`fault`).

    `unread`: kvtier may not read the ConfigMap. All empty for a model that brings no document.
    """

    config: Config | None = None
    fault: str | None = None
    unread: bool = False


def model_document(model: ServedModel, config_maps: ConfigMaps) -> Document:
    """What `modelConfigFrom` leads to. Whatever stands there, this raises nothing."""
    given = model.model_config_from
    if given is None:
        return Document()
    if given.config_map_key_ref is None:
        return _parsed(given.inline or "", "modelConfigFrom.inline")
    name, key = given.config_map_key_ref.name, given.config_map_key_ref.key
    data = config_maps.data.get(name)
    if data is None:
        return Document(unread=True)
    if key not in data:
        missing = f"there is no ConfigMap {name} with a key {key} in the pool's namespace"
        return Document(fault=f"{missing}: kubectl create configmap {name} --from-file={key}=config.json")
    return _parsed(data[key], f"key {key} of ConfigMap {name}")


@lru_cache(maxsize=32)
def _parsed(text: str, where: str) -> Document:
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Document(
            fault=f"{where} is not JSON ({_short(error)}): put the model's whole config.json there"
        )
    if isinstance(found, dict):
        return Document(found)
    return Document(fault=f"{where} is JSON, but no object: put the model's whole config.json there")


def _short(error: Exception) -> str:
    """The parser's words, of which those about long numbers name settings of Python."""
    return str(error) if isinstance(error, json.JSONDecodeError) else "too deep, or a number too long"


_OF_THE_TABLE = (None, "main")


def served_geometry(model: ServedModel, geometry_flags: Sequence[str], document: Document) -> Geometry | None:
    """How the model's cache is cut, or None where kvtier cannot tell.

    A flag of `geometry_flags` in extraArgs may make it another one than the model's config.json says.
    """
    known = known_config(model, document)
    if known is None or given(model.extra_args, geometry_flags):
        return None
    found = cached(known, model.kv_cache_dtype, model.tensor_parallel_size)
    return geometry(found, model.tensor_parallel_size, model.block_size or BLOCK) if found else None


def known_config(model: ServedModel, document: Document) -> Config | None:
    """The model's own document where it names one, else what the table of public models says.

    Any other revision than the branch that the table was read from may be another model.
    """
    if model.model_config_from is not None:
        return document.config
    return config_of(model.model) if model.revision in _OF_THE_TABLE else None
