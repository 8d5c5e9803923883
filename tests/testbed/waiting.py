"""Waiting for a condition, with a deadline and a message that says what was missing."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

POLL_SECONDS = 0.05


def eventually(
    condition: Callable[[], T], timeout: float = 20.0, what: str = "", poll: float = POLL_SECONDS
) -> T:
    """Return the first truthy value of ``condition``.

    An ``AssertionError`` counts as "not yet", so plain asserts can be repeated until they hold.
    After ``timeout`` seconds an ``AssertionError`` carries the last value or failure.
    """
    deadline = time.monotonic() + timeout
    while True:
        try:
            value = condition()
            if value:
                return value
            last: object = value
        except AssertionError as error:
            last = error
        if time.monotonic() > deadline:
            name = what or getattr(condition, "__name__", "condition")
            raise AssertionError(f"not within {timeout:g} s: {name}; last: {last!r}")
        time.sleep(poll)
