"""Lays a scene out as lines of a terminal: pure, one `Text` for each line, as many as fit."""

import re

from rich.text import Text

from testbed.demo_scene import POOL, Row, Scene
from testbed.kube import Object

_STYLES = {"True": "green", "False": "yellow", "Unknown": "dim"}
_PHASES = {"Ready": "bold green", "Blocked": "bold red", "Degraded": "bold red"}
_WRITES = 4
_MESSAGE_COLUMN = 32
Lines = list[Text]


def lay_out(scene: Scene, awaited: str, seconds: float, width: int, height: int) -> Lines:
    """The most telling lines that fit: the operator's writes give way first, then conditions that hold."""
    head, objects, writes = _head(scene, awaited, seconds, width), _objects(scene.rows), _writes(scene.writes)
    every, briefly = _conditions(scene.conditions, width), _briefly(scene.conditions, width)
    choices = [
        head + every + objects + writes,
        head + every + objects,
        head + briefly + objects,
        head + objects,
    ]
    fitting = [lines for lines in choices if len(lines) <= height]
    return (fitting or choices[-1:])[0][: max(height, 1)]


def _head(scene: Scene, awaited: str, seconds: float, width: int) -> Lines:
    left = Text.assemble(
        (POOL, "bold"), "  ", (scene.phase or "gone", _PHASES.get(scene.phase, "bold yellow"))
    )
    right = f"{int(seconds) // 60}:{int(seconds) % 60:02}"
    left.pad_right(max(2, width - len(left) - len(right)))
    return [Text("─" * width, "dim"), left.append(right, "dim"), Text(f"waiting for {awaited}", "dim")]


def _conditions(conditions: list[Object], width: int) -> Lines:
    return _section("Conditions", [_condition(one, width) for one in conditions])


def _briefly(conditions: list[Object], width: int) -> Lines:
    holding = [one["type"] for one in conditions if one["status"] == "True"]
    rest = [_condition(one, width) for one in conditions if one["status"] != "True"]
    summary = Text(f"  {len(holding)} more are True", "green")
    return _section("Conditions", [*rest, summary] if holding else rest)


def _condition(condition: Object, width: int) -> Text:
    status, message = condition["status"], condition.get("message") or condition["reason"]
    return Text.assemble(
        f"  {condition['type']:<20} ",
        (f"{status:<9}", _STYLES[status]),
        _shortened(message, width - _MESSAGE_COLUMN),
    )


def _shortened(message: str, width: int) -> str:
    """The message in at most `width` characters, cut at the end of a clause where one ends late enough."""
    if len(message) <= width:
        return message
    ends = [found.start() for found in re.finditer("[;:.] ", message[:width]) if found.start() >= width // 3]
    return message[: max(ends, default=width) - 2 * (not ends)].rstrip() + " …"


def _objects(rows: list[Row]) -> Lines:
    return _section("Objects", [_row(row) for row in rows])


def _row(row: Row) -> Text:
    style = "green" if row.settled else "yellow"
    return Text.assemble(f"  {row.kind:<13} ", (f"{row.state:<26} ", style), (row.name, "dim"))


def _writes(writes: list[str]) -> Lines:
    return _section("The operator's last writes", [Text(f"  {one}", "dim") for one in writes[-_WRITES:]])


def _section(title: str, lines: Lines) -> Lines:
    return [Text(), Text(title, "bold"), *lines] if lines else []
