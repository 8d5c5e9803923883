"""Events about a pool."""

from typing import Any

from kvtier.control.applier import record_event
from kvtier.kube.client import ApiError
from kvtier.plan.events import PoolEvent
from unit.builders import NOW, pool
from unit.memory import MemoryClient
from unit.tables import table

EVENT = PoolEvent("Warning", "WouldShrink", "Lustre only grows")


async def _recorded(of: Any = None, event: PoolEvent = EVENT, now: str = NOW) -> Any:
    client = MemoryClient()
    await record_event(client, of or pool(), event, now)
    return client.find("Event")


async def test_an_event_is_about_its_pool() -> None:
    event = await _recorded()
    assert [
        event[key] for key in ("type", "reason", "message", "count", "firstTimestamp", "lastTimestamp")
    ] == [
        "Warning",
        "WouldShrink",
        "Lustre only grows",
        1,
        NOW,
        NOW,
    ]
    assert event["metadata"]["namespace"] == "team-a"
    names = {"name": "chat", "namespace": "team-a", "uid": "pool-uid"}
    assert event["involvedObject"] == {"apiVersion": "kvtier.dev/v1alpha1", "kind": "KVCachePool", **names}


@table(
    "other, same",
    {
        "the same Event, repeated after a lost answer": ({}, True),
        "an Event about another pool": ({"of": pool(metadata={"uid": "other"})}, False),
        "an Event with another message": ({"event": PoolEvent("Warning", "WouldShrink", "another")}, False),
        "an Event at another time": ({"now": "2026-11-29T13:00:00Z"}, False),
    },
)
async def test_the_name_is_the_same_only_for(other: dict[str, Any], same: bool) -> None:
    assert ((await _recorded(**other))["metadata"]["name"] == (await _recorded())["metadata"]["name"]) is same


async def test_a_message_is_cut_to_the_limit_of_the_api_server() -> None:
    event = await _recorded(event=PoolEvent("Warning", "Long", "x" * 5000))
    assert event["message"] == "x" * 1024


async def test_a_failed_write_of_an_event_is_not_raised() -> None:
    client = MemoryClient()
    client.refuse = lambda request: ApiError(403, "Forbidden", "no")
    await record_event(client, pool(), EVENT, NOW)
    assert client.writes == []
