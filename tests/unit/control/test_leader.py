"""The Lease, in virtual time: who takes it and when, and work while it is held."""

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


def _holder(client: MemoryClient) -> str:
    return str(client.find("Lease")["spec"]["holderIdentity"])


async def _forever() -> None:
    await asyncio.Event().wait()


@in_virtual_time
async def test_a_lease_that_is_not_there_is_made() -> None:
    client = MemoryClient()
    assert await _candidate(client, "a").attempt()
    lease = client.find("Lease", NAME)
    assert (lease["metadata"]["namespace"], _holder(client)) == ("kvtier", "a")
    assert lease["spec"]["leaseDurationSeconds"] == DURATION_SECONDS


@in_virtual_time
async def test_a_lease_is_renewed_by_its_holder_and_by_nobody_else() -> None:
    client = MemoryClient()
    first, second = _candidate(client, "a"), _candidate(client, "b")
    assert await first.attempt()
    acquired = client.find("Lease")["spec"]["acquireTime"]
    for _ in range(20):
        assert not await second.attempt()
        assert await first.attempt()
        await asyncio.sleep(RETRY_SECONDS)
    spec = client.find("Lease")["spec"]
    assert spec["leaseTransitions"] == 1
    assert spec["acquireTime"] == acquired, "renewing is no new acquisition"


@in_virtual_time
async def test_a_lease_that_is_not_renewed_passes_on_once_it_ran_out_by_the_rival_s_own_clock() -> None:
    client = MemoryClient()
    await asyncio.sleep(3600)
    await _candidate(client, "a").attempt()
    rival = _candidate(client, "b")
    assert not await rival.attempt()
    await asyncio.sleep(DURATION_SECONDS)
    assert not await rival.attempt()
    await asyncio.sleep(0.1)
    assert await rival.attempt()
    assert _holder(client) == "b"
    spec = client.find("Lease")["spec"]
    assert spec["leaseTransitions"] == 2
    assert spec["acquireTime"] == spec["renewTime"], "it is acquired now"


@in_virtual_time
async def test_a_rival_that_has_just_started_waits_however_old_the_lease_is() -> None:
    client = MemoryClient()
    await _candidate(client, "a").attempt()
    await asyncio.sleep(3600)
    assert not await _candidate(client, "b").attempt()


@in_virtual_time
async def test_of_two_that_write_at_once_one_loses() -> None:
    client = MemoryClient()
    candidates = [_candidate(client, name) for name in ("a", "b", "c")]
    won = await asyncio.gather(*[one.attempt() for one in candidates])
    assert won.count(True) == 1


class _Changed(MemoryClient):
    """A client whose Lease is changed by somebody else right after it was read."""

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Any:
        lease = await super().get(resource, namespace, name)
        if lease is not None:
            self.store(merged(lease, {"metadata": {"resourceVersion": "newer"}}))
        return lease


@in_virtual_time
async def test_a_lease_that_was_changed_since_it_was_read_is_not_taken() -> None:
    candidate = _candidate(_Changed(), "a")
    assert await candidate.attempt(), "a new Lease is nobody's"
    assert not await candidate.attempt()


@in_virtual_time
async def test_a_leader_whose_work_ends_gives_the_lease_back() -> None:
    client = MemoryClient()

    async def work() -> None:
        assert _holder(client) == "a"

    await _candidate(client, "a").lead(work)
    assert _holder(client) == ""
    assert await _candidate(client, "b").attempt()


@in_virtual_time
async def test_a_lease_that_somebody_else_holds_by_now_is_not_given_back() -> None:
    client = MemoryClient()

    async def work() -> None:
        client.store(merged(client.find("Lease"), {"spec": {"holderIdentity": "b"}}))

    await _candidate(client, "a").lead(work)
    assert _holder(client) == "b"


@in_virtual_time
async def test_a_leader_that_is_cancelled_ends_its_work_and_gives_the_lease_back() -> None:
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


@in_virtual_time
async def test_a_leader_that_cannot_renew_stops_before_its_lease_runs_out_and_leaves_it() -> None:
    client = MemoryClient()
    client.refuse = lambda write: ApiError(0, "No", "no") if virtual_time.now() > 60 else None
    await _candidate(client, "a").lead(_forever)
    assert virtual_time.now() <= 60 + RENEW_DEADLINE_SECONDS + RETRY_SECONDS < 60 + DURATION_SECONDS
    assert _holder(client) == "a"


class _Hanging(MemoryClient):
    """Carries everything out, and from a moment on never answers."""

    async def replace(self, resource: Resource, manifest: Object) -> Any:
        written = await super().replace(resource, manifest)
        if virtual_time.now() > 60:
            await _forever()
        return written


@in_virtual_time
async def test_a_leader_whose_renewal_hangs_stops_before_its_lease_runs_out() -> None:
    client = _Hanging()
    await _candidate(client, "a").lead(_forever)
    assert virtual_time.now() <= 60 + RETRY_SECONDS + RENEW_DEADLINE_SECONDS < 60 + DURATION_SECONDS


class _Late(MemoryClient):
    """Answers the making of an object long after it was made."""

    async def create(self, resource: Resource, manifest: Object) -> Any:
        written = await super().create(resource, manifest)
        await asyncio.sleep(RENEW_DEADLINE_SECONDS - 1)
        return written


@in_virtual_time
async def test_a_lease_counts_from_when_it_was_asked_for() -> None:
    client = _Late()
    client.refuse = lambda write: ApiError(0, "No", "no") if write[0] == "replace" else None
    await _candidate(client, "a").lead(_forever)
    assert virtual_time.now() <= RENEW_DEADLINE_SECONDS


@in_virtual_time
async def test_a_single_failed_renewal_is_no_loss() -> None:
    client = MemoryClient()
    client.refuse = lambda write: ApiError(500, "No", "no") if 10 < virtual_time.now() < 15 else None
    leading = asyncio.create_task(_candidate(client, "a").lead(_forever))
    await asyncio.sleep(120)
    assert not leading.done()
    leading.cancel()
    await asyncio.gather(leading, return_exceptions=True)


@in_virtual_time
async def test_a_failure_of_the_work_is_not_swallowed() -> None:
    async def work() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await _candidate(MemoryClient(), "a").lead(work)


@in_virtual_time
async def test_a_second_replica_takes_over_where_the_first_left_off() -> None:
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
