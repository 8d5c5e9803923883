"""The resync lists everything."""

import asyncio
from typing import Any

import pytest

from kvtier.api.names import PoolKey
from kvtier.control.queue import WorkQueue
from kvtier.control.resync import Resync
from kvtier.control.store import Store
from kvtier.kube.client import ApiError
from unit import virtual_time
from unit.builders import document, live, manifest, pool
from unit.memory import MemoryClient, Request
from unit.virtual_time import in_virtual_time

POOL = document(metadata={"resourceVersion": "1"})
KEY = PoolKey("team-a", "chat")


def _parts(*objects: Any) -> tuple[MemoryClient, Store, WorkQueue[PoolKey], Resync]:
    client, store, queue = MemoryClient(*objects), Store(), WorkQueue[PoolKey]()
    return client, store, queue, Resync(client, store, queue)


async def test_everything_is_stored_and_every_pool_is_queued() -> None:
    _, store, queue, resync = _parts(POOL, live(manifest(pool(), "Service")))
    await resync.once()
    assert store.pool(KEY) is not None
    assert len(store.objects(KEY)) == 1
    assert store.cluster().version == "v1.35.6-gke.1049000"
    assert await queue.get() == KEY


async def test_an_owner_that_no_longer_exists_is_queued_too() -> None:
    _, _, queue, resync = _parts(live(manifest(pool(), "StorageClass")))
    await resync.once()
    assert await queue.get() == KEY


async def test_a_deletion_that_no_watch_reported_is_found() -> None:
    client, store, _, resync = _parts(POOL)
    store.put("Service", live(manifest(pool(), "Service")))
    await resync.once()
    assert store.objects(KEY) == {}
    assert client.writes == []


async def test_children_are_listed_by_label_and_nodes_without() -> None:
    client, _, _, resync = _parts(POOL)
    await resync.once()
    selectors = {kind: selector for _, kind, selector in client.reads}
    assert selectors["Deployment"] == "app.kubernetes.io/managed-by=kvtier"
    assert selectors["Node"] == selectors["KVCachePool"] == ""


async def test_a_cluster_without_compute_classes_is_accepted() -> None:
    client, store, _, resync = _parts(POOL)
    client.unserved = {"ComputeClass"}
    await resync.once()
    assert not store.cluster().compute_class_served


@pytest.mark.parametrize("kind", ["KVCachePool", "Deployment", "Node"])
async def test_any_other_kind_that_is_not_served_is_an_error(kind: str) -> None:
    client, store, _, resync = _parts(POOL)
    store.put("KVCachePool", POOL)
    client.unserved = {kind}
    with pytest.raises(ApiError, match="does not serve"):
        await resync.once()
    assert store.pool(KEY) is not None


@in_virtual_time
async def test_the_first_list_is_repeated_until_it_succeeds() -> None:
    client, store, _, resync = _parts(POOL)
    client.refuse = lambda write: ApiError(0, "No", "no", 7.0) if virtual_time.now() < 20 else None
    await resync.until_done()
    assert virtual_time.now() == 21
    assert store.pool(KEY) is not None


@in_virtual_time
async def test_the_second_resync_comes_soon_and_later_ones_regularly_even_after_a_failure() -> None:
    client, store, _, resync = _parts(POOL)
    attempts: list[float] = []

    def refuse(request: Request) -> ApiError | None:
        if request[1] == "Node":
            attempts.append(virtual_time.now())
        return ApiError(0, "No", "no") if len(attempts) < 2 else None

    client.refuse = refuse
    again = asyncio.create_task(resync.forever(300))
    await asyncio.sleep(700)
    again.cancel()
    first, second, third = attempts
    assert first <= 60
    assert second - first == third - second == 300
    assert store.pool(KEY) is not None


@in_virtual_time
async def test_an_unexpected_error_does_not_end_the_resyncs() -> None:
    client, store, _, resync = _parts(POOL)

    def refuse(request: Request) -> ApiError | None:
        if virtual_time.now() < 100:
            raise KeyError("items")
        return None

    client.refuse = refuse
    again = asyncio.create_task(resync.forever(300))
    await asyncio.sleep(400)
    again.cancel()
    assert store.pool(KEY) is not None
