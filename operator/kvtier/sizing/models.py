"""What kvtier knows about a model of a pool, and how its cache is divided into blocks.

The config.json comes from the pool or from the table of public models (`data/models.yaml`).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kvtier.api.v1alpha1 import ServedModel
from kvtier.data import table
from kvtier.data.vllm_flags import given
from kvtier.facts.model import ConfigMaps
from kvtier.sizing.architectures import Config, cached
from kvtier.sizing.geometry import BLOCK, Geometry, geometry


@dataclass(frozen=True)
class Document:
    """A model's own config.json: parsed, or `fault`: what is wrong with it, and what to do.

    `unread`: kvtier may not read the ConfigMap. All fields are empty for a model without modelConfigFrom.
    """

    config: Config | None = None
    fault: str | None = None
    unread: bool = False


def served_geometry(
    model: ServedModel, geometry_flags: Sequence[str], config: Config | None
) -> Geometry | None:
    """How the cache of a model with this config.json is divided, or None if that is unknown.

    It is unknown if extraArgs contain one of `geometry_flags`, which change what config.json says.
    """
    if config is None or given(model.extra_args, geometry_flags):
        return None
    found = cached(config, model.kv_cache_dtype, model.tensor_parallel_size)
    return geometry(found, model.tensor_parallel_size, model.block_size or BLOCK) if found else None


_OF_THE_TABLE = (None, "main")


def known_config(model: ServedModel, document: Document) -> Config | None:
    """The model's own document if it names one, else the row of the table of public models.

    The table is valid only for the branch from which it was read: another revision may be another model.
    """
    if model.model_config_from is not None:
        return document.config
    return config_of(model.model) if model.revision in _OF_THE_TABLE else None


def model_document(model: ServedModel, config_maps: ConfigMaps, namespace: str) -> Document:
    """The document to which `modelConfigFrom` refers, in the pool's namespace. Raises nothing for any content."""
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
        create = f"kubectl -n {namespace} create configmap {name} --from-file={key}=config.json"
        return Document(fault=f"ConfigMap {name} has no key {key}. Create it: {create}")
    return _parsed(data[key], f"ConfigMap {name}, key {key},")


def _parsed(text: str, where: str) -> Document:
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Document(
            fault=f"{where} is not JSON ({_short(error)}). It must be the model's whole config.json."
        )
    if isinstance(found, dict):
        return Document(found)
    return Document(fault=f"{where} is JSON, but not an object. It must be the model's whole config.json.")


def _short(error: Exception) -> str:
    """The parser's message. For long numbers it would name a setting of Python, so it is replaced."""
    return str(error) if isinstance(error, json.JSONDecodeError) else "too deep, or a number too long"


_LAYER_TYPES = {"F": "full_attention", "W": "sliding_attention"}


def config_of(model: str) -> Config | None:
    """The fields of config.json that kvtier uses, for a model of the table, else None."""
    row = table("models")["models"].get(model)
    if row is None:
        return None
    config = {name: value for name, value in row.items() if name not in ("layers", "from")}
    return {**config, **_layer_fields(row["model_type"], row["layers"])} if "layers" in row else config


def _layer_fields(model_type: str, layers: str) -> dict[str, Any]:
    """The list of layer types, from the table's one letter per layer."""
    if model_type == "mimo_v2_flash":
        return {"hybrid_layer_pattern": ["FW".index(letter) for letter in layers]}
    if model_type == "nemotron_h":
        return {"hybrid_override_pattern": layers}
    return {"layer_types": [_LAYER_TYPES[letter] for letter in layers]}
