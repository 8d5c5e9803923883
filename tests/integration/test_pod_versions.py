"""`podTemplate` with a CRD and an operator of different versions. The older CRD has free-form items in it."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from testbed import operator_process
from testbed.fault_injection import FaultyCluster
from testbed.kube import Object, install_crds
from testbed.pools import Pools
from unit.api.pod_fields import ADDITIONS, SIDECAR

DEPLOYMENT = ("apps/v1", "Deployment")
FREE_FORM = (
    "tolerations",
    "topologySpreadConstraints",
    "volumes",
    "volumeMounts",
    "initContainers",
    "containers",
)
OLD_FIELDS = (
    *(
        "labels",
        "annotations",
        "serviceAccountName",
        "priorityClassName",
        "runtimeClassName",
        "schedulerName",
    ),
    *("terminationGracePeriodSeconds", *FREE_FORM),
)
HALF = {"limits": {"cpu": 0.5}}
"""Valid in a Pod, and stored by the older CRD, but not a value of the newer schema."""


def _older() -> Object:
    definition: Object = yaml.safe_load(
        (operator_process.ROOT / "crds" / "kvtier.dev_kvcachepools.yaml").read_text()
    )
    spec = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    template = spec["properties"]["models"]["items"]["properties"]["podTemplate"]
    template["properties"] = {name: template["properties"][name] for name in OLD_FIELDS}
    for name in FREE_FORM:
        items = template["properties"][name]["items"]
        keys = template["properties"][name].get("x-kubernetes-list-map-keys", [])
        template["properties"][name]["items"] = {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "required": [*keys, *(["name"] if name == "volumeMounts" else [])],
            "properties": {
                key: items["properties"][key] for key in (*keys, "name") if key in items["properties"]
            },
        }
    return definition


@pytest.fixture
def older(faulty: FaultyCluster) -> Iterator[FaultyCluster]:
    """A cluster with the older CRD. The CRD is that of this version again after the test."""
    install_crds(faulty.kube, [_older()])
    yield faulty
    operator_process.install_crd(faulty.kube)


def _given(**changes: Any) -> Object:
    """Additions that the older CRD has. No service account and class, so that simulated Pods are created."""
    old = {name: ADDITIONS[name] for name in FREE_FORM}
    return {**old, "annotations": {"a": "b"}, **changes}


def _deployment(pools: Pools) -> Object:
    found: Object = pools.child(*DEPLOYMENT)
    return found


def _scale(pools: Pools, replicas: int) -> None:
    model = pools.get("pool")["spec"]["models"][0] | {"replicas": replicas}
    pools.patch("pool", {"models": [model]})


def _stored(pools: Pools, given: Object) -> bool:
    """Whether the API server keeps the additions. It uses a new schema a moment after it serves the CRD."""
    model = pools.get("pool")["spec"]["models"][0] | {"podTemplate": given}
    pools.patch("pool", {"models": [model]})
    return set(given) <= set(pools.get("pool")["spec"]["models"][0]["podTemplate"])


def test_pools_that_an_older_crd_has_stored_keep_serving_with_the_newer(older: FaultyCluster) -> None:
    pools = older.pools()
    containers = [SIDECAR, {"name": "half", "image": "x", "resources": HALF}]
    pools.create("pool", tiers__lustre=None, models__0__podTemplate=_given(containers=containers))
    with older.operator("--resync-seconds", "1"):
        older.until_ready(pools, "pool")
        before = _deployment(pools)
        operator_process.install_crd(older.kube)
        _scale(pools, 2)
        older.until(lambda: _deployment(pools)["spec"]["replicas"] == 2)
        older.until_ready(pools, "pool")
        after = _deployment(pools)
        assert after["spec"]["template"] == before["spec"]["template"]
        assert after["metadata"]["generation"] == before["metadata"]["generation"] + 1, (
            "only for the replicas"
        )


def test_an_older_crd_prunes_newer_additions_and_the_operator_says_so(older: FaultyCluster) -> None:
    pools = older.pools()
    given = _given(dnsPolicy="Default", lifecycle=ADDITIONS["lifecycle"])
    pools.create("pool", tiers__lustre=None, models__0__podTemplate=given)
    with older.operator("--resync-seconds", "1") as process:
        operator_process.await_log(process, "It lacks spec.models[].podTemplate.")
        older.until_ready(pools, "pool")
        pod = _deployment(pools)["spec"]["template"]["spec"]
        assert pod["dnsPolicy"] == "ClusterFirst"
        assert "lifecycle" not in pod["containers"][0]
        assert [one["name"] for one in pod["containers"]] == ["engine", SIDECAR["name"]]
        operator_process.install_crd(older.kube)
        older.until(lambda: _stored(pools, given), "the newer schema is in use")
        older.until(lambda: _deployment(pools)["spec"]["template"]["spec"]["dnsPolicy"] == "Default")
        older.until_ready(pools, "pool")
