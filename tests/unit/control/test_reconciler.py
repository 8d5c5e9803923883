"""One pool, once: what is written, and what is reported."""

import json

import pytest

from kvtier.api.names import FINALIZER
from kvtier.kube.client import ApiError
from kvtier.sizing.models import config_of
from unit.builders import claim, live, manifest, merged, model, pool
from unit.control.reconciling import PLAIN, Cluster, refusing, stored
from unit.memory import Write


async def test_a_new_pool_is_held_before_anything_is_made_and_reported_at_the_end() -> None:
    cluster = Cluster(stored(**PLAIN))
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
    cluster = Cluster(stored())
    for _ in range(3):
        await cluster.reconcile()
    assert cluster.written
    await cluster.reconcile()
    assert cluster.written == []


async def test_a_list_that_the_api_server_leaves_out_is_an_empty_one() -> None:
    cluster = Cluster(stored(**PLAIN))
    for _ in range(3):
        await cluster.reconcile()
    told = cluster.client.find("KVCachePool")
    assert told["status"]["operations"] == []
    del told["status"]["operations"]
    cluster.store.put("KVCachePool", merged(told, {"metadata": {"resourceVersion": "9999"}}))
    assert cluster.written
    await cluster.reconcile()
    assert cluster.written == []


async def test_a_document_in_a_config_map_counts_from_the_first_look_on() -> None:
    named = model(
        model="someone/own", tensorParallelSize=1, modelConfigFrom={"configMapKeyRef": {"name": "configs"}}
    )
    cluster = Cluster(stored(models=[named], **PLAIN))
    config = {"config.json": json.dumps(config_of("meta-llama/Llama-3.1-8B-Instruct"))}
    metadata = {"name": "configs", "namespace": "team-a"}
    cluster.client.store({"kind": "ConfigMap", "metadata": metadata, "data": config})
    await cluster.reconcile()
    (told,) = cluster.status()["models"]
    assert (told["bytesPerToken"], told["blocksPerChunk"]) == (131_072, 16)
    assert [tier["tokens"] for tier in cluster.status()["tiers"]] == [819_200]


async def test_what_the_writes_answered_is_in_the_status_at_once() -> None:
    cluster = Cluster(stored(**PLAIN))
    again = await cluster.reconcile()
    (told,) = cluster.status()["models"]
    assert told["service"] == cluster.client.find("Service")["metadata"]["name"]
    assert again == 20.0, "engines start, and Events about them are not watched"


async def test_answers_that_call_for_more_writes_are_followed_up_at_once() -> None:
    cluster = Cluster(stored())
    cluster.client.store(claim(pool()))
    assert await cluster.reconcile() == 0.0, "the answer to the claim was that it is bound"
    assert ("apply", "Job") not in cluster.written
    assert await cluster.reconcile() != 0.0
    assert ("apply", "Job") in cluster.written


async def test_an_event_follows_the_status_that_it_is_about() -> None:
    cluster = Cluster(stored(models=[model(tokenSecretRef={"name": "hf"})], **PLAIN))
    await cluster.reconcile()
    assert cluster.written[-2:] == [("status", "KVCachePool"), ("apply", "Event")]
    assert cluster.client.find("Event")["reason"] == "SecretMissing"


async def test_a_refused_write_is_reported_and_tried_again() -> None:
    cluster = Cluster(stored(**PLAIN))
    cluster.client.refuse = refusing("Deployment", ApiError(403, "Forbidden", "exceeded quota"))
    with pytest.raises(ApiError, match="exceeded quota"):
        await cluster.reconcile()
    conditions = {one["type"]: one for one in cluster.status()["conditions"]}
    assert conditions["ModelsReady"]["reason"] == "Forbidden"
    assert cluster.status()["phase"] == "Blocked"


async def test_of_several_refusals_the_longest_wait_counts() -> None:
    cluster = Cluster(stored(**PLAIN))
    waits = {"Deployment": 1.0, "Service": 30.0}

    def refuse(write: Write) -> ApiError | None:
        return ApiError(429, "TooMany", "later", retry_after=waits[write[1]]) if write[1] in waits else None

    cluster.client.refuse = refuse
    with pytest.raises(ApiError) as refusal:
        await cluster.reconcile()
    assert refusal.value.retry_after == 30.0


async def test_a_refused_status_is_tried_again() -> None:
    cluster = Cluster(stored(**PLAIN))
    cluster.client.refuse = lambda write: ApiError(500, "No", "no") if write[0] == "status" else None
    with pytest.raises(ApiError):
        await cluster.reconcile()


async def test_a_spec_that_an_older_crd_let_in_is_reported_and_nothing_else_changes() -> None:
    kept = {"tiers": [{"name": "lustre", "phase": "Bound", "capacity": "18000Gi"}], "modelsReady": "1/1"}
    cluster = Cluster(stored(mode="Sometimes", status=kept), live(manifest(pool(), "Service")))
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
    cluster = Cluster(stored(mode="Sometimes", status={"tiers": "none"}))
    await cluster.reconcile()
    assert cluster.status()["phase"] == "Blocked"
