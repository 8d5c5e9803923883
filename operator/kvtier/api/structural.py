"""Values against a structural schema, as the API server checks them with strict field validation."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic_core import CoreSchema, PydanticCustomError, SchemaValidator, core_schema

_BITS = {"int32": 31, "int64": 63}


def without_nulls(value: Any, schema: Mapping[str, Any]) -> Any:
    """The value without the fields that are null. The API server drops them, but not the items of lists."""
    if isinstance(value, dict):
        properties, other = schema.get("properties", {}), schema.get("additionalProperties")
        return {
            key: without_nulls(item, properties.get(key) or other or {})
            for key, item in value.items()
            if item is not None or not (key in properties or other)
        }
    if isinstance(value, list):
        return [without_nulls(item, schema.get("items", {})) for item in value]
    return value


def validator(schema: Mapping[str, Any]) -> SchemaValidator:
    """Refuses what is not of the schema with pydantic's ValidationError, which names every field."""
    return SchemaValidator(_core(schema))


def _core(node: Mapping[str, Any]) -> CoreSchema:
    if "enum" in node:
        return core_schema.literal_schema(node["enum"])
    return _BY_TYPE[node.get("type", "integer or string")](node)


def _object(node: Mapping[str, Any]) -> CoreSchema:
    if "properties" in node:
        required = node.get("required", ())
        fields = {
            name: core_schema.typed_dict_field(_core(child), required=name in required)
            for name, child in node["properties"].items()
        }
        return core_schema.typed_dict_schema(fields, extra_behavior="forbid", strict=True)
    other = node.get("additionalProperties")
    values = _core(other) if other else core_schema.any_schema()
    return core_schema.dict_schema(_TEXT, values, max_length=node.get("maxProperties"), strict=True)


def _array(node: Mapping[str, Any]) -> CoreSchema:
    bounds = {"min_length": node.get("minItems"), "max_length": node.get("maxItems")}
    items = core_schema.list_schema(_core(node["items"]), strict=True, **bounds)
    kind, keys = node.get("x-kubernetes-list-type"), node.get("x-kubernetes-list-map-keys", ())
    if kind not in ("map", "set"):
        return items
    defaults = {key: node["items"]["properties"][key].get("default") for key in keys}

    def distinct(value: list[Any]) -> list[Any]:
        seen = set()
        for item in value:
            key = tuple(item.get(name, default) for name, default in defaults.items()) or (item,)
            if key in seen:
                raise PydanticCustomError(
                    "duplicate", "Duplicate value: {key}", {"key": ", ".join(map(str, key))}
                )
            seen.add(key)
        return value

    return core_schema.no_info_after_validator_function(distinct, items)


def _string(node: Mapping[str, Any]) -> CoreSchema:
    return core_schema.str_schema(
        pattern=node.get("pattern"),
        min_length=node.get("minLength"),
        max_length=node.get("maxLength"),
        strict=True,
    )


def _integer(node: Mapping[str, Any]) -> CoreSchema:
    bits = _BITS[node.get("format", "int64")]
    lowest, highest = node.get("minimum", -(1 << bits)), node.get("maximum", (1 << bits) - 1)
    return core_schema.int_schema(ge=lowest, le=highest, strict=True)


def _number(node: Mapping[str, Any]) -> CoreSchema:
    lowest = {"gt" if node.get("exclusiveMinimum") else "ge": node.get("minimum")}
    return core_schema.float_schema(**lowest, le=node.get("maximum"), strict=True)


def _boolean(_: Mapping[str, Any]) -> CoreSchema:
    return core_schema.bool_schema(strict=True)


def _integer_or_string(node: Mapping[str, Any]) -> CoreSchema:
    return core_schema.union_schema(
        [_integer(node), _string(node)],
        custom_error_type="int_or_string",
        custom_error_message="must be a string or a whole number within its limits; write other numbers as strings",
    )


_TEXT = core_schema.str_schema(strict=True)
_BY_TYPE: dict[str, Callable[[Mapping[str, Any]], CoreSchema]] = {
    "object": _object,
    "array": _array,
    "string": _string,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "integer or string": _integer_or_string,
}
