"""Reconciles one pool with an API server in memory: what is written, what is reported, and how a pool is deleted."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from kvtier.api.kinds import CHILD_KINDS, POOL
from kvtier.api.names import FINALIZER, LUSTRE_DRIVER, PoolKey
from kvtier.api.policy import Policy
from kvtier.api.v1alpha1 import PoolStatus
from kvtier.control.older_crd import without
from kvtier.control.reconciler import Reconciler
from kvtier.control.store import Store
from kvtier.control.stored import read
from kvtier.facts.gke import GKEReader
from kvtier.facts.lustre_api import LustreReader
from kvtier.facts.policy import PolicyFacts
from kvtier.kube.client import ApiError
from kvtier.plan.model import Plan
from kvtier.plan.plan import plan
from kvtier.sizing.models import config_of
from unit.builders import (
    EVERYTHING,
    NOW,
    claim,
    document,
    driver_volume,
    joined,
    live,
    manifest,
    merged,
    model,
    pool,
)
from unit.memory import MemoryClient
from unit.tables import table

PLAIN: dict[str, Any] = {"tiers": {"lustre": None}}


class Cluster:
    """A client, a store with the same objects, and a reconciler."""

    def __init__(self, *objects: Any, lacking: Sequence[str] = ()) -> None:
        self.client = MemoryClient(*objects)
        self.store = Store()
        self.store.set_policy(PolicyFacts(Policy(grants=[EVERYTHING])))
        self.store.set_version("v1.35.6-gke.1049000")
        self.store.put("CSIDriver", {"metadata": {"name": LUSTRE_DRIVER}})
        for obj in objects:
            self.store.put(obj["kind"], obj)
        self._reconciler = Reconciler(self.client, self.store, GKEReader(), LustreReader())
        self._reconciler.fitting = lambda status: without(status, lacking)
        self._reconciler.clock = lambda: NOW

    async def reconcile(self) -> float | None:
        return await self._reconciler.reconcile(PoolKey("team-a", "chat"))

    async def settle(self) -> None:
        """Reconcile until the next time is not immediate."""
        while await self.reconcile() == 0.0:
            pass

    async def watch(self) -> None:
        """Give the store everything that the client has."""
        for resource in (POOL, *(child.resource for child in CHILD_KINDS)):
            self.store.replace(resource.kind, await self.client.list(resource))

    def new_writes(self) -> list[tuple[str, str]]:
        """Verb and kind of every write since the last call."""
        writes, self.client.writes = self.client.writes, []
        return [write[:2] for write in writes]

    def refuse(self, **errors: ApiError) -> None:
        """Answer writes of these kinds with these errors."""
        self.client.refuse = lambda request: errors.get(request[1]) if request[0] != "get" else None

    def clock(self, now: str) -> None:
        self._reconciler.clock = lambda: now

    def pool(self) -> Any:
        return self.client.find("KVCachePool")

    def status(self) -> Any:
        return self.pool()["status"]


def stored(**changes: Any) -> Any:
    return document(**joined({"metadata": {"resourceVersion": "1"}}, changes))


async def test_a_new_pool_gets_its_finalizer_first_and_its_status_last() -> None:
    cluster = Cluster(stored(**PLAIN))
    await cluster.reconcile()
    assert cluster.new_writes() == [
        ("apply", "KVCachePool"),
        ("apply", "ComputeClass"),
        ("apply", "Deployment"),
        ("apply", "Service"),
        ("status", "KVCachePool"),
    ]
    assert cluster.pool()["metadata"]["finalizers"] == [FINALIZER]
    assert cluster.status()["observedGeneration"] == 3


async def test_a_settled_pool_causes_no_write() -> None:
    cluster = Cluster(stored())
    await cluster.settle()
    assert cluster.new_writes()
    await cluster.watch()
    await cluster.reconcile()
    assert cluster.new_writes() == []


async def test_a_list_that_the_api_server_leaves_out_counts_as_empty() -> None:
    cluster = Cluster(stored(**PLAIN))
    await cluster.settle()
    shown = cluster.pool()
    assert shown["status"].pop("operations") == []
    cluster.store.put("KVCachePool", merged(shown, {"metadata": {"resourceVersion": "9999"}}))
    assert cluster.new_writes()
    await cluster.reconcile()
    assert cluster.new_writes() == []


async def test_a_model_config_in_a_config_map_counts_from_the_first_reconciliation() -> None:
    reference = {"configMapKeyRef": {"name": "configs"}}
    named = model(model="someone/own", tensorParallelSize=1, modelConfigFrom=reference)
    cluster = Cluster(stored(models=[named], **PLAIN))
    config = {"config.json": json.dumps(config_of("meta-llama/Llama-3.1-8B-Instruct"))}
    metadata = {"name": "configs", "namespace": "team-a"}
    cluster.client.store({"kind": "ConfigMap", "metadata": metadata, "data": config})
    await cluster.reconcile()
    (shown,) = cluster.status()["models"]
    assert (shown["bytesPerToken"], shown["blocksPerChunk"]) == (131_072, 16)
    assert [tier["tokens"] for tier in cluster.status()["tiers"]] == [819_200]


async def test_the_answers_to_writes_are_in_the_status_at_once() -> None:
    cluster = Cluster(stored(**PLAIN))
    again = await cluster.reconcile()
    (shown,) = cluster.status()["models"]
    assert shown["service"] == cluster.client.find("Service")["metadata"]["name"]
    assert again == 20.0, "engines are starting, and no watch reports their Events"


async def test_answers_that_need_more_writes_are_handled_at_once() -> None:
    cluster = Cluster(stored())
    cluster.client.store(claim(pool()))
    assert await cluster.reconcile() == 0.0, "the answer shows that the PVC is bound"
    assert ("apply", "Job") not in cluster.new_writes()
    assert await cluster.reconcile() != 0.0
    assert ("apply", "Job") in cluster.new_writes()


async def test_an_event_is_written_after_its_status() -> None:
    cluster = Cluster(stored(models=[model(tokenSecretRef={"name": "hf"})], **PLAIN))
    await cluster.reconcile()
    assert cluster.new_writes()[-2:] == [("status", "KVCachePool"), ("apply", "Event")]
    assert cluster.client.find("Event")["reason"] == "SecretMissing"


async def test_a_refused_write_is_reported_and_retried() -> None:
    cluster = Cluster(stored(**PLAIN))
    cluster.refuse(Deployment=ApiError(403, "Forbidden", "exceeded quota"))
    with pytest.raises(ApiError, match="exceeded quota"):
        await cluster.reconcile()
    conditions = {one["type"]: one for one in cluster.status()["conditions"]}
    assert conditions["ModelsReady"]["reason"] == "Forbidden"
    assert cluster.status()["phase"] == "Blocked"


async def test_the_longest_retry_delay_of_several_refusals_counts() -> None:
    cluster = Cluster(stored(**PLAIN))
    cluster.refuse(
        Deployment=ApiError(429, "Busy", "later", 1.0), Service=ApiError(429, "Busy", "later", 30.0)
    )
    with pytest.raises(ApiError) as refusal:
        await cluster.reconcile()
    assert refusal.value.retry_after == 30.0


async def test_a_refused_status_is_retried() -> None:
    cluster = Cluster(stored(**PLAIN))
    cluster.client.refuse = lambda write: ApiError(500, "No", "no") if write[0] == "status" else None
    with pytest.raises(ApiError):
        await cluster.reconcile()


async def test_a_spec_that_an_older_crd_accepted_is_reported_and_nothing_else_changes() -> None:
    kept = {"tiers": [{"name": "lustre", "phase": "Bound", "capacity": "18000Gi"}], "modelsReady": "1/1"}
    cluster = Cluster(stored(mode="Sometimes", status=kept), live(manifest(pool(), "Service")))
    assert await cluster.reconcile() is None
    assert cluster.new_writes() == [("status", "KVCachePool"), ("apply", "Event")]
    status = cluster.status()
    assert status["phase"] == "Blocked"
    assert status["conditions"][0]["reason"] == "InvalidSpec"
    assert status["conditions"][0]["message"].startswith("The field spec.mode is invalid: Input should be ")
    assert (status["tiers"], status["modelsReady"]) == (kept["tiers"], "1/1")
    await cluster.reconcile()
    assert cluster.new_writes() == []


async def test_an_unreadable_status_is_replaced() -> None:
    cluster = Cluster(stored(mode="Sometimes", status={"tiers": "none"}))
    await cluster.reconcile()
    assert cluster.status()["phase"] == "Blocked"


async def test_a_deleted_pool_is_torn_down_step_by_step() -> None:
    cluster = Cluster(stored(**PLAIN))
    await cluster.settle()
    await cluster.client.delete(POOL, "team-a", "chat", "pool-uid")
    cluster.new_writes()
    for writes in (
        [("delete", "Deployment"), ("delete", "Service"), ("status", "KVCachePool")],
        [("delete", "ComputeClass"), ("status", "KVCachePool")],
        [("apply", "KVCachePool")],
    ):
        await cluster.watch()
        await cluster.reconcile()
        assert cluster.new_writes() == writes
    assert cluster.pool() is None


class BrokenError(Exception):
    """An error that nobody expects."""


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> list[Exception]:
    """The planner raises the first of these errors, as long as there is one."""
    errors: list[Exception] = [BrokenError("<Plan object at 0x7f00> of\n1e13")]

    def raising(*args: Any) -> Plan:
        if errors:
            raise errors[0]
        return plan(*args)

    monkeypatch.setattr("kvtier.control.reconciler.plan", raising)
    return errors


async def test_an_unexpected_error_is_reported_once_and_ends_with_its_cause(broken: list[Exception]) -> None:
    before = {"type": "StorageReady", "status": "True", "reason": "Bound", "lastTransitionTime": NOW}
    ready = {"type": "Ready", "status": "True", "reason": "AllReady", "lastTransitionTime": NOW}
    cluster = Cluster(stored(status={"phase": "Ready", "conditions": [ready, before]}))
    for _ in range(2):
        with pytest.raises(BrokenError):
            await cluster.reconcile()
    assert cluster.new_writes() == [("status", "KVCachePool"), ("apply", "Event")]
    first, second = cluster.status()["conditions"]
    assert (first["type"], first["status"], first["reason"]) == ("Ready", "Unknown", "InternalError")
    assert first["observedGeneration"] == 3
    assert "an error in kvtier: BrokenError: of 1e13. Engines keep running" in first["message"]
    assert second == {**before, "message": ""}
    assert cluster.status()["phase"] == "Degraded"
    broken.clear()
    await cluster.settle()
    assert cluster.status()["conditions"][0]["status"] == "False"


async def test_a_status_that_is_refused_does_not_hide_the_error(broken: list[Exception]) -> None:
    cluster = Cluster(stored())
    cluster.refuse(KVCachePool=ApiError(413, "TooLarge", "too large"))
    with pytest.raises(BrokenError):
        await cluster.reconcile()


@pytest.mark.parametrize(
    ("failed_since", "asked"),
    [("2026-11-29T09:00:00Z", "2026-11-29T11:29:59Z"), ("2026-11-29T11:29:59Z", "2026-11-29T09:00:00Z")],
    ids=["counted from the deletion", "counted from the first error"],
)
async def test_a_deletion_that_cannot_be_planned_ends_after_half_an_hour(
    broken: list[Exception], failed_since: str, asked: str
) -> None:
    failing = {
        "type": "Ready",
        "status": "Unknown",
        "reason": "InternalError",
        "lastTransitionTime": failed_since,
    }
    cluster = Cluster(
        going(FINALIZER, asked=asked, status={"conditions": [failing]}),
        live(manifest(pool(), "StorageClass")),
    )
    with pytest.raises(BrokenError):
        await cluster.reconcile()
    assert cluster.new_writes() == [("apply", "Event"), ("apply", "KVCachePool")]
    event = cluster.client.find("Event")
    assert event["reason"] == "TeardownGaveUp"
    assert "These objects may be left: StorageClass " in event["message"]


async def test_a_deletion_ends_even_if_its_status_cannot_be_written(broken: list[Exception]) -> None:
    cluster = Cluster(going(FINALIZER, asked="2026-11-29T09:00:00Z"))
    cluster.client.refuse = lambda write: ApiError(413, "TooLarge", "no") if write[0] == "status" else None
    for now in (NOW, "2026-11-29T12:30:00Z", "2026-11-29T12:30:01Z"):
        assert cluster.new_writes() == []
        cluster.clock(now)
        with pytest.raises(BrokenError):
            await cluster.reconcile()
    assert cluster.new_writes() == [("apply", "Event"), ("apply", "KVCachePool")]


WHY = "kvtier may not list jobs.batch."


async def test_a_pool_that_needs_an_unknown_kind_is_left_as_it_is() -> None:
    cluster = Cluster(stored(), live(manifest(pool(), "Service")))
    cluster.store.unlisted["Job"] = WHY
    assert await cluster.reconcile() is None
    assert cluster.new_writes() == [("status", "KVCachePool"), ("apply", "Event")]
    ready = cluster.status()["conditions"][0]
    assert (ready["status"], ready["reason"], ready["message"]) == ("Unknown", "NotReadable", WHY)


async def test_a_pool_that_does_not_need_the_unknown_kind_is_reconciled() -> None:
    cluster = Cluster(stored(**PLAIN))
    cluster.store.unlisted["Job"] = WHY
    await cluster.reconcile()
    assert ("apply", "Deployment") in cluster.new_writes()


async def test_a_teardown_takes_no_step_while_a_kind_is_unknown() -> None:
    cluster = Cluster(going(FINALIZER, **PLAIN), live(manifest(pool(), "ComputeClass")))
    cluster.store.unlisted["Deployment"] = WHY
    await cluster.reconcile()
    assert cluster.new_writes() == [("status", "KVCachePool")]
    cluster.clock("2026-11-29T12:30:01Z")
    await cluster.reconcile()
    assert cluster.new_writes() == [("apply", "Event"), ("apply", "KVCachePool")]


async def test_a_spec_that_was_nested_too_deeply_is_reported() -> None:
    cluster = Cluster({key: value for key, value in stored().items() if key != "spec"})
    await cluster.reconcile()
    message = cluster.status()["conditions"][0]["message"]
    assert message.startswith("The field spec is invalid: it is nested more than 200 levels deep. ")


async def test_a_field_that_the_crd_lacks_is_not_written_again_and_again() -> None:
    cluster = Cluster(stored(**PLAIN), lacking=["modelsReady", "tiers[].tokens"])
    await cluster.settle()
    assert "modelsReady" not in cluster.status()
    assert [tier.get("tokens") for tier in cluster.status()["tiers"]] == [None]
    assert cluster.new_writes()
    await cluster.watch()
    await cluster.reconcile()
    assert cluster.new_writes() == []


def test_the_readable_parts_of_a_status_survive() -> None:
    running = {"kind": "Create", "subject": "18000Gi", "state": "Running", "requestID": "r", "startTime": NOW}
    newer = {**running, "kind": "AKindOfANewerVersion"}
    written = {"phase": 7, "modelsReady": "1/1", "operations": [running, newer], "tiers": "none"}
    status = read(stored(status=written)).status
    assert [one.kind for one in status.operations] == ["Create"]
    assert (status.phase, status.models_ready, status.tiers) == (None, "1/1", [])
    assert read(stored(status="none")).status == PoolStatus()


def going(*finalizers: str, asked: str = NOW, **changes: Any) -> Any:
    """A pool that is being deleted."""
    metadata = {"deletionTimestamp": asked, "finalizers": list(finalizers)}
    return stored(**joined(changes, {"metadata": metadata}))


@table(
    "policy, deleted",
    {
        "its data stays with Retain": ("Retain", [("delete", "StorageClass")]),
        "its data is deleted with Delete": ("Delete", [("delete", "PersistentVolumeClaim")]),
        "its data stays with an unknown policy": ("Perhaps", [("delete", "StorageClass")]),
    },
)
async def test_a_pool_with_an_unreadable_spec_can_be_deleted(policy: str, deleted: list[Any]) -> None:
    broken = going(FINALIZER, mode="Sometimes", deletionPolicy=policy)
    bound = claim(pool())
    cluster = Cluster(broken, bound, driver_volume(bound), live(manifest(pool(), "StorageClass")))
    await cluster.reconcile()
    assert [write for write in cluster.new_writes() if write[0] == "delete"] == deleted


async def test_a_teardown_that_gives_up_reports_what_stays() -> None:
    asked = "2026-11-29T11:00:00Z"
    begun = {"type": "Deleting", "status": "True", "reason": "TeardownStarted", "lastTransitionTime": asked}
    late = going(FINALIZER, asked=asked, status={"conditions": [begun]}, **PLAIN)
    cluster = Cluster(late, live(manifest(pool(), "ComputeClass")))
    await cluster.reconcile()
    assert cluster.new_writes() == [("apply", "Event"), ("apply", "KVCachePool")]
    assert cluster.client.find("Event")["reason"] == "TeardownGaveUp"


async def test_the_finalizer_of_a_pool_that_others_keep_is_removed_only_once() -> None:
    cluster = Cluster(going("example.com/other", **PLAIN))
    await cluster.reconcile()
    assert cluster.new_writes() == []


async def test_cluster_scoped_objects_of_a_missing_pool_are_deleted() -> None:
    cluster = Cluster(live(manifest(pool(), "StorageClass")), live(manifest(pool(), "PersistentVolumeClaim")))
    assert await cluster.reconcile() is None
    assert cluster.new_writes() == [("delete", "StorageClass")]


async def test_nothing_is_deleted_if_the_pool_is_missing_only_in_the_store() -> None:
    cluster = Cluster(live(manifest(pool(), "StorageClass")))
    cluster.client.store(stored())
    await cluster.reconcile()
    assert cluster.new_writes() == []


async def test_a_refused_deletion_of_cluster_scoped_objects_is_retried() -> None:
    cluster = Cluster(live(manifest(pool(), "StorageClass")))
    cluster.refuse(StorageClass=ApiError(500, "No", "no"))
    with pytest.raises(ApiError):
        await cluster.reconcile()
