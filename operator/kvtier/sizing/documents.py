"""A model's config.json as the pool gives it: a text of users, in which anything may stand."""

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kvtier.api.v1alpha1 import ServedModel
from kvtier.facts.model import ConfigMaps
from kvtier.sizing.shapes import Config


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
