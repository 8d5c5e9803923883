"""Shows the demo: a narrative that stays and, on a terminal, below it the scene as it is now."""

import time
from collections.abc import Iterator
from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from testbed.demo_layout import lay_out
from testbed.demo_scene import POOL, Scene

_COLUMNS = 120
_MARGIN = 10  # the width of a time stamp


class View(Protocol):
    """What it takes to tell the story."""

    interactive: bool

    def say(self, text: str, style: str = "") -> None:
        """Tell something that stays; lines after the first are indented."""

    def show(self, scene: Scene, awaited: str) -> None:
        """Show what there is now, and what is waited for."""

    def close(self, leave: bool = False) -> None:
        """Take the scene away, or leave its last state."""


def view(console: Console) -> View:
    """A `Screen` on a terminal that can move its cursor, `Log` elsewhere."""
    return Screen(console) if console.file.isatty() and not console.is_dumb_terminal else Log(console)


class _Narrator:
    """Tells with the time since the start."""

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
    """Redraws the scene in place, and only when it or the second has changed: no flicker."""

    interactive = True

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._shown: tuple[Scene, str, int] | None = None
        self._said_lines = 1  # what was said last stays in sight

    def say(self, text: str, style: str = "") -> None:
        super().say(text, style)
        self._said_lines = 1 + text.count("\n")

    def show(self, scene: Scene, awaited: str) -> None:
        now = (scene, awaited, int(self._elapsed()))
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
    """One line for each change. A condition whose message alone changes is not told again."""

    interactive = False

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._told: dict[tuple[str, str], str] = {}
        self._writes = 0

    def show(self, scene: Scene, awaited: str) -> None:
        for write in scene.writes[self._writes :]:
            self._tell("operator", write)
        self._writes = len(scene.writes)
        self._tell_changes(
            dict(_facts(scene)), {one["type"]: one.get("message", "") for one in scene.conditions}
        )

    def close(self, leave: bool = False) -> None: ...

    def _tell_changes(self, now: dict[tuple[str, str], str], messages: dict[str, str]) -> None:
        for (kind, name), state in now.items():
            if self._told.get((kind, name)) != state:
                message = messages.get(name) if kind == "condition" else None
                self._tell(kind, f"{name}: {state}" + (f": {message}" if message else ""))
        for kind, name in self._told:
            if kind != "condition" and (kind, name) not in now:
                self._tell(kind, f"{name}: gone")
        self._told = now

    def _tell(self, kind: str, text: str) -> None:
        self.say(f"  {kind:<13} {text}")


def _facts(scene: Scene) -> Iterator[tuple[tuple[str, str], str]]:
    for row in scene.rows:
        yield (row.kind, row.name), row.state
    for one in scene.conditions:
        yield ("condition", one["type"]), f"{one['status']} ({one['reason']})"
    if scene.phase:
        yield ("pool", POOL), scene.phase
