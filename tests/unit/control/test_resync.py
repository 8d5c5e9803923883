"""The resync lists everything."""

import asyncio
from typing import Any

import pytest

from kvtier.api.names import PoolKey
from kvtier.control.queue import WorkQueue
from kvtier.control.resync import Resync
from kvtier.control.store import Store
from kvtier.control.stored import unseen
from kvtier.kube.client import ApiError
from unit import virtual_time
from unit.builders import document, live, manifest, pool
from unit.memory import MemoryClient, Request
from unit.tables import table
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


async def test_pools_that_are_not_served_are_an_error() -> None:
    client, store, _, resync = _parts(POOL)
    store.put("KVCachePool", POOL)
    client.unserved = {"KVCachePool"}
    with pytest.raises(ApiError, match="does not serve"):
        await resync.once()
    assert store.pool(KEY) is not None


FORBIDDEN = ApiError(403, "Forbidden", "jobs.batch is forbidden")
MAY_NOT = (
    "kvtier may not list jobs.batch, and changes nothing in this pool until it may. Apply the ClusterRole of this "
    "version: kubectl apply -f manifests/install.yaml"
)
COULD_NOT = (
    "kvtier could not list jobs.batch, and changes nothing in this pool until it can. The API server said: a webhook "
    "failed."
)


@in_virtual_time
@table(
    "error, seconds, why",
    {
        "a missing permission is certain after two attempts": (FORBIDDEN, 2, MAY_NOT),
        "any other refusal after five": (ApiError(500, "InternalError", "a webhook failed"), 8, COULD_NOT),
    },
)
async def test_a_kind_that_is_refused_stops_no_other(error: ApiError, seconds: int, why: str) -> None:
    client, store, queue, resync = _parts(POOL)
    job = live(manifest(pool(), "Service"), kind="Job")
    store.put("Job", job)
    client.refuse = lambda request: error if request[:2] == ("list", "Job") else None
    await resync.until_done()
    assert virtual_time.now() == seconds
    assert store.unlisted == {"Job": why}
    assert unseen(why).message == why
    assert store.objects(KEY), "what is known stays"
    assert await queue.get() == KEY
    client.refuse = lambda request: None
    await resync.once()
    assert store.unlisted == {}
    assert store.objects(KEY) == {}


@in_virtual_time
async def test_a_refused_kind_is_listed_again_soon() -> None:
    client, store, _, resync = _parts(POOL)
    client.refuse = lambda request: FORBIDDEN if request[1] == "Job" and virtual_time.now() < 400 else None
    await resync.until_done()
    again = asyncio.create_task(resync.forever(300))
    await asyncio.sleep(420)
    again.cancel()
    assert store.unlisted == {}


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
