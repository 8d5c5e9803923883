"""Work while the Lease is held, in virtual time."""

import asyncio
from typing import Any

import pytest

from kvtier.api.kinds import Object, Resource
from kvtier.control.leader import DURATION_SECONDS, RENEW_DEADLINE_SECONDS, RETRY_SECONDS, Election
from kvtier.kube.client import ApiError
from unit import virtual_time
from unit.builders import merged
from unit.memory import MemoryClient


def _candidate(client: MemoryClient, identity: str) -> Election:
    return Election(client, "kvtier", identity, clock=virtual_time.now)


def _holder(client: MemoryClient) -> str:
    return str(client.find("Lease")["spec"]["holderIdentity"])


async def _forever() -> None:
    await asyncio.Event().wait()


def test_a_leader_whose_work_ends_gives_the_lease_back() -> None:
    async def scene() -> None:
        client = MemoryClient()

        async def work() -> None:
            assert _holder(client) == "a"

        await _candidate(client, "a").lead(work)
        assert _holder(client) == ""
        assert await _candidate(client, "b").attempt()

    virtual_time.run(scene())


def test_a_lease_that_somebody_else_holds_by_now_is_not_given_back() -> None:
    async def scene() -> None:
        client = MemoryClient()

        async def work() -> None:
            client.store(merged(client.find("Lease"), {"spec": {"holderIdentity": "b"}}))

        await _candidate(client, "a").lead(work)
        assert _holder(client) == "b"

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


class _Hanging(MemoryClient):
    """Carries everything out, and from a moment on never answers."""

    async def replace(self, resource: Resource, manifest: Object) -> Any:
        written = await super().replace(resource, manifest)
        if virtual_time.now() > 60:
            await _forever()
        return written


def test_a_leader_whose_renewal_hangs_stops_before_its_lease_runs_out() -> None:
    async def scene() -> None:
        client = _Hanging()
        await _candidate(client, "a").lead(_forever)
        assert virtual_time.now() <= 60 + RETRY_SECONDS + RENEW_DEADLINE_SECONDS < 60 + DURATION_SECONDS

    virtual_time.run(scene())


class _Late(MemoryClient):
    """Answers the making of an object long after it was made."""

    async def create(self, resource: Resource, manifest: Object) -> Any:
        written = await super().create(resource, manifest)
        await asyncio.sleep(RENEW_DEADLINE_SECONDS - 1)
        return written


def test_a_lease_counts_from_when_it_was_asked_for() -> None:
    async def scene() -> None:
        client = _Late()
        client.refuse = lambda write: ApiError(0, "No", "no") if write[0] == "replace" else None
        await _candidate(client, "a").lead(_forever)
        assert virtual_time.now() <= RENEW_DEADLINE_SECONDS

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
