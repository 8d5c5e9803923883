"""A keyed work queue: one worker at a time works on a key, and no key is lost."""

import asyncio
from collections import Counter
from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)

_FIRST_BACKOFF_SECONDS = 0.2
_LAST_BACKOFF_SECONDS = 300.0


class WorkQueue(Generic[Key]):
    """Keys to work on. A key is in the queue only once.

    A key that is added while a worker works on it runs once more afterwards. A key that fails returns after a delay
    that doubles from 0.2 s to 5 min. Additions within `debounce` seconds count as one.
    """

    def __init__(self, debounce: float = 0.02) -> None:
        self._debounce = debounce
        self._ready: asyncio.Queue[Key] = asyncio.Queue()
        self._dirty: set[Key] = set()
        self._busy: set[Key] = set()
        self._failures: Counter[Key] = Counter()
        self._later: dict[Key, asyncio.TimerHandle] = {}

    def __len__(self) -> int:
        return len(self._dirty | self._busy)

    def add(self, key: Key) -> None:
        """Queue `key` to run soon."""
        if key in self._dirty:
            return
        self._dirty.add(key)
        if key not in self._busy:
            asyncio.get_running_loop().call_later(self._debounce, self._ready.put_nowait, key)

    def add_after(self, key: Key, seconds: float) -> None:
        """Queue `key` to run after some seconds. Of two requests, the earlier one counts."""
        loop = asyncio.get_running_loop()
        due = loop.time() + seconds
        waiting = self._later.get(key)
        if waiting is not None and waiting.when() <= due:
            return
        if waiting is not None:
            waiting.cancel()
        self._later[key] = loop.call_at(due, self._due, key)

    async def get(self) -> Key:
        """The next key; the caller must call `done`."""
        key = await self._ready.get()
        self._dirty.discard(key)
        self._busy.add(key)
        return key

    def done(self, key: Key, failed: bool = False, retry_after: float | None = None) -> None:
        """Return a key. A failed key runs again after its back-off, or after `retry_after` if that is longer."""
        self._busy.discard(key)
        if key in self._dirty:
            self._ready.put_nowait(key)
        if not failed:
            del self._failures[key]
            return
        backoff = min(_FIRST_BACKOFF_SECONDS * 2 ** min(self._failures[key], 20), _LAST_BACKOFF_SECONDS)
        self._failures[key] += 1
        self.add_after(key, max(backoff, retry_after or 0.0))

    def _due(self, key: Key) -> None:
        del self._later[key]
        self.add(key)
