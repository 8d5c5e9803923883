"""Leader election in virtual time: who takes the Lease and when, and the work while it is held."""

import asyncio
from typing import Any

import pytest

from kvtier.api.kinds import Object, Resource
from kvtier.control.leader import (
    DURATION_SECONDS,
    NAME,
    RENEW_DEADLINE_SECONDS,
    RETRY_SECONDS,
    Election,
)
from kvtier.kube.client import ApiError
from unit import virtual_time
from unit.builders import merged
from unit.memory import MemoryClient
from unit.virtual_time import in_virtual_time


def _candidate(client: MemoryClient, identity: str) -> Election:
    return Election(client, "kvtier", identity, clock=virtual_time.now)


def _lease(client: MemoryClient) -> Any:
    return client.find("Lease", NAME)["spec"]


def _holder(client: MemoryClient) -> str:
    return str(_lease(client)["holderIdentity"])


async def _forever() -> None:
    await asyncio.Event().wait()


async def _cancel(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@in_virtual_time
async def test_a_missing_lease_is_created() -> None:
    client = MemoryClient()
    assert await _candidate(client, "a").attempt()
    assert client.find("Lease", NAME)["metadata"]["namespace"] == "kvtier"
    assert _holder(client) == "a"
    assert _lease(client)["leaseDurationSeconds"] == DURATION_SECONDS


@in_virtual_time
async def test_only_the_holder_renews_a_lease() -> None:
    client = MemoryClient()
    first, second = _candidate(client, "a"), _candidate(client, "b")
    assert await first.attempt()
    acquired = _lease(client)["acquireTime"]
    for _ in range(20):
        assert not await second.attempt()
        assert await first.attempt()
        await asyncio.sleep(RETRY_SECONDS)
    assert _lease(client)["leaseTransitions"] == 1
    assert _lease(client)["acquireTime"] == acquired, "a renewal is not an acquisition"


@in_virtual_time
async def test_a_rival_takes_a_lease_that_has_expired_by_its_own_clock() -> None:
    client = MemoryClient()
    await _candidate(client, "a").attempt()
    await asyncio.sleep(3600)
    rival = _candidate(client, "b")
    assert not await rival.attempt(), "it has just started; the age of the Lease does not count"
    await asyncio.sleep(DURATION_SECONDS)
    assert not await rival.attempt()
    await asyncio.sleep(0.1)
    assert await rival.attempt()
    assert _holder(client) == "b"
    assert _lease(client)["leaseTransitions"] == 2
    assert _lease(client)["acquireTime"] == _lease(client)["renewTime"], "it is acquired now"


@in_virtual_time
async def test_one_of_several_concurrent_candidates_wins() -> None:
    client = MemoryClient()
    won = await asyncio.gather(*[_candidate(client, name).attempt() for name in ("a", "b", "c")])
    assert won.count(True) == 1


class _Changed(MemoryClient):
    """A client with a Lease that another client changes right after each read."""

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Any:
        lease = await super().get(resource, namespace, name)
        if lease is not None:
            self.store(merged(lease, {"metadata": {"resourceVersion": "newer"}}))
        return lease


@in_virtual_time
async def test_a_lease_that_changed_after_the_read_is_not_taken() -> None:
    candidate = _candidate(_Changed(), "a")
    assert await candidate.attempt(), "a new Lease has no holder"
    assert not await candidate.attempt()


@in_virtual_time
async def test_a_leader_releases_the_lease_when_its_work_ends() -> None:
    client = MemoryClient()

    async def work() -> None:
        assert _holder(client) == "a"

    await _candidate(client, "a").lead(work)
    assert _holder(client) == ""
    assert await _candidate(client, "b").attempt()


@in_virtual_time
async def test_a_lease_with_another_holder_is_not_released() -> None:
    client = MemoryClient()

    async def work() -> None:
        client.store(merged(client.find("Lease"), {"spec": {"holderIdentity": "b"}}))

    await _candidate(client, "a").lead(work)
    assert _holder(client) == "b"


@in_virtual_time
async def test_a_cancelled_leader_ends_its_work_and_a_second_replica_takes_over() -> None:
    client, ended = MemoryClient(), asyncio.Event()

    async def work() -> None:
        try:
            await _forever()
        finally:
            ended.set()

    first = asyncio.create_task(_candidate(client, "a").lead(work))
    await asyncio.sleep(1)
    second = asyncio.create_task(_candidate(client, "b").lead(_forever))
    await asyncio.sleep(60)
    assert _holder(client) == "a"
    await _cancel(first)
    assert ended.is_set()
    assert _holder(client) == "", "the Lease is released"
    await asyncio.sleep(RETRY_SECONDS)
    assert _holder(client) == "b"
    await _cancel(second)


@in_virtual_time
async def test_a_leader_that_cannot_renew_stops_before_its_lease_expires_and_does_not_release_it() -> None:
    client = MemoryClient()
    client.refuse = lambda request: ApiError(0, "No", "no") if virtual_time.now() > 60 else None
    await _candidate(client, "a").lead(_forever)
    assert virtual_time.now() <= 60 + RENEW_DEADLINE_SECONDS + RETRY_SECONDS < 60 + DURATION_SECONDS
    assert _holder(client) == "a"


class _Hanging(MemoryClient):
    """Carries out every request. After 60 seconds it no longer answers."""

    async def replace(self, resource: Resource, manifest: Object) -> Any:
        written = await super().replace(resource, manifest)
        if virtual_time.now() > 60:
            await _forever()
        return written


@in_virtual_time
async def test_a_leader_whose_renewal_hangs_stops_before_its_lease_expires() -> None:
    await _candidate(_Hanging(), "a").lead(_forever)
    assert virtual_time.now() <= 60 + RETRY_SECONDS + RENEW_DEADLINE_SECONDS < 60 + DURATION_SECONDS


class _Late(MemoryClient):
    """Answers a create request long after it was carried out."""

    async def create(self, resource: Resource, manifest: Object) -> Any:
        written = await super().create(resource, manifest)
        await asyncio.sleep(RENEW_DEADLINE_SECONDS - 1)
        return written


@in_virtual_time
async def test_a_lease_runs_from_the_start_of_its_request() -> None:
    client = _Late()
    client.refuse = lambda request: ApiError(0, "No", "no") if request[0] == "replace" else None
    await _candidate(client, "a").lead(_forever)
    assert virtual_time.now() <= RENEW_DEADLINE_SECONDS


@in_virtual_time
async def test_a_single_failed_renewal_does_not_lose_the_lease() -> None:
    client = MemoryClient()
    client.refuse = lambda request: ApiError(500, "No", "no") if 10 < virtual_time.now() < 15 else None
    leading = asyncio.create_task(_candidate(client, "a").lead(_forever))
    await asyncio.sleep(120)
    assert not leading.done()
    await _cancel(leading)


@in_virtual_time
async def test_an_error_of_the_work_is_raised() -> None:
    async def work() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await _candidate(MemoryClient(), "a").lead(work)
