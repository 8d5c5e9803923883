"""The life of a pool: it gets storage, nodes and engines, follows its spec, and is deleted."""

from typing import Any

import pytest

from testbed.kube import Kube
from testbed.lustre.csi_driver import LustreService
from testbed.pools import Pools
from testbed.waiting import eventually

pytestmark = pytest.mark.usefixtures("operator")

DEPLOYMENT = ("apps/v1", "Deployment")
CLAIM = ("v1", "PersistentVolumeClaim")


def test_an_applied_pool_becomes_ready_with_all_its_children(pools: Pools) -> None:
    pools.create("main")
    pools.wait("main")
    status = pools.get("main")["status"]
    assert status["phase"] == "Ready"
    assert status["modelsReady"] == "1/1"
    assert [(tier["name"], tier["phase"], tier["capacity"]) for tier in status["tiers"]] == [
        ("cpu", "Configured", "100Gi"),
        ("localSSD", "Configured", "500Gi"),
        ("lustre", "Bound", "9000Gi"),
    ]
    storage_class = pools.child("storage.k8s.io/v1", "StorageClass")
    assert storage_class["parameters"]["perUnitStorageThroughput"] == "1000"
    assert pools.child(*CLAIM)["spec"]["storageClassName"] == storage_class["metadata"]["name"]
    assert pools.child("cloud.google.com/v1", "ComputeClass")["spec"]["priorities"][0]["gpu"]["count"] == 8
    assert pools.child("v1", "Service")["metadata"]["name"] == status["models"][0]["service"]


def test_nothing_that_costs_money_exists_before_the_pvc_is_bound(pools: Pools, lustre: LustreService) -> None:
    lustre.configure(create_seconds=3600)
    pools.create("waiting")
    pools.wait("waiting", "StorageReady", "False", "Provisioning")
    assert pools.children(*DEPLOYMENT) == []
    lustre.configure(create_seconds=0)


def test_replicas_follow_the_spec(pools: Pools) -> None:
    pools.create("scaled")
    pools.wait("scaled")
    model = pools.get("scaled")["spec"]["models"][0]
    pools.patch("scaled", {"models": [model | {"replicas": 2}]})
    pools.wait("scaled")
    assert pools.child(*DEPLOYMENT)["status"]["readyReplicas"] == 2


def test_the_lustre_tier_is_resized_while_engines_run(pools: Pools) -> None:
    pools.create("growing")
    pools.wait("growing")
    generation = pools.child(*DEPLOYMENT)["metadata"]["generation"]
    pools.patch("growing", {"tiers": {"lustre": {"capacity": "18000Gi"}}})

    def grown() -> bool:
        tier = pools.get("growing")["status"]["tiers"][2]
        return (tier["phase"], tier["capacity"]) == ("Bound", "18000Gi")

    eventually(grown)
    assert pools.child(*DEPLOYMENT)["metadata"]["generation"] == generation


def test_with_retain_a_deleted_pool_leaves_only_its_data(pools: Pools, lustre: LustreService) -> None:
    pools.create("retained")
    pools.wait("retained")
    pools.delete("retained")
    pools.wait_gone("retained")
    assert len(pools.children(*CLAIM)) == 1
    assert len(lustre.state().instances) == 1
    for kind in (DEPLOYMENT, ("v1", "Service"), ("storage.k8s.io/v1", "StorageClass")):
        assert pools.children(*kind) == []
    assert pools.children("cloud.google.com/v1", "ComputeClass") == []


def test_with_delete_a_deleted_pool_leaves_nothing(pools: Pools, lustre: LustreService) -> None:
    pools.create("deleted", deletionPolicy="Delete")
    pools.wait("deleted")
    pools.delete("deleted")
    pools.wait_gone("deleted")
    assert pools.children(*CLAIM) == []
    eventually(lambda: not lustre.state().instances, what="the Lustre instance was deleted")


def test_a_recreated_pool_uses_its_old_data(pools: Pools, lustre: LustreService) -> None:
    pools.create("again")
    pools.wait("again")
    volume = pools.child(*CLAIM)["spec"]["volumeName"]
    pools.delete("again")
    pools.wait_gone("again")
    pools.create("again")
    pools.wait("again")
    assert pools.child(*CLAIM)["spec"]["volumeName"] == volume
    assert len(lustre.state().instances) == 1


def test_an_opportunistic_pool_serves_before_lustre_is_ready(pools: Pools, lustre: LustreService) -> None:
    lustre.fail("CreateVolume", "Unavailable", "the service is away", times=-1)
    pools.create("eager", mode="Opportunistic")
    pools.wait("eager", reason="WithoutSharedTier")
    assert "lustre" not in _mounts(pools)
    lustre.reset()
    pools.wait("eager", reason="AllReady")
    eventually(lambda: "lustre" in _mounts(pools), what="engines mount the shared tier")


@pytest.mark.parametrize("policy", ["Retain", "Delete"])
def test_pools_are_torn_down_with_their_namespace(pools: Pools, kube: Kube, policy: str) -> None:
    pools.create("doomed", deletionPolicy=policy)
    pools.wait("doomed")
    kube.delete("v1", "Namespace", pools.namespace)
    kube.wait_gone("v1", "Namespace", pools.namespace, timeout=60.0)
    eventually(lambda: not pools.children("storage.k8s.io/v1", "StorageClass"))
    eventually(lambda: not pools.children("cloud.google.com/v1", "ComputeClass"))


def _mounts(pools: Pools) -> set[str]:
    pod: Any = pools.child(*DEPLOYMENT)["spec"]["template"]["spec"]
    return {mount["name"] for mount in pod["containers"][0]["volumeMounts"]}


def test_a_pool_deleted_before_its_storage_exists_leaves_nothing(pools: Pools, lustre: LustreService) -> None:
    lustre.fail("CreateVolume", "Unavailable", "the service is away", times=-1)
    pools.create("early")
    pools.wait("early", "StorageReady", "False", "Provisioning")
    pools.delete("early")
    pools.wait_gone("early")
    eventually(lambda: not pools.children(*CLAIM), what="a PVC without data is not retained")


def test_engines_can_be_added_during_a_resize(pools: Pools, lustre: LustreService) -> None:
    pools.create("busy")
    pools.wait("busy")
    lustre.configure(resize_seconds=3600)
    pools.patch("busy", {"tiers": {"lustre": {"capacity": "18000Gi"}}})
    pools.wait("busy", "StorageReady", "True", "Resizing")
    model = pools.get("busy")["spec"]["models"][0]
    pools.patch("busy", {"models": [model | {"replicas": 2}]})
    eventually(lambda: pools.child(*DEPLOYMENT)["status"].get("readyReplicas") == 2)


def test_a_pool_without_lustre_creates_no_storage(pools: Pools) -> None:
    pools.create("local", tiers__lustre=None)
    pools.wait("local")
    assert pools.children("storage.k8s.io/v1", "StorageClass") == []
    assert pools.children(*CLAIM) == []
    assert "StorageReady" not in {one["type"] for one in pools.get("local")["status"]["conditions"]}


def test_models_can_be_added_and_removed(pools: Pools) -> None:
    pools.create("models")
    pools.wait("models")
    first = pools.get("models")["spec"]["models"][0]
    pools.patch("models", {"models": [first, {"name": "second", "model": "example/other"}]})
    eventually(lambda: len(pools.children(*DEPLOYMENT)) == 2)
    pools.patch("models", {"models": [{"name": "second", "model": "example/other"}]})
    eventually(lambda: len(pools.children(*DEPLOYMENT)) == len(pools.children("v1", "Service")) == 1)


def test_labels_of_the_pool_change_no_selector(pools: Pools, kube: Kube) -> None:
    pools.create("labelled")
    pools.wait("labelled")
    generation = pools.child(*DEPLOYMENT)["metadata"]["generation"]
    metadata = {"metadata": {"labels": {"kvtier.dev/pool": "other", "team": "x"}}}
    kube.patch("kvtier.dev/v1alpha1", "KVCachePool", "labelled", metadata, pools.namespace)
    pools.patch("labelled", {"mode": "Opportunistic"})
    pools.wait("labelled")
    assert pools.child(*DEPLOYMENT)["metadata"]["generation"] == generation
