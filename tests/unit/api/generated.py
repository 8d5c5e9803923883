"""Pools from the schema of the CRD, each by its number: a valid pool in which a few fields have other values.

They are for comparisons of two readers, so that any value is fine: those at every bound, one beyond, of another type,
odd text, nulls, unknown fields and repeated items.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic_core import SchemaValidator

from kvtier.api.crd import schema
from kvtier.api.structural import validator, without_nulls
from unit.api.examples import ACCEPTED, REFUSED, written

_SAMPLES = Path(__file__).parents[3] / "manifests" / "samples"
_MOST_CHANGES = 4
_VALID = 0.8
"""The share of pools whose changes are of the schema."""
_TRIES = 30
_LONGEST = 300
"""Items beyond which a list or a text is not filled to its bound, mostly: such pools are slow."""

TEXTS = (
    *(
        "",
        " ",
        "a",
        "A",
        "-",
        "0",
        "true",
        "null",
        "~",
        "1e3",
        "0x1f",
        "a b",
        "a\n",
        "\n",
        "a\u0000",
        "$(A)",
        "$$",
    ),
    *(
        "{{ x }}",
        "{% x %}",
        "\ue0000\ue000",
        "../..",
        "/",
        "//",
        "/a/../b",
        "*",
        "%s",
        "é",
        "e\u0301",
        "٣",
        "Ⅷ",
    ),
    *("🙂", "\u202ea", "\ufeff", "\u2028", "\ud7ff", "\uffff", "\U0010ffff", "kvtier.dev/x", "--model", "-x"),
)
QUANTITIES = (
    *(
        "0",
        "1",
        "100m",
        "0.5",
        "1.5Gi",
        "1Gi",
        "01Gi",
        "1Ki",
        "1e3",
        "1E",
        "1Ei",
        "-1",
        "+1",
        "1 Gi",
        "10%",
        ".5",
        "5.",
    ),
    *("9223372036854775807", "9223372036854775808", "1e30", "999999999Gi", "999999Ti", "1000000Ti", "9000Gi"),
)
# Not 1.0: the API server takes it for an integer, unless a rule reads the field. `kvtier check` always refuses it.
INTEGERS = (-1, 0, 1, 2, 2**31 - 1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, 1.5, 1e300, "1", True)
NUMBERS = (0, 0.0, -0.0, 1, 1.0, 5e-324, 1e-9, 0.5, 1.0000000000000002, 2, -1, 1e300, 2**63, "0.5", True)


def pool(number: int, namespace: str) -> dict[str, Any]:
    """The pool of that number, as a user writes it."""
    rng = Random(number)
    document = _base(rng, namespace)
    places = list(_places(document["spec"], schema()["properties"]["spec"], ()))
    value = _valid if rng.random() < _VALID else _other
    for path, node in rng.sample(places, min(len(places), rng.randint(1, _MOST_CHANGES))):
        _set(document["spec"], path, value(rng, node), rng)
    if rng.random() < 0.05:
        document["metadata"]["name"] = rng.choice(
            ["a", "a.b", "0", "a" * 63, "a-b" * 84, "a" * 254, "A", "", "a_b"]
        )
    return document


@cache
def _bases() -> tuple[dict[str, Any], ...]:
    samples = [yaml.safe_load(path.read_text()) for path in sorted(_SAMPLES.glob("*.yaml"))]
    return (*(written(changes, "") for changes in ACCEPTED.values()), *samples)


def _base(rng: Random, namespace: str) -> dict[str, Any]:
    everything = written(ACCEPTED["a Pod with everything"], "")
    document = deepcopy(rng.choice(_bases()) if rng.random() < 0.75 else everything)
    return {**document, "metadata": {"name": "generated", "namespace": namespace}}


def _places(
    value: Any, node: Mapping[str, Any], path: tuple[Any, ...]
) -> Iterator[tuple[tuple[Any, ...], Mapping[str, Any]]]:
    """The fields that the value has, and those that it could have, with their schemas."""
    if path:
        yield path, node
    if isinstance(value, dict):
        for name, child in node.get("properties", {}).items():
            yield from _places(value.get(name), child, (*path, name))
        if "additionalProperties" in node:
            for name in value:
                yield from _places(value[name], node["additionalProperties"], (*path, name))
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _places(item, node["items"], (*path, index))


def _set(document: Any, path: tuple[Any, ...], value: Any, rng: Random) -> None:
    """Set or remove a field. An earlier change may have removed what is above it."""
    for step in path[:-1]:
        try:
            document = document[step]
        except (LookupError, TypeError):
            return
    last = path[-1]
    if isinstance(document, dict):
        if rng.random() < 0.1:
            document.pop(last, None)
        else:
            document[last] = value
        if rng.random() < 0.02:
            document["unknown"] = 1
    elif isinstance(document, list) and isinstance(last, int) and last < len(document):
        document[last] = value
        if rng.random() < 0.2:
            document.append(deepcopy(value))


def _valid(rng: Random, node: Mapping[str, Any]) -> Any:
    """A value of the schema, if one is found: only such pools reach the rules and the planner."""
    for _ in range(_TRIES):
        value = without_nulls(_other(rng, node), node)
        try:
            _validator(node).validate_python(value)
        except ValidationError:
            continue
        return value
    return None


def _validator(node: Mapping[str, Any]) -> SchemaValidator:
    if id(node) not in _VALIDATORS:
        _VALIDATORS[id(node)] = validator(node)
    return _VALIDATORS[id(node)]


_VALIDATORS: dict[int, SchemaValidator] = {}
"""By the identity of a node of the schema, which is built once."""


def _other(rng: Random, node: Mapping[str, Any], depth: int = 0) -> Any:
    if rng.random() < 0.04:
        return rng.choice([None, {}, [], "x", 1, False, [None], {"a": None}])
    if "enum" in node:
        return rng.choice([*node["enum"], "Other", node["enum"][0]])
    if "x-kubernetes-int-or-string" in node:
        return rng.choice([*INTEGERS, *QUANTITIES])
    return {
        "string": _text,
        "integer": _integer,
        "number": lambda rng, *_: rng.choice(NUMBERS),
        "boolean": lambda rng, *_: rng.choice([True, False, True, False, "true", 0]),
        "array": _array,
        "object": _object,
    }[node["type"]](rng, node, depth)


def _text(rng: Random, node: Mapping[str, Any], depth: int) -> str:
    known = _known().get(node.get("pattern", ""), ())
    if known and rng.random() < 0.75:
        text = str(rng.choice(known))
        odd = rng.choice([f"{text}\n", text.upper(), f" {text}", f"{text}🙂", text[:-1]])
        return odd if rng.random() < 0.3 else text
    longest = int(node.get("maxLength", 10))
    if rng.random() < 0.2 and (longest <= _LONGEST or (depth == 0 and rng.random() < 0.2)):
        return str(rng.choice(["a", "🙂", "0"])) * (longest + rng.choice([0, 0, 1]))
    return str(rng.choice([*TEXTS, *QUANTITIES]))


def _integer(rng: Random, node: Mapping[str, Any], _: int) -> Any:
    bounds = [node[key] + step for key in ("minimum", "maximum") if key in node for step in (-1, 0, 1)]
    return rng.choice([*bounds, *bounds, *INTEGERS])


def _array(rng: Random, node: Mapping[str, Any], depth: int) -> list[Any]:
    most = node.get("maxItems", 4)
    sizes = [0, 1, 1, 2, 3]
    if depth == 0 and most <= _LONGEST:
        sizes += [most, most + 1]
    items = [
        _other(rng, node["items"], depth + 1) for _ in range(min(rng.choice(sizes), 8 if depth else most + 1))
    ]
    for index, item in enumerate(items):
        if isinstance(item, dict) and rng.random() < 0.9:
            item |= {
                key: f"n{index}"
                for key in node.get("x-kubernetes-list-map-keys", ())
                if isinstance(item.get(key), str)
            }
    return items


def _object(rng: Random, node: Mapping[str, Any], depth: int) -> dict[str, Any]:
    if "additionalProperties" in node:
        most = node.get("maxProperties", 4)
        names = [*TEXTS[:12], "example.com/a", "cpu", "memory", *(f"k{i}" for i in range(most - 13))]
        chosen = rng.sample(names, min(len(names), rng.choice([0, 1, 2, 3, most])))
        return {name: _other(rng, node["additionalProperties"], depth + 1) for name in chosen}
    fields, needed = list(node.get("properties", {})), node.get("required", [])
    some = rng.sample(fields, min(len(fields), rng.choice([0, 1, 1, 2, 3])))
    return {
        name: _other(rng, node["properties"][name], depth + 1)
        for name in fields
        if name in some or (name in needed and rng.random() < 0.97)
    }


@cache
def _known() -> dict[str, tuple[str, ...]]:
    """Texts of the examples by the pattern of their field: a random text rarely has it."""
    found: dict[str, set[str]] = {}
    refused = [written(example.changes, "") for example in REFUSED.values()]
    for document in (*_bases(), *refused):
        for path, node in _places(document["spec"], schema()["properties"]["spec"], ()):
            value = _at(document["spec"], path)
            if "pattern" in node and isinstance(value, str):
                found.setdefault(node["pattern"], set()).add(value)
    return {pattern: tuple(sorted(texts)) for pattern, texts in found.items()}


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, dict) else value[step]
    return value
