"""Leader election, in virtual time."""

import asyncio
from typing import Any

import pytest

from kvtier.control.leader import DURATION_SECONDS, NAME, RENEW_DEADLINE_SECONDS, RETRY_SECONDS, Election
from kvtier.kube.client import ApiError
from unit import virtual_time
from unit.memory import MemoryClient


def _candidate(client: MemoryClient, identity: str) -> Election:
    return Election(client, "kvtier", identity, clock=virtual_time.now)


def _holder(client: MemoryClient) -> str:
    return str(client.find("Lease")["spec"]["holderIdentity"])


async def _forever() -> None:
    await asyncio.Event().wait()


def test_a_lease_that_is_not_there_is_made() -> None:
    async def scene() -> None:
        client = MemoryClient()
        assert await _candidate(client, "a").attempt()
        lease = client.find("Lease", NAME)
        assert (lease["metadata"]["namespace"], _holder(client)) == ("kvtier", "a")
        assert lease["spec"]["leaseDurationSeconds"] == DURATION_SECONDS

    virtual_time.run(scene())


def test_a_lease_is_renewed_by_its_holder_and_by_nobody_else() -> None:
    async def scene() -> None:
        client = MemoryClient()
        first, second = _candidate(client, "a"), _candidate(client, "b")
        assert await first.attempt()
        for _ in range(20):
            assert not await second.attempt()
            assert await first.attempt()
            await asyncio.sleep(RETRY_SECONDS)
        assert client.find("Lease")["spec"]["leaseTransitions"] == 1

    virtual_time.run(scene())


def test_a_lease_that_is_not_renewed_passes_on_once_it_ran_out_by_the_rival_s_own_clock() -> None:
    async def scene() -> None:
        client = MemoryClient()
        await _candidate(client, "a").attempt()
        rival = _candidate(client, "b")
        assert not await rival.attempt()
        await asyncio.sleep(DURATION_SECONDS)
        assert not await rival.attempt()
        await asyncio.sleep(0.1)
        assert await rival.attempt()
        assert _holder(client) == "b"
        assert client.find("Lease")["spec"]["leaseTransitions"] == 2

    virtual_time.run(scene())


def test_a_rival_that_has_just_started_waits_however_old_the_lease_is() -> None:
    async def scene() -> None:
        client = MemoryClient()
        await _candidate(client, "a").attempt()
        await asyncio.sleep(3600)
        assert not await _candidate(client, "b").attempt()

    virtual_time.run(scene())


def test_of_two_that_write_at_once_one_loses() -> None:
    async def scene() -> None:
        client = MemoryClient()
        candidates = [_candidate(client, name) for name in ("a", "b", "c")]
        won = await asyncio.gather(*[one.attempt() for one in candidates])
        assert won.count(True) == 1

    virtual_time.run(scene())


def test_a_lease_changed_since_it_was_read_is_not_taken() -> None:
    async def scene() -> None:
        client = MemoryClient()
        holder = _candidate(client, "a")
        await holder.attempt()
        lease = dict(client.find("Lease"))
        stale: Any = client.get

        async def late(*_: object) -> Any:
            return lease

        await holder.attempt()
        client.get = late  # type: ignore[method-assign]
        assert not await holder.attempt()
        client.get = stale  # type: ignore[method-assign]
        assert await holder.attempt()

    virtual_time.run(scene())


def test_a_leader_whose_work_ends_gives_the_lease_back() -> None:
    async def scene() -> None:
        client = MemoryClient()

        async def work() -> None:
            assert _holder(client) == "a"

        await _candidate(client, "a").lead(work)
        assert _holder(client) == ""
        assert await _candidate(client, "b").attempt()

    virtual_time.run(scene())


def test_a_leader_that_is_cancelled_ends_its_work_and_gives_the_lease_back() -> None:
    async def scene() -> None:
        client = MemoryClient()
        ended = asyncio.Event()

        async def work() -> None:
            try:
                await _forever()
            finally:
                ended.set()

        leading = asyncio.create_task(_candidate(client, "a").lead(work))
        await asyncio.sleep(60)
        assert _holder(client) == "a"
        leading.cancel()
        await asyncio.gather(leading, return_exceptions=True)
        assert ended.is_set()
        assert _holder(client) == ""

    virtual_time.run(scene())


def test_a_leader_that_cannot_renew_stops_before_its_lease_runs_out_and_leaves_it() -> None:
    async def scene() -> None:
        client = MemoryClient()
        client.refuse = lambda write: ApiError(0, "No", "no") if virtual_time.now() > 60 else None
        await _candidate(client, "a").lead(_forever)
        assert virtual_time.now() <= 60 + RENEW_DEADLINE_SECONDS + RETRY_SECONDS < 60 + DURATION_SECONDS
        assert _holder(client) == "a"

    virtual_time.run(scene())


def test_a_single_failed_renewal_is_no_loss() -> None:
    async def scene() -> None:
        client = MemoryClient()
        client.refuse = lambda write: ApiError(500, "No", "no") if 10 < virtual_time.now() < 15 else None
        leading = asyncio.create_task(_candidate(client, "a").lead(_forever))
        await asyncio.sleep(120)
        assert not leading.done()
        leading.cancel()
        await asyncio.gather(leading, return_exceptions=True)

    virtual_time.run(scene())


def test_a_failure_of_the_work_is_not_swallowed() -> None:
    async def scene() -> None:
        async def work() -> None:
            raise ValueError("broken")

        with pytest.raises(ValueError, match="broken"):
            await _candidate(MemoryClient(), "a").lead(work)

    virtual_time.run(scene())


def test_a_second_replica_takes_over_where_the_first_left_off() -> None:
    async def scene() -> None:
        client = MemoryClient()
        first = asyncio.create_task(_candidate(client, "a").lead(_forever))
        await asyncio.sleep(1)
        second = asyncio.create_task(_candidate(client, "b").lead(_forever))
        await asyncio.sleep(60)
        assert _holder(client) == "a"
        first.cancel()
        await asyncio.sleep(RETRY_SECONDS + 1)
        assert _holder(client) == "b"
        second.cancel()
        await asyncio.gather(first, second, return_exceptions=True)

    virtual_time.run(scene())
