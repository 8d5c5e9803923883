"""The page of all messages: what it consists of, read from the source, and what messages look like in tests.

Run with `-p unit.messages --messages FILE` (`make messages`), pytest writes the page from the messages that the unit
tests have seen. `test_messages.py` holds it against the source.
"""

import ast
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import yaml

from kvtier.api import conditions
from kvtier.api.conditions import Condition
from kvtier.plan.events import PoolEvent

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "operator" / "kvtier"
PAGE = ROOT / "docs" / "reference" / "messages.md"
_ROOMS = ("checks", "control", "engines", "facts", "gcp", "plan", "sizing")
_ELSEWHERE = {
    "plan/offline.py",
    "plan/model_sizes.py",
    "plan/templates/fetch_adapters.py",
    "sizing/chunks.py",
    "sizing/models.py",
    "sizing/suggestions.py",
}
"""What `kvtier render` and an init container print, and fields of the status that are no messages."""
_WORDS = re.compile(r"[A-Za-z]+")
_TYPES = [value for name, value in vars(conditions).items() if name.isupper() and isinstance(value, str)]
_EVENT = "Event"


@dataclass(frozen=True, order=True)
class Row:
    """A message as people see it. `of` is the type of a condition, or _EVENT; `status` that of either."""

    of: str
    reason: str
    status: str
    message: str

    def line(self) -> str:
        """The row on the page."""
        message = self.message.replace("<", "\\<")
        return f"- {self.status}, `{self.reason}`: {message}"


@dataclass(frozen=True)
class Sentence:
    """A text of the source that becomes a message or the beginning of one; `{}` stands for a value."""

    place: str
    text: str
    pattern: re.Pattern[str] = field(compare=False)

    def is_in(self, message: str) -> bool:
        """Whether a message contains the text. The pattern is slow on long messages, so fixed parts come first."""
        return all(part in message for part in self.text.split("{}")) and bool(self.pattern.search(message))


_NO_MESSAGES = {
    "KV cache of {}/{}, made by kvtier",  # the description of a Lustre instance
    "Unable to attach or mount volumes",  # begins a message of the kubelet
}


@cache
def sentences() -> tuple[Sentence, ...]:
    """Every text in the source that begins as a sentence does, apart from docstrings, exceptions and logs."""
    files = [path for room in _ROOMS for path in sorted((SOURCE / room).rglob("*.py"))]
    return tuple(
        Sentence(f"{path.relative_to(SOURCE)}:{line}", text, _pattern(text))
        for path in files
        if str(path.relative_to(SOURCE)) not in _ELSEWHERE
        for line, text in _texts(ast.parse(path.read_text()))
        if (text[0].isupper() or text.startswith(("{}", "kvtier "))) and text not in _NO_MESSAGES
    )


def _texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and text of every string of at least three words, with `{}` for each value in it."""
    if _silent(tree):
        return
    if isinstance(tree, ast.JoinedStr | ast.Constant):
        text = _text(tree)
        if len(_WORDS.findall(text)) >= 3 and " " in text.strip() and "(?" not in text:
            yield tree.lineno, text
        return
    for child in ast.iter_child_nodes(tree):
        yield from _texts(child)


def _text(node: ast.JoinedStr | ast.Constant) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)


def _silent(node: ast.AST) -> bool:
    """Docstrings, exceptions and logs."""
    documents = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    logs = isinstance(node, ast.Call) and ast.unparse(node.func).startswith("logger.")
    return documents or logs or isinstance(node, ast.Raise)


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(".+?".join(re.escape(part) for part in text.split("{}")))


def rows(seen: set[Row]) -> list[Row]:
    """A row for each type, status and reason, and more where these have other sentences. Short ones come first.

    Only messages with a sentence of the source: others are made up by tests.
    """
    chosen, said = [], set[Any]()
    for row in sorted(seen, key=_rank):
        own = {one for one in sentences() if one.is_in(row.message)}
        new = own | {(row.of, row.status, row.reason)}
        if own and not new <= said:
            chosen.append(row)
            said |= new
    return chosen


def _rank(row: Row) -> tuple[Any, ...]:
    return [*_TYPES, _EVENT].index(row.of), row.status, row.reason, len(row.message), row.message


_INTRODUCTION = """\
# Messages

Every message that kvtier writes into the status of a pool, as an Event, or as the reason why the API server refuses a
pool, with sample values. Generated from the unit tests by `make messages`; do not edit. What to do about each reason
stands in the [runbook](../runbook.md).
"""


def page(chosen: list[Row]) -> str:
    """The whole page."""
    titles = {of: f"### {of}" for of in _TYPES} | {_EVENT: "## Events that no condition repeats"}
    parts = [_INTRODUCTION, "## Conditions\n"]
    for of, title in titles.items():
        parts.append("\n".join([f"{title}\n", *(row.line() for row in chosen if row.of == of), ""]))
    return "\n".join([*parts, "## Refusals of the API server\n", *refusals(), ""])


def refusals() -> list[str]:
    """The rules of the CRD, by field."""
    crd = yaml.safe_load((ROOT / "crds" / "kvtier.dev_kvcachepools.yaml").read_text())
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return [f"- `{where}`: {message}" for where, message in _rules(schema, "")]


def _rules(schema: Any, where: str) -> Iterator[tuple[str, str]]:
    yield from (
        (where or "KVCachePool", rule["message"]) for rule in schema.get("x-kubernetes-validations", [])
    )
    for name, below in schema.get("properties", {}).items():
        yield from _rules(below, f"{where}.{name}".lstrip("."))
    if "items" in schema:
        yield from _rules(schema["items"], f"{where}[]")


_LONGEST = 2000
"""Longer messages repeat what tests made up."""
_RELAYED = re.compile(rf"({'|'.join(_TYPES)}): ")
"""Begins a message of Ready, or an Event, that repeats the message of another condition."""


class Recorder:
    """Notes every condition and Event that kvtier's own code makes while tests run."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: set[Row] = set()
        self._generated = False

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Values that hypothesis generates are no samples."""
        self._generated = hasattr(getattr(item, "obj", None), "hypothesis")

    def note(self, made: Condition | PoolEvent) -> None:
        """A condition or Event that kvtier's own code has made, unless it repeats another condition."""
        frame: FrameType | None = sys._getframe(2)
        while frame and frame.f_code.co_filename == conditions.__file__:
            frame = frame.f_back
        if self._generated or frame is None or not frame.f_code.co_filename.startswith(str(SOURCE)):
            return
        of, status = (made.type, made.status) if isinstance(made, Condition) else (_EVENT, made.type)
        if len(made.message) <= _LONGEST and not _RELAYED.match(made.message):
            self._seen.add(Row(of, made.reason, status, made.message))

    def pytest_sessionfinish(self) -> None:
        """Write the page. An Event that repeats the message of a condition is left out."""
        repeated = {row.message for row in self._seen if row.of in _TYPES}
        seen = {row for row in self._seen if row.of != _EVENT or row.message not in repeated}
        self._path.write_text(page(rows(seen)))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--messages", type=Path, help="write the page of all messages there")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--messages")
    if path is not None:
        recorder = Recorder(path)
        config.pluginmanager.register(recorder)
        for kind in (Condition, PoolEvent):
            _record(kind, recorder.note)


def _record(kind: Any, note: Callable[[Any], None]) -> None:
    """Have every object of a kind noted when it is made."""
    make = kind.__init__

    def noting(self: Any, *args: Any, **values: Any) -> None:
        make(self, *args, **values)
        note(self)

    kind.__init__ = noting
