"""Environment variables of the engine: values as they are, or a key of a Secret or ConfigMap."""

from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints

from kvtier.api.fields import ObjectName
from kvtier.api.rules import ApiModel, Rule

VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=253)]
Key = Annotated[str, StringConstraints(pattern=r"^[-._a-zA-Z0-9]+$", min_length=1, max_length=253)]


class KeyReference(ApiModel):
    """A key of a Secret or ConfigMap in the pool's namespace."""

    name: Annotated[ObjectName, Field(description="Name of the object.")]
    key: Annotated[Key, Field(description="Key of its data.")]


class VariableSource(ApiModel):
    """Where a variable's value comes from."""

    secret_key_ref: KeyReference | None = None
    config_map_key_ref: KeyReference | None = None

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="valueFrom needs one of secretKeyRef and configMapKeyRef",
            cel="has(self.secretKeyRef) != has(self.configMapKeyRef)",
            holds=lambda source: (source.secret_key_ref is None) != (source.config_map_key_ref is None),
        ),
    )


class Variable(ApiModel):
    """An environment variable of the engine."""

    name: Annotated[VariableName, Field(description="Name of the variable.")]
    value: Annotated[
        str | None, StringConstraints(max_length=32768), Field(description="Its value, as it is.")
    ] = None
    value_from: VariableSource | None = None

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="a variable has a value or a valueFrom, not both",
            cel="!has(self.value) || !has(self.valueFrom)",
            holds=lambda variable: variable.value is None or variable.value_from is None,
        ),
    )
