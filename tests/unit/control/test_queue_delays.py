"""The work queue's back-off and wishes for later."""

from unit import virtual_time
from unit.control.queues import Queue, in_virtual_time, nothing_within
from unit.tables import table


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

    in_virtual_time(scene)


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

    in_virtual_time(scene)


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

    in_virtual_time(scene)


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
        assert await nothing_within(queue, 3600), "the other wishes are gone"

    in_virtual_time(scene)


def test_a_wish_for_later_does_not_keep_a_key_from_being_looked_at_now() -> None:
    async def scene(queue: Queue) -> None:
        queue.add_after("a", 100)
        queue.add("a")
        await queue.get()
        assert virtual_time.now() < 1
        queue.done("a")
        await queue.get()
        assert round(virtual_time.now(), 2) == 100.02

    in_virtual_time(scene)


def test_after_a_wish_came_due_there_can_be_another() -> None:
    async def scene(queue: Queue) -> None:
        for expected in (5, 10):
            queue.add_after("a", 5)
            await queue.get()
            queue.done("a")
            assert int(virtual_time.now()) == expected

    in_virtual_time(scene)
