"""Validation rules. Each is written once and enforced twice: by the API server (CEL) and offline (Python).

One table of examples tests both (`tests/unit/api/examples.py`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, model_validator
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema


@dataclass(frozen=True)
class Rule:
    """One requirement on a value: as CEL on `self`, and as a Python predicate on the model.

    A rule without `holds` needs the old object or the status, which only the API server has. `explain` makes a more
    specific message than `message`, offline only.
    """

    message: str
    cel: str
    holds: Callable[[Any], bool] | None = None
    explain: Callable[[Any], str] | None = None

    def as_schema(self) -> dict[str, Any]:
        """The rule as an item of `x-kubernetes-validations`."""
        return {"rule": self.cel, "message": self.message}


class ApiModel(BaseModel):
    """Base of every API type: frozen, camelCase in documents, with its own rules.

    Unknown fields are ignored, because a newer CRD may have stored them. In files, `api/structural.py` refuses them.
    """

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)

    rules: ClassVar[tuple[Rule, ...]] = ()

    @model_validator(mode="after")
    def _obey_rules(self) -> "ApiModel":
        broken = [rule for rule in self.rules if rule.holds is not None and not rule.holds(self)]
        if broken:
            raise ValueError("; ".join(r.explain(self) if r.explain else r.message for r in broken))
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler(core)
        if cls.rules:
            handler.resolve_ref_schema(schema)["x-kubernetes-validations"] = [
                r.as_schema() for r in cls.rules
            ]
        return schema
