"""The API reference in the docs, from the same schema as the CRD: `python -m kvtier.api.reference`."""

from collections.abc import Iterator
from typing import Any

from kvtier.api.crd import schema
from kvtier.api.v1alpha1 import GROUP, KIND, VERSION

_HEADER = f"""# API reference: {KIND} {GROUP}/{VERSION}

Generated from the models by `make generate`. `kubectl explain kvpool.spec` shows the same text.
"""


def markdown() -> str:
    """The whole reference: one table for spec and status, then the rules that the API server enforces."""
    root = schema()
    parts = [_HEADER]
    for section in ("spec", "status"):
        parts += [f"\n## {section}\n", "| field | type | meaning |", "| --- | --- | --- |"]
        parts += _rows(root["properties"][section], section)
    parts += ["\n## Rules\n", "Refused by the API server, at create and at update:\n"]
    parts += [f"- `{path}`: {rule['message']}" for path, rule in _rules(root, "")]
    return "\n".join(parts) + "\n"


def _rows(node: dict[str, Any], path: str) -> Iterator[str]:
    for name, child in node.get("properties", {}).items():
        suffix = "[]" if child.get("type") == "array" else ""
        required = " **required**" if name in node.get("required", []) else ""
        text = child.get("description", "").replace("|", "\\|")
        yield f"| `{path}.{name}{suffix}` | {_type(child)}{required} | {text}{_default(child)} |"
        yield from _rows(child.get("items", child), f"{path}.{name}{suffix}")


def _type(node: dict[str, Any]) -> str:
    if "enum" in node:
        return ", ".join(f"`{value}`" for value in node["enum"])
    return str(node.get("type", ""))


def _default(node: dict[str, Any]) -> str:
    if node.get("default") in (None, "") or isinstance(node["default"], dict):
        return ""
    value = node["default"]
    return f" Default: `{str(value).lower() if isinstance(value, bool) else value}`."


def _rules(node: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for rule in node.get("x-kubernetes-validations", []):
        yield path.lstrip(".") or KIND, rule
    for name, child in node.get("properties", {}).items():
        yield from _rules(child, f"{path}.{name}")
    if "items" in node:
        yield from _rules(node["items"], f"{path}[]")


if __name__ == "__main__":
    print(markdown(), end="")
