"""A pool that goes, and what a gone one has left."""

from typing import Any

import pytest

from kvtier.api.names import FINALIZER
from kvtier.kube.client import ApiError
from unit.builders import NOW, claim, joined, live, manifest, pool
from unit.control.reconciling import PLAIN, Cluster, refusing, stored
from unit.tables import table


async def test_a_deleted_pool_goes_step_by_step() -> None:
    going = {"metadata": {"deletionTimestamp": NOW, "finalizers": [FINALIZER]}}
    children = [live(manifest(pool(**PLAIN), kind)) for kind in ("Deployment", "Service", "ComputeClass")]
    cluster = Cluster(stored(**joined(PLAIN, going)), *children)
    assert await cluster.reconcile() is not None
    assert cluster.written == [("delete", "Deployment"), ("delete", "Service"), ("status", "KVCachePool")]
    for child in children[:2]:
        cluster.store.remove(child["kind"], child)
    await cluster.reconcile()
    assert ("delete", "ComputeClass") in cluster.written
    cluster.store.remove("ComputeClass", children[2])
    assert await cluster.reconcile() is None
    assert cluster.written == [("apply", "KVCachePool")]
    assert cluster.client.find("KVCachePool")["metadata"]["finalizers"] == []


@table(
    "policy, deleted",
    {
        "its data stays under Retain": ("Retain", [("delete", "StorageClass")]),
        "its data goes under Delete": ("Delete", [("delete", "PersistentVolumeClaim")]),
        "its data stays under a policy that cannot be read": ("Perhaps", [("delete", "StorageClass")]),
    },
)
async def test_a_pool_whose_spec_cannot_be_read_can_still_go(policy: str, deleted: list[Any]) -> None:
    going = {"deletionTimestamp": NOW, "finalizers": [FINALIZER]}
    broken = stored(mode="Sometimes", deletionPolicy=policy, metadata=going)
    cluster = Cluster(broken, claim(pool()), live(manifest(pool(), "StorageClass")))
    await cluster.reconcile()
    assert [write for write in cluster.written if write[0] == "delete"] == deleted


async def test_a_pool_that_is_released_too_late_says_what_stays() -> None:
    begun = {"type": "Deleting", "status": "True", "reason": "TeardownStarted"}
    going = {
        "metadata": {"deletionTimestamp": "2026-11-29T11:00:00Z", "finalizers": [FINALIZER]},
        "status": {"conditions": [begun | {"lastTransitionTime": "2026-11-29T11:00:00Z"}]},
    }
    cluster = Cluster(stored(**joined(PLAIN, going)), live(manifest(pool(), "ComputeClass")))
    await cluster.reconcile()
    assert cluster.written == [("apply", "Event"), ("apply", "KVCachePool")]
    assert cluster.client.find("Event")["reason"] == "TeardownGaveUp"


async def test_a_pool_that_others_keep_is_released_only_once() -> None:
    going = {"metadata": {"deletionTimestamp": NOW, "finalizers": ["example.com/other"]}}
    cluster = Cluster(stored(**joined(PLAIN, going)))
    await cluster.reconcile()
    assert cluster.written == []


async def test_what_a_gone_pool_left_cluster_wide_is_swept() -> None:
    cluster = Cluster(live(manifest(pool(), "StorageClass")), live(manifest(pool(), "PersistentVolumeClaim")))
    assert await cluster.reconcile() is None
    assert cluster.written == [("delete", "StorageClass")]


async def test_nothing_is_swept_of_a_pool_that_the_store_alone_has_lost() -> None:
    cluster = Cluster(live(manifest(pool(), "StorageClass")))
    cluster.client.store(stored())
    await cluster.reconcile()
    assert cluster.written == []


async def test_a_sweep_that_is_refused_is_tried_again() -> None:
    cluster = Cluster(live(manifest(pool(), "StorageClass")))
    cluster.client.refuse = refusing("StorageClass", ApiError(500, "No", "no"))
    with pytest.raises(ApiError):
        await cluster.reconcile()
