"""What is known of one Lustre instance and its operations, and when to ask again."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf

from kvtier.facts.lustre import hints
from kvtier.facts.model import Instance, LustreFacts, Operation

FRESH_SECONDS = 240.0
_SOON_SECONDS = 15.0
_TRUSTED_SECONDS = 3600.0
_KEPT_SECONDS = 3600.0
_MOST_OPERATIONS = 32
"""Of operations that are over; the API forgets request ids after an hour as well."""


@dataclass
class _Kept:
    """`wanted` is when somebody has last asked for it."""

    operation: Operation
    wanted: float


class Memory:
    """Times are in seconds of any clock. `changes` counts what makes an answer that is under way outdated.

    What is published together was true together, with the instance asked for last: an operation is over only
    once the instance has been seen after it. Else a growth, say, would look undone, and be repeated.
    """

    def __init__(self, instance: str, fresh_seconds: float = FRESH_SECONDS) -> None:
        self._fresh_seconds = fresh_seconds
        self.changes = 0
        self.failure: str | None = None
        self._instance: Instance | None = None
        self._error: str | None = hints.asking(instance)
        self._asked = self._seen = -inf
        self._operations: dict[str, _Kept] = {}

    def facts(self) -> LustreFacts:
        operations = {request: kept.operation for request, kept in self._operations.items()}
        return LustreFacts(self._instance, self._error, operations)

    def due(self, now: float) -> bool:
        """Whether the API should be asked: every 15 s while anything moves or fails, else seldom."""
        soon = min(_SOON_SECONDS, self._fresh_seconds)
        return now >= self._asked + (self._fresh_seconds if self._settled() else soon)

    def outdate(self) -> None:
        """Have the API asked at once."""
        self.changes += 1
        self._asked = -inf

    def expect(self, operations: Mapping[str, str], now: float) -> None:
        """Somebody wants to know these: names by request id, empty for a name that is not known."""
        for request, name in operations.items():
            kept = self._operations.get(request)
            if kept:
                kept.wanted = now
            if name and (kept is None or kept.operation.name != name):
                self._operations[request] = _Kept(Operation(name), now)
                self.outdate()

    def note(self, request: str, operation: Operation, now: float) -> None:
        """A request's own answer; a bare Operation while there is none yet."""
        running = replace(operation, done=False) if operation.name else operation
        self._operations[request] = _Kept(running, now)
        if operation != Operation():
            self.outdate()

    def operation(self, request: str, now: float) -> Operation | None:
        kept = self._operations.get(request)
        if kept:
            kept.wanted = now
        return kept.operation if kept else None

    def unfinished(self) -> dict[str, str]:
        """Names by request id of the operations to ask about."""
        kept = {request: one.operation for request, one in self._operations.items()}
        return {request: one.name for request, one in kept.items() if one.name and not one.done}

    def answered(self, instance: Instance | None, polled: Mapping[str, Operation], now: float) -> None:
        """The instance, None if there is none, and after what its operations have been found."""
        self._instance, self._error, self.failure = instance, None, None
        self._asked = self._seen = now
        self._update(polled)
        self._forget(now)

    def failed(self, hint: str, polled: Mapping[str, Operation], now: float, *, final: bool) -> None:
        """No answer about the instance. `final` says that it has nothing to do with the moment.

        That an instance exists stands for an hour then. That it does not never stands: what is made, and what is
        given up, hinges on that.
        """
        self.failure, self._asked = hint, now
        if self._instance and not final and now < self._seen + _TRUSTED_SECONDS:
            self._update({request: one for request, one in polled.items() if not one.done})
            return
        self._instance, self._error = None, hint
        self._update(polled)
        self._forget(now)

    def _settled(self) -> bool:
        moving = any(not kept.operation.done for kept in self._operations.values())
        active = self._instance is not None and self._instance.state == "ACTIVE"
        return active and self.failure is None and not moving

    def _update(self, polled: Mapping[str, Operation]) -> None:
        for request, operation in polled.items():
            kept = self._operations.get(request)
            if kept and kept.operation.name == operation.name:
                kept.operation = operation

    def _forget(self, now: float) -> None:
        """Let go what nobody has asked for in an hour, and of what is over all but the latest."""
        wanted = {
            request: kept for request, kept in self._operations.items() if now < kept.wanted + _KEPT_SECONDS
        }
        over = sorted((kept.wanted, request) for request, kept in wanted.items() if kept.operation.done)
        for _, request in over[:-_MOST_OPERATIONS]:
            del wanted[request]
        self._operations = wanted
