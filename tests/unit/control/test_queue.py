"""The work queue: every key is looked at, by one worker at a time."""

import asyncio

from unit import virtual_time
from unit.control.queues import Queue, in_virtual_time, nothing_within


def test_a_key_that_is_added_often_is_looked_at_once() -> None:
    async def scene(queue: Queue) -> None:
        for _ in range(10):
            queue.add("a")
        assert await queue.get() == "a"
        queue.done("a")
        assert await nothing_within(queue, 3600)
        assert len(queue) == 0

    in_virtual_time(scene)


def test_keys_come_in_the_order_in_which_they_were_added() -> None:
    async def scene(queue: Queue) -> None:
        for key in ("b", "a", "c"):
            queue.add(key)
        assert [await queue.get() for _ in range(3)] == ["b", "a", "c"]

    in_virtual_time(scene)


def test_events_that_come_close_together_count_as_one() -> None:
    async def scene(queue: Queue) -> None:
        queue.add("a")
        await asyncio.sleep(0.01)
        queue.add("a")
        assert await queue.get() == "a"
        assert virtual_time.now() == 0.02
        queue.done("a")
        assert await nothing_within(queue, 3600)

    in_virtual_time(scene)


def test_a_key_is_never_worked_on_twice_at_a_time() -> None:
    async def scene(queue: Queue) -> None:
        queue.add("a")
        assert await queue.get() == "a"
        queue.add("a")
        assert await nothing_within(queue, 3600)
        queue.done("a")
        assert await queue.get() == "a"

    in_virtual_time(scene)


def test_a_key_that_is_added_while_it_is_worked_on_runs_once_more_and_not_oftener() -> None:
    async def scene(queue: Queue) -> None:
        queue.add("a")
        await queue.get()
        for _ in range(5):
            queue.add("a")
        queue.done("a")
        assert await queue.get() == "a"
        queue.done("a")
        assert await nothing_within(queue, 3600)

    in_virtual_time(scene)


def test_another_key_does_not_wait_for_a_busy_one() -> None:
    async def scene(queue: Queue) -> None:
        queue.add("a")
        await queue.get()
        queue.add("b")
        assert await queue.get() == "b"
        assert len(queue) == 2

    in_virtual_time(scene)


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

    in_virtual_time(scene)
