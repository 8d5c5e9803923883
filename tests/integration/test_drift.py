"""Children that others edit: what is the pool's is put back, what is not is left alone."""

from typing import Any

import pytest

from testbed import operator_process
from testbed.control_plane.proxy import Fault
from testbed.fault_injection import FaultyCluster
from testbed.kube import Object
from testbed.pools import Pools

DEPLOYMENT = ("apps/v1", "Deployment")
CHILDREN = {
    "class": ("storage.k8s.io/v1", "StorageClass"),
    "claim": ("v1", "PersistentVolumeClaim"),
    "compute class": ("cloud.google.com/v1", "ComputeClass"),
    "engine": DEPLOYMENT,
    "service": ("v1", "Service"),
}
# The name of a Job has the uids of pool and claim in it.
NAMED = CHILDREN
CHILDREN = NAMED | {"job": ("batch/v1", "Job")}


def test_an_owned_field_is_put_back(faulty: FaultyCluster) -> None:
    with faulty.operator():
        pools = _ready(faulty)
        _patch(pools, {"spec": {"replicas": 7, "template": {"spec": {"enableServiceLinks": True}}}})
        faulty.until(lambda: _spec(pools)["replicas"] == 1)
        faulty.until(lambda: _spec(pools)["template"]["spec"]["enableServiceLinks"] is False)


def test_what_others_add_survives(faulty: FaultyCluster) -> None:
    with faulty.operator():
        pools = _ready(faulty)
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
        faulty.kube.apply(foreign, field_manager="somebody", force=False)
        pools.patch("pool", {"models": [pools.get("pool")["spec"]["models"][0] | {"maxNumSeqs": 7}]})
        faulty.until(lambda: "--max-num-seqs=7" in str(_spec(pools)))
        live = pools.child(*DEPLOYMENT)
        assert live["metadata"]["labels"]["example.com/team"] == "x"
        assert live["spec"]["template"]["metadata"]["annotations"]["example.com/note"] == "kept"
        assert {one["name"] for one in live["spec"]["template"]["spec"]["containers"]} == {
            "engine",
            "sidecar",
        }


def test_a_field_that_is_no_longer_wanted_goes(faulty: FaultyCluster) -> None:
    with faulty.operator():
        pools = _ready(faulty, models__0__env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}])
        model = pools.get("pool")["spec"]["models"][0]
        pools.patch("pool", {"models": [model | {"env": [{"name": "B", "value": "2"}]}]})

        def variables() -> set[str]:
            return {one["name"] for one in _spec(pools)["template"]["spec"]["containers"][0]["env"]}

        faulty.until(lambda: "A" not in variables())
        assert "B" in variables()


@pytest.mark.parametrize("kind", CHILDREN.values(), ids=CHILDREN)
def test_a_deleted_child_comes_back(faulty: FaultyCluster, kind: tuple[str, str]) -> None:
    with faulty.operator():
        pools = _ready(faulty)
        old = pools.child(*kind)["metadata"]
        faulty.kube.delete(*kind, old["name"], old.get("namespace"))
        faulty.until(lambda: [c["metadata"]["uid"] for c in pools.children(*kind)] not in ([], [old["uid"]]))


@pytest.mark.parametrize("kind", CHILDREN.values(), ids=CHILDREN)
def test_a_child_whose_labels_were_taken_away_is_found_again(
    faulty: FaultyCluster, kind: tuple[str, str]
) -> None:
    with faulty.operator():
        pools = _ready(faulty)
        old = pools.child(*kind)["metadata"]
        labels = {
            "app.kubernetes.io/managed-by": None,
            "kvtier.dev/pool": None,
            "kvtier.dev/pool-namespace": None,
        }
        faulty.kube.patch(*kind, old["name"], {"metadata": {"labels": labels}}, old.get("namespace"))
        faulty.until(lambda: [c["metadata"]["uid"] for c in pools.children(*kind)] == [old["uid"]])


@pytest.mark.parametrize("kind", CHILDREN.values(), ids=CHILDREN)
def test_a_child_labelled_as_another_pool_s_by_mistake_is_not_deleted_by_that_one(
    faulty: FaultyCluster,
    kind: tuple[str, str],
) -> None:
    with faulty.operator():
        pools = _ready(faulty)
        pools.create("other", deletionPolicy="Delete", tiers__lustre=None)
        faulty.until_ready(pools, "other")
        old = next(c for c in pools.children(*kind) if c["metadata"]["labels"]["kvtier.dev/pool"] == "pool")
        name, namespace = old["metadata"]["name"], old["metadata"].get("namespace")
        labels = {"kvtier.dev/pool": "other"}
        faulty.kube.patch(*kind, name, {"metadata": {"labels": labels}}, namespace)

        def healed() -> bool:
            now = faulty.kube.get(*kind, name, namespace)["metadata"]
            assert (now["uid"], now.get("deletionTimestamp")) == (old["metadata"]["uid"], None)
            return bool(now["labels"]["kvtier.dev/pool"] == "pool")

        faulty.until(healed)


@pytest.mark.parametrize("kind", NAMED.values(), ids=NAMED)
def test_an_object_of_the_same_name_that_kvtier_did_not_make_is_never_touched(
    faulty: FaultyCluster,
    kind: tuple[str, str],
) -> None:
    with faulty.operator():
        pools = _ready(faulty)
        theirs = _stranger(pools.child(*kind))
    faulty.clear_pool(pools, "pool")
    made = faulty.kube.create(theirs)
    with faulty.operator():
        pools.create("pool")
        faulty.until(lambda: pools.condition("pool", "Ready").get("reason") == "NotOwned")
        name, namespace = theirs["metadata"]["name"], theirs["metadata"].get("namespace")
        assert name in pools.condition("pool", "Ready")["message"]
        live = faulty.kube.get(*kind, name, namespace)
        assert live["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
        faulty.kube.delete(*kind, name, namespace)
        faulty.drop_finalizers(kind, name, namespace)
        faulty.until_ready(pools, "pool")


def test_replicas_that_an_autoscaler_owns_are_never_written(faulty: FaultyCluster) -> None:
    with faulty.operator("--resync-seconds", "1") as process:
        pools = _ready(faulty, models__0__autoscaling={"provider": "External"})
        for replicas in (4, 0, 2):
            _patch(pools, {"spec": {"replicas": replicas}})
            listed = operator_process.logged(process).count("listed ")
            operator_process.await_log(process, "listed ", listed + 3)
            assert _spec(pools)["replicas"] == replicas
        faulty.until(lambda: pools.get("pool")["status"]["models"][0]["replicas"] == 2)


def test_engines_that_serve_stay_when_an_autoscaler_takes_them_over(faulty: FaultyCluster) -> None:
    with faulty.operator():
        pools = _ready(faulty, models__0__replicas=5)
        seen: set[int] = set()
        model = {key: v for key, v in pools.get("pool")["spec"]["models"][0].items() if key != "replicas"}
        pools.patch("pool", {"models": [model | {"autoscaling": {"provider": "External"}, "maxNumSeqs": 7}]})

        def applied() -> bool:
            seen.add(_spec(pools)["replicas"])
            return "--max-num-seqs=7" in str(_spec(pools))

        faulty.until(applied)
        assert seen == {_spec(pools)["replicas"]} == {5}


def test_a_number_that_an_autoscaler_has_just_set_is_not_set_back_by_a_change_of_the_spec(
    faulty: FaultyCluster,
) -> None:
    with faulty.operator("--resync-seconds", "1"):
        pools = _ready(faulty, models__0__autoscaling={"provider": "External"})
        name = pools.child(*DEPLOYMENT)["metadata"]["name"]
        faulty.proxy.await_watches("/deployments.*watch=true")
        faulty.proxy.inject(Fault("withhold", "GET", path="/deployments.*watch=true", times=None))
        late = faulty.proxy.inject(Fault("hold", "GET", r"/deployments\?limit=", times=None))
        faulty.until(lambda: late.hits)
        _patch(pools, {"spec": {"replicas": 4}})
        start = len(faulty.proxy.requests)
        pools.patch("pool", {"models": [pools.get("pool")["spec"]["models"][0] | {"maxNumSeqs": 7}]})
        faulty.until(
            lambda: any("PATCH" in one and name in one for one in faulty.proxy.requests[start:]),
            "it writes by what it knew",
        )
        faulty.proxy.remove()
        faulty.until(lambda: "--max-num-seqs=7" in str(_spec(pools)))
        assert _spec(pools)["replicas"] == 4


def test_replicas_return_to_the_spec_when_the_autoscaler_leaves_it(faulty: FaultyCluster) -> None:
    with faulty.operator():
        pools = _ready(faulty, models__0__autoscaling={"provider": "External"})
        _patch(pools, {"spec": {"replicas": 4}})
        model = {key: v for key, v in pools.get("pool")["spec"]["models"][0].items() if key != "autoscaling"}
        pools.patch("pool", {"models": [model | {"replicas": 3}]})
        faulty.until(lambda: _spec(pools)["replicas"] == 3)


def _ready(faulty: FaultyCluster, **changes: Any) -> Pools:
    pools = faulty.pools()
    pools.create("pool", **changes)
    faulty.until_ready(pools, "pool")
    return pools


def _spec(pools: Pools) -> Any:
    return pools.child(*DEPLOYMENT)["spec"]


def _patch(pools: Pools, change: Object) -> None:
    name = pools.child(*DEPLOYMENT)["metadata"]["name"]
    pools.kube.patch(*DEPLOYMENT, name, change, pools.namespace)


def _stranger(child: Object) -> Object:
    """The same object as somebody else would make it."""
    metadata = {key: child["metadata"][key] for key in ("name", "namespace") if key in child["metadata"]}
    content = {key: value for key, value in child.items() if key not in ("metadata", "status")}
    if child["kind"] == "Service":
        content["spec"] = {"ports": [{"port": 80}]}
    return {**content, "metadata": metadata}
