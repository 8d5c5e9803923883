"""Shows the demo where there is no terminal: a line per event, or with `--verbose` a line per change."""

from collections.abc import Iterator

from rich.console import Console

from testbed.demo.snapshot import POOL, Row, Snapshot
from testbed.demo.terminal import Narrator, shortened

_MESSAGE_WIDTH = 160
_SHOWN_WHEN_SETTLED = ("PVC", "Job", "Node", "Deployment")
Event = tuple[str, str]
"""A kind, and what happened."""


class Log(Narrator):
    """One line per event that matters."""

    interactive = False
    verbose = False

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._before: Snapshot | None = None

    def show(self, snapshot: Snapshot, awaited: str) -> None:
        for kind, text in events(self._before, snapshot):
            self.say(f"  {kind:<13} {text}")
        self._before = snapshot

    def close(self, leave: bool = False) -> None: ...


class VerboseLog(Log):
    """One line per change of an object or a condition. A message that alone changes is not repeated."""

    verbose = True

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._said: dict[Event, str] = {}
        self._writes = 0

    def show(self, snapshot: Snapshot, awaited: str) -> None:
        for write in snapshot.writes[self._writes :]:
            self._say_one("operator", write)
        self._writes = len(snapshot.writes)
        self._say_changes(
            dict(_facts(snapshot)), {one["type"]: one.get("message", "") for one in snapshot.conditions}
        )

    def _say_changes(self, now: dict[Event, str], messages: dict[str, str]) -> None:
        for (kind, name), state in now.items():
            if self._said.get((kind, name)) != state:
                message = messages.get(name) if kind == "condition" else None
                self._say_one(kind, f"{name}: {state}" + (f": {message}" if message else ""))
        for kind, name in self._said:
            if kind != "condition" and (kind, name) not in now:
                self._say_one(kind, f"{name}: deleted")
        self._said = now

    def _say_one(self, kind: str, text: str) -> None:
        self.say(f"  {kind:<13} {text}")


def events(before: Snapshot | None, now: Snapshot) -> Iterator[Event]:
    """What happened between two snapshots: objects created, storage bound, Pods and nodes ready, the pool's phase.

    Deletions are not listed: the walkthrough reports them together.
    """
    applied = now.writes[len(before.writes) if before else 0 :]
    kinds = [write.split()[1] for write in applied if write.startswith("Applied ")]
    if kinds:
        yield "operator", f"Applied {', '.join(kinds)}"
    rows = set(before.rows if before else ())
    yield from (
        (row.kind, f"{row.name}: {row.state}") for row in now.rows if row not in rows and _matters(row)
    )
    if now.gone and before and not before.gone:
        yield "pool", f"{POOL}: deleted"
    elif _pool(now) != (_pool(before) if before else None):
        yield from _described(now)


def _matters(row: Row) -> bool:
    """Whether a state is an event: it is what was waited for, or a resize has started."""
    return (row.kind in _SHOWN_WHEN_SETTLED and row.settled) or "->" in row.state


def _pool(snapshot: Snapshot) -> tuple[str, ...]:
    ready = _ready(snapshot)
    return (snapshot.phase, ready["status"], ready["reason"]) if ready else ()


def _described(snapshot: Snapshot) -> Iterator[Event]:
    ready = _ready(snapshot)
    if ready:
        message = shortened(ready.get("message", ""), _MESSAGE_WIDTH)
        yield "pool", f"{snapshot.phase}. Ready is {ready['status']} ({ready['reason']}): {message}"


def _ready(snapshot: Snapshot) -> dict[str, str] | None:
    return next((one for one in snapshot.conditions if one["type"] == "Ready"), None)


def _facts(snapshot: Snapshot) -> Iterator[tuple[Event, str]]:
    for row in snapshot.rows:
        yield (row.kind, row.name), row.state
    for one in snapshot.conditions:
        yield ("condition", one["type"]), f"{one['status']} ({one['reason']})"
    if snapshot.phase:
        yield ("pool", POOL), snapshot.phase
