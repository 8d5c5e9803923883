"""A measured number, its goal, and how both are shown."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from rich.table import Table


@dataclass(frozen=True)
class Row:
    """One number. A baseline is the cost of the same without kvtier; then `ratio` is value to baseline."""

    name: str
    value: float
    unit: str
    baseline: float | None = None

    @property
    def ratio(self) -> float | None:
        return self.value / self.baseline if self.baseline else None


@dataclass(frozen=True)
class Goal:
    """The maximum of the value of a row, or of its ratio. A missed exact goal fails the command."""

    most: float
    of: Literal["value", "ratio"] = "value"
    exact: bool = False

    def met(self, row: Row) -> bool:
        measured = row.ratio if self.of == "ratio" else row.value
        return measured is not None and measured <= self.most

    def __str__(self) -> str:
        if self.exact:
            return f"{self.most:g}"
        return f"{'ratio ' if self.of == 'ratio' else ''}<= {self.most:g}"


GOALS = {
    "render_pool": Goal(5.0),
    "apply_one_pool": Goal(1.2, "ratio"),
    "writes_per_pool": Goal(1.0, "ratio"),
    "restart_1000": Goal(5.0),
    "restart_writes": Goal(0, exact=True),
    "idle_writes": Goal(0, exact=True),
}


def broken(rows: Iterable[Row]) -> list[str]:
    """Names of rows that miss an exact goal: counts do not depend on the speed or load of the machine."""
    return [row.name for row in rows if (goal := GOALS.get(row.name)) and goal.exact and not goal.met(row)]


def document(rows: Iterable[Row]) -> str:
    """The rows as JSON."""
    return json.dumps([asdict(row) | {"ratio": row.ratio} for row in rows], indent=2) + "\n"


def table(rows: Sequence[Row]) -> Table:
    """The rows as a table for people."""
    shown = Table("name", title="kvtier, measured", title_justify="left")
    for column in ("value", "unit", "baseline", "ratio", "goal"):
        shown.add_column(column, justify="left" if column in ("unit", "goal") else "right")
    for row in rows:
        shown.add_row(
            row.name, _number(row.value), row.unit, _number(row.baseline), _number(row.ratio), _goal(row)
        )
    return shown


def _goal(row: Row) -> str:
    goal = GOALS.get(row.name)
    if goal is None:
        return ""
    return f"{goal} [green]met[/]" if goal.met(row) else f"{goal} [red]missed[/]"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"
