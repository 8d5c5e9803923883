"""The types of a Kubernetes PodSpec, as structural schemas: what a CRD needs to hold parts of a Pod."""

from functools import cache
from typing import Any

from kvtier.data import Table, table

MAX_TEXT = 4096
"""Characters of a text, the longest path in Linux."""
MAX_ARGUMENT = 131_072
"""Characters of an argument or of a variable: the most that Linux takes (MAX_ARG_STRLEN)."""
MAX_ITEMS = 256
MAX_ENTRIES = 64

_ARGUMENTS = {("Container", "command"), ("Container", "args"), ("EnvVar", "value"), ("ExecAction", "command")}
_EITHER = {"x-kubernetes-int-or-string": True, "maxLength": MAX_TEXT}
_QUANTITY = r"^\s*[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]{1,18})?\s*$"
"""As ParseQuantity of apimachinery 0.36. Spaces around it are allowed in JSON."""
_INT32 = {"minimum": -(1 << 31), "maximum": (1 << 31) - 1}
_MAY_BE_EMPTY = {
    *(("ISCSIVolumeSource", "lun"), ("SleepAction", "seconds")),
    *(("HTTPHeader", "value"), ("Sysctl", "value")),
}
"""Required fields that Pods may leave out: Kubernetes takes them as 0 or empty, which is valid."""
_TEMPLATE_METADATA = ("labels", "annotations")
"""The only metadata that a template in a Pod may have."""


class PodTypeTable(Table):
    """All of `data/pod_types.yaml`: JSON schemas by type, which refer to each other by `$ref`."""

    types: dict[str, dict[str, Any]]


@cache
def _types() -> dict[str, dict[str, Any]]:
    """Read when a schema is wanted: the operator needs none."""
    return PodTypeTable.model_validate(table("pod_types")).types


def fields(of: str) -> frozenset[str]:
    """The names of all fields of a type."""
    return frozenset(_types()[of]["properties"])


def schema(of: str, field: str) -> dict[str, Any]:
    """The structural schema of a field, with bounds on the length of texts, lists and maps."""
    return _expanded(
        _types()[of]["properties"][field], MAX_ARGUMENT if (of, field) in _ARGUMENTS else MAX_TEXT
    )


def _expanded(node: dict[str, Any], text: int) -> dict[str, Any]:
    """One schema without references. `text`: the longest text in it."""
    if "$ref" in node:
        return _type(node["$ref"])
    out = dict(node)
    if "items" in node:
        out |= {"items": _expanded(node["items"], text), "maxItems": MAX_ITEMS}
    if "additionalProperties" in node:
        out |= {
            "additionalProperties": _expanded(node["additionalProperties"], text),
            "maxProperties": MAX_ENTRIES,
        }
    return out | ({"maxLength": text} if node["type"] == "string" else {})


def _type(name: str) -> dict[str, Any]:
    node = _types()[name]
    if "oneOf" in node:  # IntOrString and Quantity. A structural schema has no type for other numbers.
        return {**_EITHER, **(_INT32 if name == "IntOrString" else {"pattern": _QUANTITY})}
    names = _TEMPLATE_METADATA if name == "ObjectMeta" else node["properties"]
    properties = {field: schema(name, field) for field in names}
    required = [field for field in node.get("required", []) if (name, field) not in _MAY_BE_EMPTY]
    kept = {key: value for key, value in node.items() if key not in ("required", "properties")}
    return kept | ({"required": required} if required else {}) | {"properties": properties}
