"""The policy in the store: read again, kept when a change is not valid, and nothing granted before."""

from typing import Any

import pytest

from kvtier.api.kinds import CONFIG_MAP
from kvtier.api.names import PoolKey
from kvtier.control.policy import PolicyReader
from kvtier.control.queue import WorkQueue
from kvtier.control.store import Store
from kvtier.kube.client import ApiError
from unit.builders import NOW, document
from unit.memory import MemoryClient

VALID = "grants: [{namespaces: [team-a], buckets: ['gs://b/*']}]"
INVALID = "grants: [{namespaces: [team-a], bucket: 'gs://b/*'}]"
KEY = PoolKey("team-a", "chat")


class Bed:
    """A client with a policy (None: no ConfigMap), and a store with one pool."""

    def __init__(self, text: str | None) -> None:
        self.client = MemoryClient(*([_policy(text)] if text is not None else []))
        self.store, self.queue = Store(), WorkQueue[PoolKey](debounce=0)
        self.store.put("KVCachePool", document(metadata={"resourceVersion": "1"}))
        self.reader = PolicyReader(self.client, self.store, self.queue, "kvtier-system", lambda: NOW)

    async def change(self, text: str) -> None:
        await self.client.apply(CONFIG_MAP, _policy(text))
        await self.reader.once()

    def buckets(self) -> tuple[str, ...]:
        return self.store.policy().grants("team-a", frozenset()).granted["buckets"]

    def events(self) -> list[Any]:
        return [write for write in self.client.writes if write[1] == "Event"]


def _policy(text: str) -> dict[str, Any]:
    metadata = {"name": "kvtier-policy", "namespace": "kvtier-system", "uid": "policy-uid"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"policy.yaml": text}}


def test_nothing_is_granted_before_the_policy_was_read() -> None:
    assert Store().policy().problem == "Unread"


async def test_a_valid_policy_is_in_effect_and_all_pools_are_queued() -> None:
    bed = Bed(VALID)
    await bed.reader.once()
    assert (bed.buckets(), bed.store.policy().problem) == (("gs://b/*",), "")
    assert await bed.queue.get() == KEY


async def test_an_unchanged_policy_queues_nothing() -> None:
    bed = Bed(VALID)
    await bed.reader.once()
    bed.queue.done(await bed.queue.get())
    await bed.reader.once()
    assert len(bed.queue) == 0


async def test_without_a_config_map_the_default_applies() -> None:
    bed = Bed(None)
    await bed.reader.once()
    assert (bed.buckets(), bed.store.policy().problem) == ((), "")


async def test_an_invalid_change_keeps_the_last_valid_policy_and_is_reported_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bed = Bed(VALID)
    await bed.reader.once()
    await bed.change(INVALID)
    await bed.reader.once()
    assert bed.buckets() == ("gs://b/*",)
    assert len(bed.events()) == 1
    assert "kvtier uses the last valid policy. Correct policy.yaml: grants[0].bucket: unknown field" in str(
        bed.client.find("Event")
    )
    assert caplog.text.count("ConfigMap kvtier-system/kvtier-policy is not in effect") == 1


async def test_a_policy_that_is_invalid_at_the_start_grants_nothing_until_it_is_corrected() -> None:
    bed = Bed(INVALID)
    await bed.reader.once()
    assert (bed.buckets(), bed.store.policy().problem) == ((), "Invalid")
    assert "kvtier grants nothing. Correct policy.yaml" in str(bed.client.find("Event"))
    await bed.change(VALID)
    assert (bed.buckets(), bed.store.policy().problem) == (("gs://b/*",), "")


async def test_an_outage_keeps_the_policy_and_grants_nothing_at_the_start() -> None:
    bed = Bed(VALID)
    bed.client.refuse = lambda _: ApiError(403, "Forbidden", "no")
    await bed.reader.once()
    assert bed.store.policy().problem == "Unread"
    bed.client.refuse = lambda _: None
    await bed.reader.once()
    bed.client.refuse = lambda _: ApiError(0, "Unreachable", "no")
    await bed.reader.once()
    assert bed.buckets() == ("gs://b/*",)
