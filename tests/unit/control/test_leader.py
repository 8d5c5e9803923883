"""The Lease: who takes it, and when, in virtual time."""

import asyncio
from typing import Any

from kvtier.api.kinds import Resource
from kvtier.control.leader import DURATION_SECONDS, NAME, RETRY_SECONDS, Election
from unit import virtual_time
from unit.builders import merged
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
        acquired = client.find("Lease")["spec"]["acquireTime"]
        for _ in range(20):
            assert not await second.attempt()
            assert await first.attempt()
            await asyncio.sleep(RETRY_SECONDS)
        spec = client.find("Lease")["spec"]
        assert spec["leaseTransitions"] == 1
        assert spec["acquireTime"] == acquired, "renewing is no new acquisition"

    virtual_time.run(scene())


def test_a_lease_that_is_not_renewed_passes_on_once_it_ran_out_by_the_rival_s_own_clock() -> None:
    async def scene() -> None:
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


class _Late(MemoryClient):
    """A client whose Lease is changed by somebody else right after it was read."""

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Any:
        lease = await super().get(resource, namespace, name)
        if lease is not None:
            self.store(merged(lease, {"metadata": {"resourceVersion": "newer"}}))
        return lease


def test_a_lease_that_was_changed_since_it_was_read_is_not_taken() -> None:
    async def scene() -> None:
        candidate = _candidate(_Late(), "a")
        assert await candidate.attempt(), "a new Lease is nobody's"
        assert not await candidate.attempt()

    virtual_time.run(scene())
