"""Shows the demo in a terminal: a narrative that stays and, below it, the snapshot as it is now."""

import re
import time
from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from testbed.demo.snapshot import POOL, Row, Snapshot
from testbed.kube import Object

_COLUMNS = 120
_MARGIN = 10  # the width of a time stamp
_STYLES = {"True": "green", "False": "yellow", "Unknown": "dim"}
_PHASES = {"Ready": "bold green", "Blocked": "bold red", "Degraded": "bold red"}
_WRITES = 4
_MESSAGE_COLUMN = 32
Lines = list[Text]


class View(Protocol):
    """What the walkthrough needs to show itself."""

    interactive: bool
    verbose: bool

    def say(self, text: str, style: str = "") -> None:
        """Print something that stays; lines after the first are indented."""

    def show(self, snapshot: Snapshot, awaited: str) -> None:
        """Show the present state, and what the walkthrough waits for."""

    def close(self, leave: bool = False) -> None:
        """Remove the snapshot, or leave its last state."""


class Narrator:
    """Prints lines with the time since the start."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._started = time.monotonic()

    def say(self, text: str, style: str = "") -> None:
        stamp = f"{self._elapsed():{_MARGIN - 4}.1f} s  "
        indented = text.replace("\n", "\n" + " " * _MARGIN)
        self._console.print(Text.assemble((stamp, "dim"), (indented, style)), soft_wrap=True)

    def _elapsed(self) -> float:
        return time.monotonic() - self._started


class Screen(Narrator):
    """Redraws the snapshot in place when it has changed, and every second; more often would flicker."""

    interactive = True

    def __init__(self, console: Console, verbose: bool) -> None:
        super().__init__(console)
        self.verbose = verbose
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._shown: tuple[Snapshot, str, int] | None = None
        self._said_lines = 1  # the last narrative stays visible

    def say(self, text: str, style: str = "") -> None:
        super().say(text, style)
        self._said_lines = 1 + text.count("\n")

    def show(self, snapshot: Snapshot, awaited: str) -> None:
        now = (snapshot, awaited, int(self._elapsed()))
        if now == self._shown:
            return
        self._shown = now
        size = self._console.size
        width, height = min(size.width, _COLUMNS) - 1, size.height - self._said_lines - 1
        lines = lay_out(*now, width, height, verbose=self.verbose)
        for line in lines:
            line.no_wrap, line.overflow = True, "ellipsis"
        self._live.start()
        self._live.update(Group(*lines), refresh=True)

    def close(self, leave: bool = False) -> None:
        self._live.transient = not leave
        self._live.stop()


def lay_out(
    snapshot: Snapshot, awaited: str, seconds: float, width: int, height: int, *, verbose: bool
) -> Lines:
    """The most important lines that fit. `verbose` adds the operator's writes and the conditions that are True."""
    head, objects, writes = (
        _head(snapshot, awaited, seconds, width),
        _objects(snapshot.rows),
        _writes(snapshot.writes),
    )
    every, briefly = _conditions(snapshot.conditions, width), _briefly(snapshot.conditions, width)
    if verbose:
        choices = [head + every + objects + writes, head + every + objects, head + briefly + objects]
    else:
        choices = [head + _readiness(snapshot.conditions, width) + objects]
    fitting = [lines for lines in (*choices, head + objects) if len(lines) <= height]
    return (fitting or [head + objects])[0][: max(height, 1)]


def _head(snapshot: Snapshot, awaited: str, seconds: float, width: int) -> Lines:
    left = Text.assemble(
        (POOL, "bold"), "  ", (snapshot.phase or "deleted", _PHASES.get(snapshot.phase, "bold yellow"))
    )
    right = f"{int(seconds) // 60}:{int(seconds) % 60:02}"
    left.pad_right(max(2, width - len(left) - len(right)))
    return [Text("─" * width, "dim"), left.append(right, "dim"), Text(f"waiting for {awaited}", "dim")]


def _readiness(conditions: list[Object], width: int) -> Lines:
    """The condition Ready, which repeats the most important of the others."""
    return [Text(), *(_condition(one, width) for one in conditions if one["type"] == "Ready")]


def _conditions(conditions: list[Object], width: int) -> Lines:
    return _section("Conditions", [_condition(one, width) for one in conditions])


def _briefly(conditions: list[Object], width: int) -> Lines:
    holding = [one["type"] for one in conditions if one["status"] == "True"]
    rest = [_condition(one, width) for one in conditions if one["status"] != "True"]
    summary = Text(f"  {len(holding)} conditions are True", "green")
    return _section("Conditions", [*rest, summary] if holding else rest)


def _condition(condition: Object, width: int) -> Text:
    status, message = condition["status"], condition.get("message") or condition["reason"]
    return Text.assemble(
        f"  {condition['type']:<20} ",
        (f"{status:<9}", _STYLES[status]),
        shortened(message, width - _MESSAGE_COLUMN),
    )


def shortened(message: str, width: int) -> str:
    """The message in at most `width` characters, cut at the end of a clause if one ends in the last two thirds."""
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
