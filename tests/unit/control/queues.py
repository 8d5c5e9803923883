"""A work queue in virtual time."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from kvtier.control.queue import WorkQueue
from unit import virtual_time

Queue = WorkQueue[str]


def in_virtual_time(scene: Callable[[Queue], Coroutine[Any, Any, None]]) -> None:
    async def play() -> None:
        await scene(WorkQueue())

    virtual_time.run(play())


async def nothing_within(queue: Queue, seconds: float) -> bool:
    """Whether no key comes for a while."""
    try:
        async with asyncio.timeout(seconds):
            await queue.get()
    except TimeoutError:
        return True
    return False
