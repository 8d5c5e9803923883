"""Requests to Google's APIs: one for all pools that need the same answer, which is then cached for a while."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from math import inf
from typing import Any, Generic, TypeVar

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 2.0
"""How long one reconciliation waits for an answer. The next reconciliation then uses it."""

TRUSTED_SECONDS = 3600.0
"""How long an answer stays valid while the API does not respond."""

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """Values by key, each made when it is first asked for. Those that nobody asked for in an hour are dropped."""

    def __init__(self, make: Callable[[Key], Value], clock: Callable[[], float]) -> None:
        self._make = make
        self._clock = clock
        self._values: dict[Key, Value] = {}
        self._asked: dict[Key, float] = {}

    def get(self, key: Key) -> Value:
        """The value of a key."""
        now = self._clock()
        if key not in self._values:
            self._forget(now - TRUSTED_SECONDS)
            self._values[key] = self._make(key)
        self._asked[key] = now
        return self._values[key]

    def _forget(self, since: float) -> None:
        for key in [key for key, asked in self._asked.items() if asked < since]:
            del self._values[key], self._asked[key]


class SingleFlight(Generic[Key]):
    """At most one request per key at a time, shared by all callers that need its answer.

    The request continues for the others when a caller is cancelled or stops waiting.
    """

    def __init__(self, request: Callable[[Key], Coroutine[Any, Any, None]]) -> None:
        self._request = request
        self._running: dict[Key, asyncio.Task[None]] = {}

    async def join(self, key: Key, patience: float | None) -> None:
        """Start the request, or wait for the one in progress, for at most `patience` seconds (None: without limit).

        Raises what the request raises.
        """
        if key not in self._running:
            task = asyncio.create_task(self._request(key))
            task.add_done_callback(lambda _: self._running.pop(key))
            self._running[key] = task
        done, _ = await asyncio.wait({self._running[key]}, timeout=patience)
        for task in done:
            task.result()


@dataclass
class Answer(Generic[Value]):
    """The last answer about one resource. Times are in seconds of any clock.

    `value` is None if the resource does not exist, or if `error` says why it is unknown. `failure`: why the last
    request failed, None if it succeeded. `pending`: no request has succeeded or failed yet.

    During an outage of the API, a value stays valid for an hour, else the conditions of all pools would change. "Does
    not exist" is not kept: kvtier creates and deletes objects because of it.
    """

    failure: str | None
    value: Value | None = None
    asked: float = -inf
    answered: float = -inf
    pending: bool = True

    @property
    def error(self) -> str | None:
        return self.failure if self.value is None else None

    def succeed(self, value: Value | None, now: float) -> None:
        self.value, self.failure, self.pending = value, None, False
        self.asked = self.answered = now

    def fail(self, failure: str, now: float, *, final: bool) -> None:
        """Record a failure, and log a new one. `final`: the failure is about this resource, so it is not an outage."""
        if failure != self.failure:
            logger.warning("%s", failure)
        self.failure, self.asked, self.pending = failure, now, False
        if final or now >= self.answered + TRUSTED_SECONDS:
            self.value = None
