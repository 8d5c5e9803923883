"""Why Pods do not start is in the conditions of the pool."""

from typing import Any

import pytest

from testbed.gke.pod_failures import set_pod_failure
from testbed.kube import Kube, Object
from testbed.pools import Pools
from testbed.waiting import eventually

pytestmark = pytest.mark.usefixtures("operator")

LOCAL: dict[str, Any] = {"tiers__lustre": None, "tiers__localSSD": None}
SCALE_UP = "Node scale up in zones us-central1-a associated with this pod failed: GCE out of resources. "
AT_RISK = "Pod is at risk of not being scheduled."


def test_a_mount_that_fails_is_reported_with_its_cause(pools: Pools, kube: Kube) -> None:
    set_pod_failure(kube, pools.namespace, "mount-hangs")
    pools.create("pool", **LOCAL)
    _reports(pools, "ModelsReady", "Starting", "a firewall rule allows TCP 988 and 6988")
    set_pod_failure(kube, pools.namespace, None)
    kube.delete("v1", "Pod", _pod(pools)["metadata"]["name"], pools.namespace)
    pools.wait("pool")


def test_a_node_that_gke_cannot_create_is_reported_until_it_can(pools: Pools, kube: Kube) -> None:
    pools.create("pool", nodePool__machineType="a9-unreported-of", **LOCAL)
    _reports(pools, "ModelsReady", "Starting", "nodes are available")
    pod = _pod(pools)
    kube.create(_event(pod, "FailedScaleUp", SCALE_UP + AT_RISK))
    _reports(pools, "NodePoolReady", "CapacityUnavailable", "GCE out of resources")
    pools.wait("pool", "Ready", "False", "CapacityUnavailable")
    assert len(pools.children("apps/v1", "Deployment")) == 1
    kube.delete("v1", "Pod", pod["metadata"]["name"], pools.namespace)
    pools.wait("pool", "NodePoolReady", "True")


def _reports(pools: Pools, type_: str, reason: str, words: str) -> None:
    def reported() -> bool:
        found = pools.condition("pool", type_)
        assert found.get("reason") == reason, found
        assert words in found["message"], found
        return True

    eventually(reported, 60.0, f"{type_} is {reason}")


def _pod(pools: Pools) -> Object:
    (pod,) = [
        one
        for one in pools.kube.list("v1", "Pod", pools.namespace)
        if "deletionTimestamp" not in one["metadata"]
    ]
    return pod


def _event(pod: Object, reason: str, message: str) -> Object:
    """An Event as the autoscaler of GKE writes it."""
    metadata = pod["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{metadata['name']}.1", "namespace": metadata["namespace"]},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "uid": metadata["uid"],
        },
        "type": "Warning",
        "reason": reason,
        "message": message,
        "source": {"component": "cluster-autoscaler"},
        "firstTimestamp": metadata["creationTimestamp"],
        "lastTimestamp": metadata["creationTimestamp"],
        "count": 1,
    }
