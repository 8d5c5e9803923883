"""Every character that a pool may contain reaches the engines, and every message can be written."""

import string
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kvtier.api.conditions import READY, false
from kvtier.api.kinds import CONFIG_MAP, POOL
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool, PoolStatus
from kvtier.control.applier import record_event
from kvtier.kube.aio import AioClient, connect
from kvtier.plan.events import PoolEvent
from testbed.fault_injection import FaultyCluster

# What YAML treats otherwise than JSON: above U+FFFF, line breaks, control characters, the byte order mark.
ODD = [
    "🙂",
    "\U0010ffff",
    "\x85\u2028\u2029",
    "\x00\x07\x1b\x7f\x9b",
    "\ufeff\ufffe\uffff",
    "\\ud83d",
    "é日本",
    '"\\',
]
DEPLOYMENT = ("apps/v1", "Deployment")


@pytest.fixture
async def client(faulty: FaultyCluster) -> AsyncIterator[AioClient]:
    api = await connect(str(faulty.plane.kubeconfig), None)
    yield AioClient(api)
    await api.close()


def test_any_character_in_a_pool_reaches_its_engines(operated: FaultyCluster) -> None:
    pools = operated.pools()
    variables = [{"name": f"V{index}", "value": text} for index, text in enumerate(ODD)]
    served = {
        "name": "odd",
        "model": "example/odd",
        "env": variables,
        "extraArgs": ["--chat-template=🙂"],
        "podTemplate": {"annotations": {"a": "🙂"}},
    }
    pools.create("pool", models=[served])
    operated.until_ready(pools, "pool")
    template = pools.child(*DEPLOYMENT)["spec"]["template"]
    (engine,) = [one for one in template["spec"]["containers"] if one["name"] == "engine"]
    assert [
        one for one in engine["env"] if one["name"].startswith("V") and one["name"][1:].isdigit()
    ] == variables
    assert "🙂" in " ".join(engine["args"])
    assert template["metadata"]["annotations"]["a"] == "🙂"


async def test_an_apply_stores_what_was_sent(faulty: FaultyCluster, client: AioClient) -> None:
    namespace = faulty.namespace()
    metadata = {"name": "odd", "namespace": namespace}
    every = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x11000), 0x10FFFF]))
    data = {f"v{index}": text for index, text in enumerate([*ODD, every, string.printable])}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
    await client.apply(CONFIG_MAP, config)
    assert (await client.get(CONFIG_MAP, namespace, "odd") or {})["data"] == data


async def test_messages_of_others_are_written_to_status_and_event(
    faulty: FaultyCluster, client: AioClient
) -> None:
    pools = faulty.pools()
    made = pools.create("pool")
    pool = KVCachePool.model_validate(made)
    said = "said: \ud83d \x00 🙂 " + "x" * 100_000
    condition = false(READY, Reason.FAILED, said)
    status = PoolStatus(conditions=[condition]).model_dump(by_alias=True, exclude_none=True)
    identity: dict[str, Any] = {key: made[key] for key in ("apiVersion", "kind")}
    names = {key: made["metadata"][key] for key in ("name", "namespace", "uid")}
    await client.patch_status(POOL, {**identity, "metadata": names, "status": status})
    assert pools.condition("pool", "Ready")["message"] == condition.message
    await record_event(client, pool, PoolEvent("Warning", "Odd", said), "2026-11-29T12:00:00Z")
    (event,) = pools.events("pool", "Odd")
    assert event["message"] == condition.message[:1024]
