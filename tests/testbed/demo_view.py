"""Shows the demo: a narrative that stays, and below it, on a terminal, the scene as it is now."""

import time
from collections.abc import Iterable
from typing import Protocol, Self

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from testbed.demo_scene import Row, Scene

_COLUMNS = 120
_STATUS_STYLES = {"True": "green", "False": "yellow", "Unknown": "dim"}
_WRITES_SHOWN = 4


class View(Protocol):
    """What the story needs to be told."""

    interactive: bool

    def say(self, text: str, style: str = "") -> None:
        """Tell something that stays; lines after the first are indented."""

    def show(self, scene: Scene, awaited: str) -> None:
        """Show the present state, and what is waited for."""

    def close(self) -> None:
        """Show nothing that changes any more."""


def view(console: Console) -> View:
    """A `Screen` on a terminal, `Lines` elsewhere."""
    return Screen(console) if console.is_terminal else Lines(console)


class _Narrator:
    """Tells with the time since the start."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._started = time.monotonic()

    def say(self, text: str, style: str = "") -> None:
        self._line(text.replace("\n", "\n" + " " * 10), style)

    def _line(self, text: str, style: str = "") -> None:
        stamped = Text.assemble((f"{self._elapsed():6.1f} s  ", "dim"), (text, style))
        self._console.print(stamped, soft_wrap=True)

    def _elapsed(self) -> float:
        return time.monotonic() - self._started


class Lines(_Narrator):
    """One line for each change: for logs. A condition whose message alone changes is not told again."""

    interactive = False

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._told: dict[tuple[str, str], str] = {}

    def show(self, scene: Scene, awaited: str) -> None:
        now = dict(_facts(scene))
        for key, state in now.items():
            if self._told.get(key) != state:
                self._tell(*key, scene_text(scene, key, state))
        for key in self._told.keys() - now.keys():
            self._tell(*key, "gone")
        self._told = now

    def close(self) -> None: ...
