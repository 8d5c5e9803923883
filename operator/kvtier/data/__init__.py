"""Tables of facts that change outside kvtier (limits, versions, machine types, flags), and their typed readers.

Each table names its source, and the date when it was read.
"""

from datetime import date
from functools import cache
from importlib.resources import files
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Row(BaseModel):
    """A part of a table. Unknown keys are an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)


class Table(Row):
    """A whole table."""

    source: str
    as_of: date


@cache
def table(name: str) -> Any:
    """The parsed content of `data/<name>.yaml`. Callers must not change it."""
    return yaml.safe_load(files(__package__).joinpath(f"{name}.yaml").read_text(encoding="utf-8"))
