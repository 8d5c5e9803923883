"""One pool, once: what is written, and what is reported."""

from typing import Any

import pytest

from kvtier.api.names import FINALIZER
from kvtier.control.reconciler import Reconciler
from kvtier.control.store import Key, Store
from kvtier.facts.gke import GKEReader
from kvtier.facts.model import LUSTRE_DRIVER
from kvtier.kube.client import ApiError
from unit.builders import NOW, claim, document, joined, live, manifest, model, pool
from unit.memory import MemoryClient, Write
from unit.tables import table

KEY = Key("team-a", "chat")
PLAIN = {"tiers": {"lustre": None}}


class Cluster:
    """A client, a store and a reconciler around one pool."""

    def __init__(self, *objects: Any) -> None:
        self.client = MemoryClient(*objects)
        self.store = Store()
        self.store.set_version("v1.35.6-gke.1049000")
        self.store.put("CSIDriver", {"metadata": {"name": LUSTRE_DRIVER}})
        for obj in objects:
            self.store.put(obj["kind"], obj)
        self._reconciler = Reconciler(self.client, self.store, GKEReader(), clock=lambda: NOW)

    async def reconcile(self) -> float | None:
        return await self._reconciler.reconcile(KEY)

    @property
    def written(self) -> list[tuple[str, str]]:
        """Verb and kind of every write since the last look."""
        writes, self.client.writes = self.client.writes, []
        return [write[:2] for write in writes]

    def status(self) -> Any:
        return self.client.find("KVCachePool")["status"]


def _pool(**changes: Any) -> Any:
    return document(**joined({"metadata": {"resourceVersion": "1"}}, changes))


async def test_a_new_pool_is_held_before_anything_is_made_and_reported_at_the_end() -> None:
    cluster = Cluster(_pool(**PLAIN))
    await cluster.reconcile()
    assert cluster.written == [
        ("apply", "KVCachePool"),
        ("apply", "ComputeClass"),
        ("apply", "Deployment"),
        ("apply", "Service"),
        ("status", "KVCachePool"),
    ]
    assert cluster.client.find("KVCachePool")["metadata"]["finalizers"] == [FINALIZER]
    assert cluster.status()["observedGeneration"] == 3


async def test_a_pool_that_is_as_it_should_be_costs_no_write() -> None:
    cluster = Cluster(_pool())
    for _ in range(3):
        await cluster.reconcile()
    assert cluster.written
    await cluster.reconcile()
    assert cluster.written == []


async def test_an_event_follows_the_status_that_it_is_about() -> None:
    cluster = Cluster(_pool(models=[model(tokenSecretRef={"name": "hf"})], **PLAIN))
    await cluster.reconcile()
    assert cluster.written[-2:] == [("status", "KVCachePool"), ("apply", "Event")]
    assert cluster.client.find("Event")["reason"] == "SecretMissing"


async def test_a_refused_write_is_reported_and_tried_again() -> None:
    cluster = Cluster(_pool(**PLAIN))
    cluster.client.refuse = _refusing("Deployment", ApiError(403, "Forbidden", "exceeded quota"))
    with pytest.raises(ApiError, match="exceeded quota"):
        await cluster.reconcile()
    conditions = {one["type"]: one for one in cluster.status()["conditions"]}
    assert conditions["ModelsReady"]["reason"] == "Forbidden"
    assert cluster.status()["phase"] == "Blocked"


async def test_of_several_refusals_the_longest_wait_counts() -> None:
    cluster = Cluster(_pool(**PLAIN))
    waits = {"Deployment": 1.0, "Service": 30.0}

    def refuse(write: Write) -> ApiError | None:
        return ApiError(429, "TooMany", "later", retry_after=waits[write[1]]) if write[1] in waits else None

    cluster.client.refuse = refuse
    with pytest.raises(ApiError) as refusal:
        await cluster.reconcile()
    assert refusal.value.retry_after == 30.0


async def test_a_refused_status_is_tried_again() -> None:
    cluster = Cluster(_pool(**PLAIN))
    cluster.client.refuse = lambda write: ApiError(500, "No", "no") if write[0] == "status" else None
    with pytest.raises(ApiError):
        await cluster.reconcile()


async def test_a_spec_that_an_older_crd_let_in_is_reported_and_nothing_else_changes() -> None:
    kept = {"tiers": [{"name": "lustre", "phase": "Bound", "capacity": "18000Gi"}], "modelsReady": "1/1"}
    cluster = Cluster(_pool(mode="Sometimes", status=kept), live(manifest(pool(), "Service")))
    assert await cluster.reconcile() is None
    assert cluster.written[0] == ("status", "KVCachePool")
    status = cluster.status()
    assert status["phase"] == "Blocked"
    assert status["conditions"][0]["reason"] == "InvalidSpec"
    assert status["conditions"][0]["message"].startswith("spec.mode: ")
    assert (status["tiers"], status["modelsReady"]) == (kept["tiers"], "1/1")
    cluster.written.clear()
    await cluster.reconcile()
    assert ("apply", "Service") not in cluster.written


async def test_a_status_that_cannot_be_read_is_written_anew() -> None:
    cluster = Cluster(_pool(mode="Sometimes", status={"tiers": "none"}))
    await cluster.reconcile()
    assert cluster.status()["phase"] == "Blocked"


async def test_a_deleted_pool_goes_step_by_step() -> None:
    going = {"metadata": {"deletionTimestamp": NOW, "finalizers": [FINALIZER]}}
    children = [live(manifest(pool(**PLAIN), kind)) for kind in ("Deployment", "Service", "ComputeClass")]
    cluster = Cluster(_pool(**joined(PLAIN, going)), *children)
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
    broken = _pool(mode="Sometimes", deletionPolicy=policy, metadata=going)
    cluster = Cluster(broken, claim(pool()), live(manifest(pool(), "StorageClass")))
    await cluster.reconcile()
    assert [write for write in cluster.written if write[0] == "delete"] == deleted


async def test_a_pool_that_is_released_too_late_says_what_stays() -> None:
    going = {"metadata": {"deletionTimestamp": "2026-11-29T11:00:00Z", "finalizers": [FINALIZER]}}
    cluster = Cluster(_pool(**joined(PLAIN, going)), live(manifest(pool(), "ComputeClass")))
    await cluster.reconcile()
    assert cluster.written == [("apply", "Event"), ("apply", "KVCachePool")]
    assert cluster.client.find("Event")["reason"] == "TeardownGaveUp"


async def test_what_a_gone_pool_left_cluster_wide_is_swept() -> None:
    cluster = Cluster(live(manifest(pool(), "StorageClass")), live(manifest(pool(), "PersistentVolumeClaim")))
    assert await cluster.reconcile() is None
    assert cluster.written == [("delete", "StorageClass")]


async def test_nothing_is_swept_of_a_pool_that_the_store_alone_has_lost() -> None:
    cluster = Cluster(live(manifest(pool(), "StorageClass")))
    cluster.client.store(_pool())
    await cluster.reconcile()
    assert cluster.written == []


async def test_a_sweep_that_is_refused_is_tried_again() -> None:
    cluster = Cluster(live(manifest(pool(), "StorageClass")))
    cluster.client.refuse = _refusing("StorageClass", ApiError(500, "No", "no"))
    with pytest.raises(ApiError):
        await cluster.reconcile()


def _refusing(kind: str, error: ApiError) -> Any:
    def refuse(write: Write) -> ApiError | None:
        return error if write[1] == kind else None

    return refuse
