"""Answers of Google's APIs over REST, and what else can become of a request."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Object = dict[str, Any]

_DRIBBLE_SECONDS = 0.02


@dataclass(frozen=True)
class Reply:
    """An answer, byte for byte."""

    status: int
    body: bytes
    content_type: str = "application/json; charset=UTF-8"


@dataclass(frozen=True)
class Drop:
    """The connection closes without an answer."""


@dataclass
class Hold:
    """Requests wait until ``release``, then get the answer that is due.

    ``entered`` is set when the first request waits. With ``trickle`` a request does get bytes all the time,
    so that no read times out, but never a whole answer.
    """

    trickle: bool = False
    entered: threading.Event = field(default_factory=threading.Event)
    _released: threading.Event = field(default_factory=threading.Event)

    def release(self) -> None:
        self._released.set()

    def pause(self, dribble: Callable[[], None]) -> None:
        """For the server: return when released."""
        self.entered.set()
        while not self._released.wait(_DRIBBLE_SECONDS if self.trickle else None):
            dribble()


Fault = Reply | Drop | Hold


@dataclass
class Rule:
    """A fault of the requests that ``matches`` picks, ``times`` times (-1: for good)."""

    fault: Fault
    times: int
    matches: Callable[[Any], bool]


class Rules:
    """Faults are used up in the order in which they were given. The caller sees to the locking."""

    def __init__(self) -> None:
        self._rules: list[Rule] = []
        self._holds: list[Hold] = []

    def add(self, rule: Rule) -> None:
        """From now on."""
        self._rules.append(rule)
        if isinstance(rule.fault, Hold):
            self._holds.append(rule.fault)

    def take(self, call: Any) -> Rule | None:
        """What is wrong with a request, if anything; counts it."""
        for rule in self._rules:
            if rule.times != 0 and rule.matches(call):
                rule.times -= 1
                return rule
        return None

    def remove(self, rule: Rule) -> None:
        """Forget one fault and let the requests go that it holds."""
        if rule in self._rules:
            self._rules.remove(rule)
        if isinstance(rule.fault, Hold):
            rule.fault.release()

    def clear(self) -> None:
        """Forget all faults and let held requests go."""
        self._rules.clear()
        for hold in self._holds:
            hold.release()


def json_reply(document: Object, status: int = 200) -> Reply:
    """A document as an answer."""
    return Reply(status, json.dumps(document).encode())


def error_reply(code: int, status: str, message: str, **fields: Any) -> Reply:
    """An error as Google's APIs write it: ``code`` is the HTTP status, ``status`` the name of the gRPC code."""
    return json_reply({"error": {"code": code, "message": message, "status": status} | fields}, code)
