"""Tables of facts that change: limits, version gates, machine types, engine flags. Each names its source and date."""

from functools import cache
from importlib.resources import files
from typing import Any

import yaml


@cache
def table(name: str) -> Any:
    """The parsed content of `data/<name>.yaml`. Callers must not change it."""
    return yaml.safe_load(files(__package__).joinpath(f"{name}.yaml").read_text(encoding="utf-8"))
