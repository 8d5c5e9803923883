"""Decodes what the API server sends. An object that is nested too deeply loses only the fields that are."""

import json
import re
from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json

_DEEPEST = 200
"""Levels that are decoded. `from_json` refuses 202. Python's own decoder takes 5 times as many, and what works on the
result then ends with a RecursionError. Objects of Kubernetes have at most some 30."""

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]')
_TOO_DEEP = "\ufdd0 nested too deeply"
"""Replaces what is nested too deeply. No text in a document begins with this noncharacter by accident."""


def decode(data: bytes) -> Any:
    """The document, an object, a list of objects or an event of a watch. ValueError if it is not JSON.

    A field of an object with a value that is nested too deeply is left out: of `metadata` only the field in it, so that
    the object always has its name.
    """
    try:
        return from_json(data)
    except ValueError:
        return _without_deep_fields(from_json(_shallow(data)))


def readable(data: bytes) -> bytes:
    """The document for a decoder that knows no limit. ValueError if it is not JSON."""
    try:
        from_json(data)
    except ValueError:
        return json.dumps(decode(data)).encode()
    return data


def _shallow(data: bytes) -> bytes:
    """The same document with a text in place of each value that is nested too deeply."""
    kept, depth, end, mark = [], 0, 0, b'"' + _TOO_DEEP.encode() + b'"'
    for token in _TOKEN.finditer(data):
        if token[0] in b"[{":
            depth += 1
            if depth == _DEEPEST + 1:
                kept += [data[end : token.start()], mark]
        elif token[0] in b"]}":
            if depth == _DEEPEST + 1:
                end = token.end()
            depth -= 1
    return b"".join([*kept, data[end:]])


def _without_deep_fields(document: Any) -> Any:
    if not isinstance(document, Mapping):
        return document
    if isinstance(document.get("items"), list):
        return {**document, "items": [_readable(one) for one in document["items"]]}
    if isinstance(document.get("object"), Mapping):
        return {**document, "object": _readable(document["object"])}
    return _readable(document)


def _readable(obj: Any) -> Any:
    if not isinstance(obj, Mapping):
        return obj
    metadata = obj.get("metadata")
    kept = {name: value for name, value in obj.items() if name != "metadata" and not _is_deep(value)}
    return kept | ({"metadata": _fields(metadata)} if isinstance(metadata, Mapping) else {})


def _fields(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in metadata.items() if not _is_deep(value)}


def _is_deep(value: Any) -> bool:
    """Whether something in the value was too deep. Without recursion."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str) and one == _TOO_DEEP:
            return True
        if isinstance(one, Mapping):
            left += one.values()
        elif isinstance(one, list):
            left += one
    return False
