"""A pool with LMCache servers on a real control plane. Its Pods are simulated by kwok."""

from pathlib import Path
from typing import Any

import pytest

from testbed.control_plane.cluster import Cluster
from testbed.kube import Kube
from testbed.pools import Pools
from testbed.waiting import eventually

pytestmark = pytest.mark.usefixtures("operator")
POLICY = Path(__file__).parents[2] / "manifests" / "network-policy.yaml"
MODEL = {
    "name": "chat",
    "model": "example/model",
    "tensorParallelSize": 8,
    "engine": {"backend": "LMCache", "version": "0.33", "lmcache": {"version": "0.5.6"}},
}


def _pod(pools: Pools) -> Any:
    (deployment,) = pools.children("apps/v1", "Deployment")
    return deployment["spec"]["template"]["spec"]


def test_engines_with_a_cache_server_become_ready(pools: Pools) -> None:
    pools.create("cached", models=[MODEL])
    pools.wait("cached")
    (server,) = _pod(pools)["initContainers"]
    (engine,) = _pod(pools)["containers"]
    assert (server["name"], server["restartPolicy"]) == ("cache-server", "Always")
    assert {mount["mountPath"] for mount in server["volumeMounts"]} >= {"/dev/shm", "/kv/ssd", "/kv/lustre"}
    assert "LMCacheMPConnector" in engine["args"][-1]


def test_ready_engines_are_not_written_again(pools: Pools) -> None:
    """Fields that the API server adds to an init container do not count as a change."""
    pools.create("still", models=[MODEL])
    pools.wait("still")
    (before,) = pools.children("apps/v1", "Deployment")
    pools.patch("still", {"mode": "Opportunistic"})
    pools.wait("still")
    (after,) = pools.children("apps/v1", "Deployment")
    assert after["metadata"]["generation"] == before["metadata"]["generation"]


def test_a_change_of_the_backend_rolls_out_pods_and_removes_the_cache_server(pools: Pools) -> None:
    pools.create("changed", models=[MODEL])
    pools.wait("changed")
    pools.patch("changed", {"models": [{**MODEL, "engine": {"backend": "Native", "version": "0.33"}}]})
    eventually(lambda: "initContainers" not in _pod(pools), what="the cache server was removed")
    pools.wait("changed")
    assert {mount["mountPath"] for mount in _pod(pools)["containers"][0]["volumeMounts"]} >= {"/kv/lustre"}


def test_a_policy_for_the_servers_port_selects_the_engines(
    control_plane: Cluster, kube: Kube, pools: Pools
) -> None:
    control_plane.kubectl("-n", pools.namespace, "apply", "--validate=strict", "-f", str(POLICY))
    pools.create("guarded", models=[MODEL])
    pools.wait("guarded")
    (policy,) = kube.list("networking.k8s.io/v1", "NetworkPolicy", pools.namespace)
    (label,) = policy["spec"]["podSelector"]["matchExpressions"]
    (pod,) = kube.list("v1", "Pod", pools.namespace, labelSelector=label["key"])
    ports = {
        port["containerPort"]
        for container in (*pod["spec"]["initContainers"], *pod["spec"]["containers"])
        for port in container["ports"]
    }
    named = {port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]}
    assert named == ports
