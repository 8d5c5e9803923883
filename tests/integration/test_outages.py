"""An API server that is down, silent or not set up yet: the operator recovers without a restart."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from testbed import operator_process
from testbed.control_plane.proxy import Fault
from testbed.fault_injection import FaultyCluster
from testbed.pools import Pools

SERVICE = ("v1", "Service")
CLASS = ("storage.k8s.io/v1", "StorageClass")
CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "kvcachepools.kvtier.dev")


def test_children_deleted_during_an_outage_come_back_after_it(faulty: FaultyCluster) -> None:
    pools = faulty.pools()
    with faulty.operator("--resync-seconds", "2") as process:
        pools.create("pool")
        faulty.until_ready(pools, "pool")
        pid, old = process.pid, _uids(pools)
        with faulty.proxy.outage():
            for kind in (SERVICE, CLASS):
                child = pools.child(*kind)["metadata"]
                faulty.kube.delete(*kind, child["name"], child.get("namespace"))
        faulty.until(lambda: len(new := _uids(pools)) == 2 and not new & old, "both are new")
        process.require_alive()
        assert process.pid == pid


def test_the_operator_continues_after_a_restart_of_the_api_server(faulty: FaultyCluster) -> None:
    before, after = faulty.pools(), faulty.pools()
    with faulty.operator() as process:
        before.create("pool")
        faulty.until_ready(before, "pool")
        faulty.plane.restart_apiserver()
        after.create("pool")
        faulty.until(lambda: operator_process.revive(process) and _ready(after), "the new pool is ready")


def test_the_resync_finds_an_edit_that_no_watch_reported(faulty: FaultyCluster) -> None:
    pools = faulty.pools()
    with faulty.operator("--resync-seconds", "1"):
        pools.create("pool")
        faulty.until_ready(pools, "pool")
        with _silent(faulty, "kvcachepools"):
            pools.patch("pool", {"models": [{"name": "other", "model": "example/other"}]})
            faulty.until(lambda: _models(pools) == {"other"})


def test_the_resync_finds_a_deletion_that_no_watch_reported(faulty: FaultyCluster) -> None:
    pools = faulty.pools()
    with faulty.operator("--resync-seconds", "1"):
        pools.create("pool")
        faulty.until_ready(pools, "pool")
        old = pools.child(*SERVICE)["metadata"]
        with _silent(faulty, "services"):
            faulty.kube.delete(*SERVICE, old["name"], pools.namespace)
            faulty.until(
                lambda: [s["metadata"]["uid"] for s in pools.children(*SERVICE)] not in ([], [old["uid"]])
            )


def test_watches_that_break_are_opened_again(faulty: FaultyCluster) -> None:
    pools = faulty.pools()
    with faulty.operator():
        faulty.proxy.await_watches("kvcachepools.*watch=true")
        faulty.proxy.cut_watches()
        pools.create("pool")
        faulty.until_ready(pools, "pool")


@pytest.fixture
def without_crd(faulty: FaultyCluster) -> Iterator[FaultyCluster]:
    """A cluster without the CRD of KVCachePool. The CRD is installed again after the test."""
    faulty.kube.delete(*CRD)
    faulty.kube.wait_gone(*CRD)
    yield faulty
    operator_process.install_crd(faulty.kube)


def test_a_missing_crd_is_reported_in_the_log_and_waited_for(without_crd: FaultyCluster) -> None:
    with without_crd.operator() as process:
        operator_process.await_log(process, "kvtier crd | kubectl apply")
        operator_process.install_crd(without_crd.kube)
        pools = without_crd.pools()
        pools.create("pool")
        without_crd.until_ready(pools, "pool")


def test_a_missing_permission_is_reported_in_the_log_and_waited_for(faulty: FaultyCluster) -> None:
    message = 'nodes is forbidden: cannot list resource "nodes"'
    fault = Fault("answer", "GET", path="/nodes.limit", times=None, status=403, message=message)
    pools = faulty.pools()
    with faulty.operator() as process, faulty.proxy.injecting(fault):
        pools.create("pool")
        operator_process.await_log(process, message)
        assert pools.children("storage.k8s.io/v1", "StorageClass") == []
        faulty.proxy.remove(fault)
        faulty.until_ready(pools, "pool")


@contextmanager
def _silent(faulty: FaultyCluster, resource: str) -> Iterator[None]:
    """The watch of a resource is open, but reports nothing."""
    path = f"{resource}.*watch=true"
    faulty.proxy.await_watches(path)
    with faulty.proxy.injecting(Fault("withhold", "GET", path=path, times=None)):
        yield


def _uids(pools: Pools) -> set[str]:
    """The uids of the children that these tests delete."""
    found = [*pools.children(*SERVICE), *pools.children(*CLASS)]
    return {child["metadata"]["uid"] for child in found}


def _models(pools: Pools) -> set[str]:
    deployments = pools.children("apps/v1", "Deployment")
    return {one["spec"]["selector"]["matchLabels"]["kvtier.dev/model"] for one in deployments}


def _ready(pools: Pools) -> bool:
    return bool(pools.condition("pool", "Ready").get("status") == "True")
