"""Field types that several API models share."""

from typing import Annotated, Any

from pydantic import Field, StringConstraints

from kvtier.api import quantities

# Whole numbers of bytes that fit into an int64, the type that the API server uses.
_QUANTITY_PATTERN = r"^([1-9][0-9]{0,8}(Mi|Gi|M|G)|[1-9][0-9]{0,5}(Ti|T))$"


class Quantity(str):
    """A byte size such as `100Gi`, kept as written. Compare `bytes`: equal sizes may have different units."""

    @property
    def bytes(self) -> int:
        return quantities.parse(self)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        text = core_schema.str_schema(pattern=_QUANTITY_PATTERN, max_length=12)
        return core_schema.no_info_after_validator_function(cls, text)


def list_map(*keys: str) -> dict[str, Any]:
    """Schema extension for a list whose items are identified by `keys`."""
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}


def immutable(what: str) -> dict[str, Any]:
    """Schema extension that refuses every change of a required field."""
    return {
        "x-kubernetes-validations": [
            {"rule": "self == oldSelf", "message": f"{what} is immutable: create a new pool instead"}
        ]
    }


DnsLabel = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", min_length=1, max_length=63)
]
ObjectName = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$", min_length=1, max_length=253)
]
Zone = Annotated[str, StringConstraints(pattern=r"^[a-z]+-[a-z]+[0-9]+-[a-z]$", max_length=63)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
