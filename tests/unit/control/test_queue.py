"""The work queue in virtual time: every key runs, with one worker at a time, and again after a failure."""

import asyncio

from kvtier.control.queue import WorkQueue
from unit import virtual_time
from unit.tables import table
from unit.virtual_time import in_virtual_time

Queue = WorkQueue[str]
DEBOUNCE = 0.02


async def nothing_within(queue: Queue, seconds: float) -> bool:
    """Whether no key is returned within some seconds."""
    try:
        async with asyncio.timeout(seconds):
            await queue.get()
    except TimeoutError:
        return True
    return False


async def seconds_until(queue: Queue, key: str) -> float:
    """Seconds until the key is returned, without the debounce."""
    before = virtual_time.now()
    assert await queue.get() == key
    return round(virtual_time.now() - before - DEBOUNCE, 3)


@in_virtual_time
async def test_a_key_that_is_added_many_times_runs_once() -> None:
    queue = Queue(DEBOUNCE)
    for _ in range(10):
        queue.add("a")
    await asyncio.sleep(DEBOUNCE / 2)
    queue.add("a")
    assert await queue.get() == "a"
    assert virtual_time.now() == DEBOUNCE
    queue.done("a")
    assert await nothing_within(queue, 3600)
    assert len(queue) == 0


@in_virtual_time
async def test_keys_are_returned_in_the_order_of_their_addition() -> None:
    queue = Queue(DEBOUNCE)
    for key in ("b", "a", "c"):
        queue.add(key)
    assert [await queue.get() for _ in range(3)] == ["b", "a", "c"]


@in_virtual_time
async def test_a_busy_key_that_is_added_again_runs_exactly_once_more() -> None:
    queue = Queue(DEBOUNCE)
    queue.add("a")
    await queue.get()
    for _ in range(5):
        queue.add("a")
    assert await nothing_within(queue, 3600)
    queue.done("a")
    assert await queue.get() == "a"
    queue.done("a")
    assert await nothing_within(queue, 3600)


@in_virtual_time
async def test_another_key_does_not_wait_for_a_busy_one() -> None:
    queue = Queue(DEBOUNCE)
    queue.add("a")
    await queue.get()
    queue.add("b")
    assert await queue.get() == "b"
    assert len(queue) == 2


@in_virtual_time
async def test_one_worker_at_a_time_runs_a_key_and_no_addition_is_lost() -> None:
    queue = Queue(DEBOUNCE)
    busy: set[str] = set()
    added, seen = dict.fromkeys("abc", 0), dict.fromkeys("abc", 0)

    async def work() -> None:
        while True:
            key = await queue.get()
            assert key not in busy
            busy.add(key)
            seen[key] = added[key]
            await asyncio.sleep(0.05)
            busy.remove(key)
            queue.done(key)

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
    assert seen == added, "a worker saw the last addition of every key"


@in_virtual_time
async def test_the_back_off_of_a_failing_key_doubles_and_a_success_resets_it() -> None:
    queue = Queue(DEBOUNCE)

    async def delays(count: int) -> list[float]:
        found = []
        for _ in range(count):
            queue.done("a", failed=True)
            found.append(await seconds_until(queue, "a"))
        return found

    queue.add("a")
    await queue.get()
    assert await delays(12) == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 300.0]
    assert await delays(30) == [300.0] * 30
    queue.done("a")
    queue.add("a")
    await queue.get()
    assert await delays(2) == [0.2, 0.4]


@in_virtual_time
async def test_failures_of_one_key_do_not_delay_another() -> None:
    queue = Queue(DEBOUNCE)
    for key in ("a", "b"):
        queue.add(key)
        await queue.get()
    queue.done("a", failed=True)
    await queue.get()
    queue.done("a", failed=True)
    queue.done("b", failed=True)
    assert await seconds_until(queue, "b") == 0.2


@table(
    "retry_after, seconds",
    {
        "the delay that the server asks for": (30.0, 30.0),
        "the back-off if that is longer": (0.1, 0.2),
        "the back-off if the server asks for no delay": (None, 0.2),
    },
)
@in_virtual_time
async def test_a_failed_key_runs_again_after(retry_after: float | None, seconds: float) -> None:
    queue = Queue(DEBOUNCE)
    queue.add("a")
    await queue.get()
    queue.done("a", failed=True, retry_after=retry_after)
    assert await seconds_until(queue, "a") == seconds


@table(
    "delays, seconds",
    {
        "a single request counts": ([10.0], 10.0),
        "an earlier one replaces a later one": ([10.0, 5.0], 5.0),
        "a later one does not replace an earlier one": ([5.0, 10.0], 5.0),
        "the earliest of many counts": ([30.0, 5.0, 20.0, 7.0], 5.0),
    },
)
@in_virtual_time
async def test_add_after(delays: list[float], seconds: float) -> None:
    queue = Queue(DEBOUNCE)
    for delay in delays:
        queue.add_after("a", delay)
    assert await seconds_until(queue, "a") == seconds
    queue.done("a")
    assert await nothing_within(queue, 3600), "the other requests were dropped"
    queue.add_after("a", 7.0)
    assert await seconds_until(queue, "a") == 7.0, "a new request is possible"


@in_virtual_time
async def test_a_key_with_a_later_request_can_also_run_now() -> None:
    queue = Queue(DEBOUNCE)
    queue.add_after("a", 100)
    queue.add("a")
    assert await seconds_until(queue, "a") == 0
    queue.done("a")
    await queue.get()
    assert round(virtual_time.now() - DEBOUNCE) == 100
