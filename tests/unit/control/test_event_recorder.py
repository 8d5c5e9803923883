"""Events about a pool."""

from typing import Any

import pytest

from kvtier.control.applier import record_event
from kvtier.kube.client import ApiError
from kvtier.plan.events import PoolEvent
from unit.builders import NOW, pool
from unit.memory import MemoryClient

NOTICE = PoolEvent("Warning", "WouldShrink", "Lustre only grows")


async def _recorded(of: Any = None, notice: PoolEvent = NOTICE, now: str = NOW) -> Any:
    client = MemoryClient()
    await record_event(client, of or pool(), notice, now)
    return client.find("Event")


async def test_an_event_is_about_its_pool() -> None:
    event = await _recorded()
    assert (event["type"], event["reason"], event["message"]) == (
        "Warning",
        "WouldShrink",
        "Lustre only grows",
    )
    assert event["metadata"]["namespace"] == "team-a"
    assert event["involvedObject"] == {
        "apiVersion": "kvtier.dev/v1alpha1",
        "kind": "KVCachePool",
        "name": "chat",
        "namespace": "team-a",
        "uid": "pool-uid",
    }
    assert event["count"] == 1
    assert event["firstTimestamp"] == event["lastTimestamp"] == NOW


async def test_the_same_event_after_a_lost_answer_is_the_same_object() -> None:
    assert (await _recorded())["metadata"]["name"] == (await _recorded())["metadata"]["name"]


@pytest.mark.parametrize(
    "other",
    [
        {"of": pool(metadata={"uid": "other"})},
        {"notice": PoolEvent("Warning", "WouldShrink", "another message")},
        {"now": "2026-11-29T13:00:00Z"},
    ],
)
async def test_another_event_is_another_object(other: dict[str, Any]) -> None:
    assert (await _recorded(**other))["metadata"]["name"] != (await _recorded())["metadata"]["name"]


async def test_a_message_is_cut_at_what_the_api_server_takes() -> None:
    event = await _recorded(notice=PoolEvent("Warning", "Long", "x" * 5000))
    assert event["message"] == "x" * 1024


async def test_an_event_that_cannot_be_written_holds_nothing_up() -> None:
    client = MemoryClient()
    client.refuse = lambda write: ApiError(403, "Forbidden", "no")
    await record_event(client, pool(), NOTICE, NOW)
    assert client.writes == []
