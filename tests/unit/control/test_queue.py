"""The work queue, in virtual time: no test waits for a clock."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from kvtier.control.queue import WorkQueue
from unit import virtual_time
from unit.tables import table

Queue = WorkQueue[str]


def _in_virtual_time(scene: Callable[[Queue], Coroutine[Any, Any, None]]) -> None:
    async def play() -> None:
        await scene(WorkQueue())

    virtual_time.run(play())


async def _nothing_within(queue: Queue, seconds: float) -> bool:
    """Whether no key comes for a while."""
    try:
        async with asyncio.timeout(seconds):
            await queue.get()
    except TimeoutError:
        return True
    return False


def test_a_key_that_is_added_often_is_looked_at_once() -> None:
    async def scene(queue: Queue) -> None:
        for _ in range(10):
            queue.add("a")
        assert await queue.get() == "a"
        queue.done("a")
        assert await _nothing_within(queue, 3600)
        assert len(queue) == 0

    _in_virtual_time(scene)


def test_keys_come_in_the_order_in_which_they_were_added() -> None:
    async def scene(queue: Queue) -> None:
        for key in ("b", "a", "c"):
            queue.add(key)
        assert [await queue.get() for _ in range(3)] == ["b", "a", "c"]

    _in_virtual_time(scene)


def test_events_that_come_close_together_count_as_one() -> None:
    async def scene(queue: Queue) -> None:
        queue.add("a")
        await asyncio.sleep(0.01)
        queue.add("a")
        assert await queue.get() == "a"
        assert virtual_time.now() == 0.02
        queue.done("a")
        assert await _nothing_within(queue, 3600)

    _in_virtual_time(scene)


def test_a_key_is_never_worked_on_twice_at_a_time() -> None:
    async def scene(queue: Queue) -> None:
        queue.add("a")
        assert await queue.get() == "a"
        queue.add("a")
        assert await _nothing_within(queue, 3600)
        queue.done("a")
        assert await queue.get() == "a"

    _in_virtual_time(scene)


def test_a_key_that_is_added_while_it_is_worked_on_runs_once_more_and_not_oftener() -> None:
    async def scene(queue: Queue) -> None:
        queue.add("a")
        await queue.get()
        for _ in range(5):
            queue.add("a")
        queue.done("a")
        assert await queue.get() == "a"
        queue.done("a")
        assert await _nothing_within(queue, 3600)

    _in_virtual_time(scene)


def test_another_key_does_not_wait_for_a_busy_one() -> None:
    async def scene(queue: Queue) -> None:
        queue.add("a")
        await queue.get()
        queue.add("b")
        assert await queue.get() == "b"
        assert len(queue) == 2

    _in_virtual_time(scene)


def test_many_workers_work_on_each_key_alone_and_on_every_addition() -> None:
    async def scene(queue: Queue) -> None:
        busy: set[str] = set()
        seen: dict[str, int] = dict.fromkeys("abc", 0)

        async def work() -> None:
            while True:
                key = await queue.get()
                assert key not in busy
                busy.add(key)
                seen[key] = added[key]
                await asyncio.sleep(0.05)
                busy.remove(key)
                queue.done(key)

        added = dict.fromkeys("abc", 0)
        async with asyncio.TaskGroup() as group:
            workers = [group.create_task(work()) for _ in range(4)]
            for step in range(300):
                key = "abc"[step % 3]
                added[key] += 1
                queue.add(key)
                await asyncio.sleep(0.013)
            await asyncio.sleep(1)
            for worker in workers:
                worker.cancel()
        assert seen == added, "the last addition of every key was looked at"

    _in_virtual_time(scene)


def test_a_key_that_fails_returns_later_and_later_and_a_success_forgets_it() -> None:
    async def scene(queue: Queue) -> None:
        async def gaps(count: int) -> list[float]:
            found = []
            for _ in range(count):
                before = virtual_time.now()
                queue.done("a", failed=True)
                await queue.get()
                found.append(round(virtual_time.now() - before - 0.02, 3))
            return found

        queue.add("a")
        await queue.get()
        assert await gaps(12) == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 300.0]
        assert await gaps(30) == [300.0] * 30
        queue.done("a")
        queue.add("a")
        await queue.get()
        assert await gaps(2) == [0.2, 0.4]

    _in_virtual_time(scene)


def test_failures_of_one_key_do_not_slow_another() -> None:
    async def scene(queue: Queue) -> None:
        for key in ("a", "b"):
            queue.add(key)
            await queue.get()
        queue.done("a", failed=True)
        await queue.get()
        queue.done("a", failed=True)
        start = virtual_time.now()
        queue.done("b", failed=True)
        assert await queue.get() == "b"
        assert round(virtual_time.now() - start, 3) == 0.22

    _in_virtual_time(scene)


@table(
    "retry_after, gap",
    {
        "a delay that the server asks for is kept": (30.0, 30.0),
        "a shorter one than the back-off is not": (0.1, 0.2),
        "none is asked for": (None, 0.2),
    },
)
def test_retry_after(retry_after: float | None, gap: float) -> None:
    async def scene(queue: Queue) -> None:
        queue.add("a")
        await queue.get()
        before = virtual_time.now()
        queue.done("a", failed=True, retry_after=retry_after)
        await queue.get()
        assert round(virtual_time.now() - before - 0.02, 3) == gap

    _in_virtual_time(scene)


@table(
    "delays, due",
    {
        "one wish holds": ([10.0], 10.0),
        "an earlier wish replaces a later one": ([10.0, 5.0], 5.0),
        "a later wish does not replace an earlier one": ([5.0, 10.0], 5.0),
        "the earliest of many holds": ([30.0, 5.0, 20.0, 7.0], 5.0),
    },
)
def test_add_after(delays: list[float], due: float) -> None:
    async def scene(queue: Queue) -> None:
        for delay in delays:
            queue.add_after("a", delay)
        assert await queue.get() == "a"
        assert round(virtual_time.now() - 0.02, 3) == due
        queue.done("a")
        assert await _nothing_within(queue, 3600), "the other wishes are gone"

    _in_virtual_time(scene)


def test_a_wish_for_later_does_not_keep_a_key_from_being_looked_at_now() -> None:
    async def scene(queue: Queue) -> None:
        queue.add_after("a", 100)
        queue.add("a")
        await queue.get()
        assert virtual_time.now() < 1
        queue.done("a")
        await queue.get()
        assert round(virtual_time.now(), 2) == 100.02

    _in_virtual_time(scene)


def test_after_a_wish_came_due_there_can_be_another() -> None:
    async def scene(queue: Queue) -> None:
        for expected in (5, 10):
            queue.add_after("a", 5)
            await queue.get()
            queue.done("a")
            assert int(virtual_time.now()) == expected

    _in_virtual_time(scene)
