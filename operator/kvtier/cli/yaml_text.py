"""YAML as Kubernetes reads it, with the plain numbers and booleans of sigs.k8s.io/yaml.

PyYAML alone takes `y`, `1e3` and `08` for texts, and `1:30` and `2026-11-01` for a number and a date. A file would be
read in another way than by kubectl, and a rendered variable with the value `y` would be refused.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import yaml

_BOOLEAN, _NULL, _MERGE = (f"tag:yaml.org,2002:{name}" for name in ("bool", "null", "merge"))
_NUMBER = "tag:yaml.org,2002:float"
_TRUE = ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")
_FALSE = ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")
_PLAIN: dict[str, tuple[str, str]] = {
    _BOOLEAN: ("|".join((*_TRUE, *_FALSE)), "yYnNtTfFoO"),
    _NULL: ("~|null|Null|NULL|", "~nN"),
    _MERGE: ("<<", "<"),
    _NUMBER: (
        r"[-+]?(\.[0-9][0-9_]*|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9][0-9_]*)?"
        r"|[-+]?0(x[0-9a-fA-F_]+|b[01_]+|o[0-7_]+)|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        "-+.0123456789",
    ),
}
_LARGEST = 1 << 64


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, Any] = {}

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """As in PyYAML, but a key that stands twice is an error, as for the API server."""
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE:
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"field {key.value!r} is set twice", key.start_mark
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep)


class _Dumper(yaml.SafeDumper):
    """Quotes the texts that either reader takes for something else."""


for _tag, (_pattern, _first) in _PLAIN.items():
    for _of in (_Loader, _Dumper):
        _of.add_implicit_resolver(
            _tag, re.compile(f"(?:{_pattern})$"), [*_first, *([""] if _tag == _NULL else [])]
        )


def _boolean(_: yaml.SafeLoader, node: yaml.ScalarNode) -> bool:
    return node.value in _TRUE


def _number(_: yaml.SafeLoader, node: yaml.ScalarNode) -> int | float:
    text = node.value.replace("_", "").lower()
    if text.endswith(("inf", "nan")):
        return float(text.replace(".", ""))
    octal = re.fullmatch(r"[-+]?0[0-7]+", text)
    try:
        whole = int(text, 8 if octal else 0)
    except ValueError:
        return float(text)
    return whole if abs(whole) < _LARGEST else float(text)


_Loader.add_constructor(_BOOLEAN, _boolean)
_Loader.add_constructor(_NUMBER, _number)
_Loader.add_constructor(_MERGE, lambda _, node: node.value)


def documents(text: str) -> Iterator[Any]:
    """The documents in a YAML stream. Raises YAMLError, and ValueError or RecursionError for odd text."""
    loaded: Iterator[Any] = yaml.load_all(text, Loader=_Loader)
    return loaded


def dumped(objects: Iterable[Any]) -> str:
    """A YAML stream of these documents."""
    text: str = yaml.dump_all(objects, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return text
