"""Children that others edit: fields of the pool are restored, other fields are not changed."""

import pytest

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.plan.offline import manifests
from testbed.fault_injection import FaultyCluster
from testbed.kube import Object
from testbed.pools import Pools, manifest

DEPLOYMENT = ("apps/v1", "Deployment")
CHILDREN = {
    "class": ("storage.k8s.io/v1", "StorageClass"),
    "claim": ("v1", "PersistentVolumeClaim"),
    "compute class": ("cloud.google.com/v1", "ComputeClass"),
    "engine": DEPLOYMENT,
    "service": ("v1", "Service"),
}
# The name of a Job contains the uids of pool and PVC.
ALL = CHILDREN | {"job": ("batch/v1", "Job")}


def test_an_owned_field_is_restored(operated: FaultyCluster) -> None:
    pools = operated.ready_pool()
    pools.patch_deployment({"spec": {"replicas": 7, "template": {"spec": {"enableServiceLinks": True}}}})
    operated.until(lambda: pools.deployment_spec()["replicas"] == 1)
    operated.until(lambda: pools.deployment_spec()["template"]["spec"]["enableServiceLinks"] is False)


def test_additions_of_others_stay(operated: FaultyCluster) -> None:
    pools = operated.ready_pool()
    name = pools.child(*DEPLOYMENT)["metadata"]["name"]
    template = {
        "metadata": {"annotations": {"example.com/note": "kept"}},
        "spec": {"containers": [{"name": "sidecar", "image": "example/sidecar"}]},
    }
    foreign = {
        "apiVersion": DEPLOYMENT[0],
        "kind": DEPLOYMENT[1],
        "metadata": {"name": name, "namespace": pools.namespace, "labels": {"example.com/team": "x"}},
        "spec": {"template": template},
    }
    operated.kube.apply(foreign, field_manager="somebody", force=False)
    pools.patch("pool", {"models": [pools.get("pool")["spec"]["models"][0] | {"maxNumSeqs": 7}]})
    operated.until(lambda: "--max-num-seqs=7" in str(pools.deployment_spec()))
    live = pools.child(*DEPLOYMENT)
    assert live["metadata"]["labels"]["example.com/team"] == "x"
    assert live["spec"]["template"]["metadata"]["annotations"]["example.com/note"] == "kept"
    assert {one["name"] for one in live["spec"]["template"]["spec"]["containers"]} == {
        "engine",
        "sidecar",
    }


def test_a_field_that_is_no_longer_wanted_is_removed(operated: FaultyCluster) -> None:
    pools = operated.ready_pool(models__0__env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}])
    model = pools.get("pool")["spec"]["models"][0]
    pools.patch("pool", {"models": [model | {"env": [{"name": "B", "value": "2"}]}]})

    def variables() -> set[str]:
        return {one["name"] for one in pools.deployment_spec()["template"]["spec"]["containers"][0]["env"]}

    operated.until(lambda: "A" not in variables())
    assert "B" in variables()


@pytest.mark.parametrize("kind", ALL.values(), ids=ALL)
def test_a_deleted_child_is_recreated(operated: FaultyCluster, kind: tuple[str, str]) -> None:
    pools = operated.ready_pool()
    old = pools.child(*kind)["metadata"]
    operated.kube.delete(*kind, old["name"], old.get("namespace"))
    operated.until(lambda: [c["metadata"]["uid"] for c in pools.children(*kind)] not in ([], [old["uid"]]))


@pytest.mark.parametrize("kind", ALL.values(), ids=ALL)
def test_a_child_gets_its_removed_labels_back(operated: FaultyCluster, kind: tuple[str, str]) -> None:
    pools = operated.ready_pool()
    old = pools.child(*kind)["metadata"]
    labels = {
        "app.kubernetes.io/managed-by": None,
        "kvtier.dev/pool": None,
        "kvtier.dev/pool-namespace": None,
    }
    operated.kube.patch(*kind, old["name"], {"metadata": {"labels": labels}}, old.get("namespace"))
    operated.until(lambda: [c["metadata"]["uid"] for c in pools.children(*kind)] == [old["uid"]])


@pytest.mark.parametrize("kind", ALL.values(), ids=ALL)
def test_a_child_with_the_label_of_another_pool_is_not_deleted_by_that_pool(
    operated: FaultyCluster,
    kind: tuple[str, str],
) -> None:
    pools = operated.ready_pool()
    pools.create("other", deletionPolicy="Delete", tiers__lustre=None)
    operated.until_ready(pools, "other")
    old = next(c for c in pools.children(*kind) if c["metadata"]["labels"]["kvtier.dev/pool"] == "pool")
    name, namespace = old["metadata"]["name"], old["metadata"].get("namespace")
    labels = {"kvtier.dev/pool": "other"}
    operated.kube.patch(*kind, name, {"metadata": {"labels": labels}}, namespace)

    def restored() -> bool:
        now = operated.kube.get(*kind, name, namespace)["metadata"]
        assert (now["uid"], now.get("deletionTimestamp")) == (old["metadata"]["uid"], None)
        return bool(now["labels"]["kvtier.dev/pool"] == "pool")

    operated.until(restored)


@pytest.mark.parametrize("kind", CHILDREN.values(), ids=CHILDREN)
def test_an_object_with_the_same_name_that_kvtier_did_not_create_is_never_changed(
    operated: FaultyCluster,
    kind: tuple[str, str],
) -> None:
    pools = operated.pools()
    theirs = _stranger(pools, kind)
    made = operated.kube.create(theirs)
    pools.create("pool")
    operated.until(lambda: pools.condition("pool", "Ready").get("reason") == "NotOwned")
    name, namespace = theirs["metadata"]["name"], theirs["metadata"].get("namespace")
    assert name in pools.condition("pool", "Ready")["message"]
    live = operated.kube.get(*kind, name, namespace)
    assert live["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    operated.kube.delete(*kind, name, namespace)
    operated.drop_finalizers(kind, name, namespace)
    operated.until_ready(pools, "pool")


def _stranger(pools: Pools, kind: tuple[str, str]) -> Object:
    """A child of the pool as another client would create it."""
    rendered = manifests(KVCachePool.model_validate(manifest("pool", pools.namespace)))
    (child,) = (one for one in rendered if (one["apiVersion"], one["kind"]) == kind)
    metadata = {key: child["metadata"][key] for key in ("name", "namespace") if key in child["metadata"]}
    return {**child, "metadata": metadata}
