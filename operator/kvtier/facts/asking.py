"""How Google's APIs are asked: once for all pools that want the same answer, which is then kept for a while."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from math import inf
from typing import Any, Generic, TypeVar

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 2.0
"""How long one look at a pool waits for an answer before it leaves that to the next look."""

TRUSTED_SECONDS = 3600.0
"""How long an answer is relied on while the API has an outage."""

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class SingleFlight(Generic[Key]):
    """At most one request per key at a time, shared by all who need its answer.

    A caller that is cancelled, or no longer wants to wait, leaves the request to the others.
    """

    def __init__(self, request: Callable[[Key], Coroutine[Any, Any, None]]) -> None:
        self._request = request
        self._running: dict[Key, asyncio.Task[None]] = {}

    async def join(self, key: Key, patience: float | None) -> None:
        """Start the request or join the one that runs; return when it ends, at the latest after `patience` seconds.

        None waits for as long as it takes. Raises what the request raises.
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
    """The last answer about one thing. Times are in seconds of any clock.

    `value` is None when the thing does not exist, and when `error` says why that is not known. `failure` is why
    the last request failed, None if it did not. `pending`: there has been no answer yet, and no failure.

    An outage of the API does not undo a value for an hour: else every pool's conditions would change with it.
    That a thing does not exist is never kept: what is made, and what is given up, depends on it.
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
        """`final` says that the failure is about this very thing, so that it is no outage. Logged when it is new."""
        if failure != self.failure:
            logger.warning("%s", failure)
        self.failure, self.asked, self.pending = failure, now, False
        if final or now >= self.answered + TRUSTED_SECONDS:
            self.value = None
