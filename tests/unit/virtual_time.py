"""An event loop whose clock jumps to the next timer, so that a test of minutes takes milliseconds."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec

Arguments = ParamSpec("Arguments")


class _Selector(selectors.DefaultSelector):
    """Returns at once, and moves the clock by the timeout."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("every task waits, and no timer is set: the test would hang")
        if not ready:
            self.now += timeout or 0.0
        return ready


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now


def in_virtual_time(
    test: Callable[Arguments, Coroutine[Any, Any, None]],
) -> Callable[Arguments, None]:
    """Run a test in virtual time. A failed callback fails the test."""

    @wraps(test)
    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        failed: list[dict[str, Any]] = []
        with asyncio.Runner(loop_factory=_Loop) as runner:
            runner.get_loop().set_exception_handler(lambda _, context: failed.append(context))
            runner.run(test(*args, **kwargs))
        assert failed == []

    return run


def now() -> float:
    """Virtual seconds since the loop started."""
    return asyncio.get_running_loop().time()
