"""Several operators: two replicas, one that is killed, and one that starts after changes."""

import re
from contextlib import ExitStack
from functools import partial

from integration.test_faults import WRITES as WRITES_OF_POOL
from integration.test_faults import end_of
from testbed import operator_process
from testbed.control_plane.proxy import WRITES, Fault
from testbed.fault_injection import CHILDREN, FaultyCluster
from testbed.process import Component
from testbed.waiting import eventually

CHILD_KINDS = len(CHILDREN)


def _leads(process: Component) -> bool:
    return "Leading as" in operator_process.logged(process)


def test_one_of_two_replicas_leads_and_the_other_takes_over_at_once_when_it_stops(
    faulty: FaultyCluster,
) -> None:
    with faulty.operator() as first:
        operator_process.await_log(first, "Leading as")
        with faulty.operator() as second:
            # It tries to take the Lease every 2 s, so an attempt has failed before it watches.
            pools = faulty.pools()
            pools.create("before")
            faulty.until_ready(pools, "before")
            assert not _leads(second)
            operator_process.stop(first)
            operator_process.await_log(second, "Leading as")
            assert "The Lease could not be renewed" not in operator_process.logged(first)
            pools.create("after")
            faulty.until_ready(pools, "after")
    assert faulty.lease()["holderIdentity"] == "", "the last one releases the Lease too"


def test_another_replica_leads_when_the_lease_of_a_killed_leader_expires(faulty: FaultyCluster) -> None:
    with faulty.operator() as first:
        operator_process.await_log(first, "Leading as")
        with faulty.operator() as second:
            operator_process.stop(first, force=True)
            holder, transitions = faulty.lease()["holderIdentity"], faulty.lease()["leaseTransitions"]
            operator_process.await_log(second, "Leading as", timeout=60.0)
            assert faulty.lease()["holderIdentity"] != holder
            assert faulty.lease()["leaseTransitions"] == transitions + 1
            pools = faulty.pools()
            pools.create("pool")
            faulty.until_ready(pools, "pool")


def test_a_crash_at_any_write_does_not_change_the_end_state(faulty: FaultyCluster) -> None:
    with ExitStack() as running:
        process = running.enter_context(faulty.operator())
        expected = end_of(faulty, faulty.pools())
        for index in WRITES_OF_POOL:
            pools = faulty.pools()
            kill = partial(process.terminate, force=True)
            killed = faulty.proxy.inject(Fault("hold", path=pools.namespace, after=index, on_hit=kill))
            pools.create("pool")
            faulty.until(partial(getattr, killed, "hits"), f"write number {index}")
            faulty.proxy.remove(killed)
            faulty.drop_lease()
            process = running.enter_context(faulty.operator())
            assert end_of(faulty, pools, create=False) == expected


def test_a_leader_whose_lease_is_taken_ends(faulty: FaultyCluster) -> None:
    with faulty.operator() as process:
        operator_process.await_log(process, "Leading as")
        faulty.steal_lease("somebody-else")
        operator_process.await_log(process, "leadership was lost", timeout=60.0)


def test_a_leader_whose_renewal_hangs_stops_before_another_leads(faulty: FaultyCluster) -> None:
    pools = faulty.pools()
    with faulty.operator() as first:
        operator_process.await_log(first, "Leading as")
        pools.create("pool")
        faulty.until_ready(pools, "pool")
        with operator_process.operator(faulty.plane) as second:
            faulty.proxy.inject(Fault("hold", "GET|PUT", "/leases/", times=None))
            operator_process.await_log(second, "Leading as", timeout=60.0)
            since = len(faulty.proxy.requests)
            pools.patch("pool", {"models": [pools.get("pool")["spec"]["models"][0] | {"replicas": 3}]})
            faulty.until_ready(pools, "pool")
            operator_process.await_log(first, "The Lease could not be renewed")
            assert [one for one in faulty.proxy.requests[since:] if re.match(WRITES, one)] == []


def test_a_replica_that_sees_children_of_a_pool_with_a_long_name_before_the_pool_deletes_nothing(
    faulty: FaultyCluster,
) -> None:
    pools, name = faulty.pools(), "long-" + "x" * 80
    with faulty.operator() as first:
        pools.create(name)
        faulty.until_ready(pools, name)
        faulty.proxy.await_watches("/kvcachepools.*watch=true")
        start = len(faulty.proxy.requests)
        late = faulty.proxy.inject(Fault("hold", "GET", r"v1alpha1/kvcachepools\?limit=\d+$"))
        with faulty.operator() as second:
            eventually(lambda: late.hits and _watches(faulty, start) >= CHILD_KINDS, 40.0)
            faulty.proxy.remove(late)
            mark = faulty.plane.audit.mark()
            operator_process.stop(first)
            operator_process.await_log(second, "Verified all pools")
            pools.patch(name, {"models": [{"name": "other", "model": "example/other"}]})
            faulty.until_ready(pools, name)
    writes = faulty.plane.audit.writes(mark, operator_process.USER)
    assert [one for one in writes if one.resource in ("storageclasses", "computeclasses")] == []


def _watches(faulty: FaultyCluster, since: int) -> int:
    """How many kinds of children are watched since a request."""
    return len({one for one in faulty.proxy.requests[since:] if "watch=true" in one and "managed-by" in one})


def test_a_pool_that_is_deleted_without_an_operator_is_torn_down_by_the_next_one(
    faulty: FaultyCluster,
) -> None:
    pools = faulty.pools()
    with faulty.operator():
        pools.create("pool")
        faulty.until_ready(pools, "pool")
    pools.delete("pool")
    assert pools.get("pool")["metadata"]["deletionTimestamp"], "the finalizer keeps it"
    with faulty.operator("--resync-seconds", "1"):
        faulty.until(
            lambda: faulty.kube.find("kvtier.dev/v1alpha1", "KVCachePool", "pool", pools.namespace) is None
        )
    assert pools.children("storage.k8s.io/v1", "StorageClass") == []
    assert len(pools.children("v1", "PersistentVolumeClaim")) == 1, "Retain"


def test_cluster_scoped_objects_are_deleted_after_a_finalizer_was_removed_by_force(
    faulty: FaultyCluster,
) -> None:
    pools = faulty.pools()
    with faulty.operator():
        pools.create("pool")
        faulty.until_ready(pools, "pool")
    pools.delete("pool")
    faulty.drop_finalizers(("kvtier.dev/v1alpha1", "KVCachePool"), "pool", pools.namespace)
    with faulty.operator("--resync-seconds", "1"):
        faulty.until(lambda: not pools.children("storage.k8s.io/v1", "StorageClass"))
        faulty.until(lambda: not pools.children("cloud.google.com/v1", "ComputeClass"))
    assert len(pools.children("v1", "PersistentVolumeClaim")) == 1, "data stays"
