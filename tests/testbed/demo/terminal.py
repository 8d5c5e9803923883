"""Shows the demo: a narrative that stays and, on a terminal, below it the snapshot as it is now."""

import re
import time
from collections.abc import Iterator
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

    def say(self, text: str, style: str = "") -> None:
        """Say something that stays; lines after the first are indented."""

    def show(self, snapshot: Snapshot, awaited: str) -> None:
        """Show what there is now, and what is waited for."""

    def close(self, leave: bool = False) -> None:
        """Take the snapshot away, or leave its last state."""


def view(console: Console) -> View:
    """A `Screen` on a terminal that can move its cursor, `Log` elsewhere."""
    return Screen(console) if console.file.isatty() and not console.is_dumb_terminal else Log(console)


class _Narrator:
    """Speaks with the time since the start."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._started = time.monotonic()

    def say(self, text: str, style: str = "") -> None:
        stamp = f"{self._elapsed():{_MARGIN - 4}.1f} s  "
        indented = text.replace("\n", "\n" + " " * _MARGIN)
        self._console.print(Text.assemble((stamp, "dim"), (indented, style)), soft_wrap=True)

    def _elapsed(self) -> float:
        return time.monotonic() - self._started


class Screen(_Narrator):
    """Redraws the snapshot in place, and only when it or the second has changed: no flicker."""

    interactive = True

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._shown: tuple[Snapshot, str, int] | None = None
        self._said_lines = 1  # what was said last stays in sight

    def say(self, text: str, style: str = "") -> None:
        super().say(text, style)
        self._said_lines = 1 + text.count("\n")

    def show(self, snapshot: Snapshot, awaited: str) -> None:
        now = (snapshot, awaited, int(self._elapsed()))
        if now == self._shown:
            return
        self._shown = now
        size = self._console.size
        lines = lay_out(*now, min(size.width, _COLUMNS) - 1, size.height - self._said_lines - 1)
        for line in lines:
            line.no_wrap, line.overflow = True, "ellipsis"
        self._live.start()
        self._live.update(Group(*lines), refresh=True)

    def close(self, leave: bool = False) -> None:
        self._live.transient = not leave
        self._live.stop()


class Log(_Narrator):
    """One line for each change. A condition whose message alone changes is not repeated."""

    interactive = False

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._said: dict[tuple[str, str], str] = {}
        self._writes = 0

    def show(self, snapshot: Snapshot, awaited: str) -> None:
        for write in snapshot.writes[self._writes :]:
            self._say_one("operator", write)
        self._writes = len(snapshot.writes)
        self._say_changes(
            dict(_facts(snapshot)), {one["type"]: one.get("message", "") for one in snapshot.conditions}
        )

    def close(self, leave: bool = False) -> None: ...

    def _say_changes(self, now: dict[tuple[str, str], str], messages: dict[str, str]) -> None:
        for (kind, name), state in now.items():
            if self._said.get((kind, name)) != state:
                message = messages.get(name) if kind == "condition" else None
                self._say_one(kind, f"{name}: {state}" + (f": {message}" if message else ""))
        for kind, name in self._said:
            if kind != "condition" and (kind, name) not in now:
                self._say_one(kind, f"{name}: gone")
        self._said = now

    def _say_one(self, kind: str, text: str) -> None:
        self.say(f"  {kind:<13} {text}")


def _facts(snapshot: Snapshot) -> Iterator[tuple[tuple[str, str], str]]:
    for row in snapshot.rows:
        yield (row.kind, row.name), row.state
    for one in snapshot.conditions:
        yield ("condition", one["type"]), f"{one['status']} ({one['reason']})"
    if snapshot.phase:
        yield ("pool", POOL), snapshot.phase


def lay_out(snapshot: Snapshot, awaited: str, seconds: float, width: int, height: int) -> Lines:
    """The most telling lines that fit: the operator's writes give way first, then conditions that hold."""
    head, objects, writes = (
        _head(snapshot, awaited, seconds, width),
        _objects(snapshot.rows),
        _writes(snapshot.writes),
    )
    every, briefly = _conditions(snapshot.conditions, width), _briefly(snapshot.conditions, width)
    choices = [
        head + every + objects + writes,
        head + every + objects,
        head + briefly + objects,
        head + objects,
    ]
    fitting = [lines for lines in choices if len(lines) <= height]
    return (fitting or choices[-1:])[0][: max(height, 1)]


def _head(snapshot: Snapshot, awaited: str, seconds: float, width: int) -> Lines:
    left = Text.assemble(
        (POOL, "bold"), "  ", (snapshot.phase or "gone", _PHASES.get(snapshot.phase, "bold yellow"))
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
