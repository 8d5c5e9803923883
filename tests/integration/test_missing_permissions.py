"""A new image with an older ClusterRole: a kind that may not be listed stops only the pools that need it."""

from collections.abc import Iterator

import pytest

from testbed import operator_process
from testbed.fault_injection import DEPLOYMENT, FaultyCluster
from testbed.pools import API as POOL
from testbed.pools import Pools

ROLE = ("rbac.authorization.k8s.io/v1", "ClusterRole", "kvtier-operator")
CLASS = ("storage.k8s.io/v1", "StorageClass")


@pytest.fixture
def older(faulty: FaultyCluster) -> Iterator[FaultyCluster]:
    """A cluster whose ClusterRole is that of this version again after the test."""
    yield faulty
    operator_process.install(faulty.kube)


def forbid_jobs(cluster: FaultyCluster) -> None:
    """Remove the rule about Jobs, as in a ClusterRole from before kvtier created any."""
    role = cluster.kube.get(*ROLE)
    rules = [one for one in role["rules"] if one["resources"] != ["jobs"]]
    assert len(rules) == len(role["rules"]) - 1
    cluster.kube.patch(*ROLE, {"rules": rules})


def stopped(pools: Pools) -> bool:
    ready = pools.condition("pool", "Ready")
    return (ready.get("status"), ready.get("reason")) == ("Unknown", "NotReadable")


def test_only_pools_that_need_a_forbidden_kind_stop(older: FaultyCluster) -> None:
    serving, plain, shared = older.pools(), older.pools(), older.pools()
    with older.operator():
        serving.create("pool")
        older.until_ready(serving, "pool")
    forbid_jobs(older)
    engine = serving.deployment_spec()
    with older.operator("--resync-seconds", "1") as process:
        plain.create("pool", tiers__lustre=None)
        shared.create("pool")
        older.until_ready(plain, "pool")
        older.until(lambda: stopped(shared) and stopped(serving), "both pools are stopped")
        message = shared.condition("pool", "Ready")["message"]
        assert "kvtier may not list jobs.batch" in message
        assert "kubectl apply -f manifests/install.yaml" in message
        assert shared.children(*CLASS) == []
        assert serving.deployment_spec() == engine
        serving.delete("pool")
        older.until(lambda: serving.get("pool")["status"]["phase"] == "Deleting")
        assert len(serving.children(*DEPLOYMENT)) == 1, "no step of the teardown is taken"
        process.require_alive()
        operator_process.install(older.kube)
        older.until_ready(shared, "pool")
        older.until(lambda: not serving.kube.find(*POOL, "pool", serving.namespace), "the deletion goes on")
        process.require_alive()
