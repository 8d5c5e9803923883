"""Requests that fail, at every single write of a pool's life: the end is the same as without."""

import re
from functools import partial
from typing import Any

import pytest

from testbed import operator_process
from testbed.control_plane.proxy import Fault
from testbed.fault_injection import CHILDREN, FaultyCluster
from testbed.pools import Pools

# Finalizer, class, claim, ComputeClass, status; once the claim is bound, Job, status; once the tier is proven, engine,
# service, status, status.
WRITES = range(11)
_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ONCE = {
    "a conflict": Fault("answer", status=409),
    "an overload": Fault("answer", status=429, retry_after=1),
    "an internal error": Fault("answer", status=500),
    "an unavailable server": Fault("answer", status=503),
    "a connection that breaks before": Fault("drop"),
    "an answer that is lost": Fault("lose"),
}


@pytest.mark.parametrize("fault", ONCE.values(), ids=ONCE)
def test_one_failure_at_any_write_changes_nothing_in_the_end(faulty: FaultyCluster, fault: Fault) -> None:
    with faulty.operator():
        expected = _end_of(faulty, faulty.pools())
        for index in WRITES:
            pools = faulty.pools()
            one = Fault(
                fault.action,
                path=pools.namespace,
                after=index,
                status=fault.status,
                retry_after=fault.retry_after,
            )
            with faulty.proxy.injecting(one):
                assert _end_of(faulty, pools) == expected
            assert one.hits == 1, f"there is no write number {index}"


def test_a_crash_at_any_write_changes_nothing_in_the_end(faulty: FaultyCluster) -> None:
    with faulty.operator():
        expected = _end_of(faulty, faulty.pools())
    for index in WRITES:
        pools = faulty.pools()
        with faulty.operator() as process:
            killed = Fault(
                "hold", path=pools.namespace, after=index, on_hit=partial(process.terminate, force=True)
            )
            faulty.proxy.inject(killed)
            pools.create("pool")
            faulty.until(partial(getattr, killed, "hits"), f"write number {index}")
        faulty.proxy.remove(killed)
        faulty.drop_lease()
        with faulty.operator():
            assert _end_of(faulty, pools, create=False) == expected


@pytest.mark.parametrize(("status", "reason"), [(422, "Invalid"), (403, "Forbidden")])
def test_a_child_that_is_refused_for_good_is_named_and_holds_nobody_else_up(
    faulty: FaultyCluster,
    status: int,
    reason: str,
) -> None:
    refused, fine = faulty.pools(), faulty.pools()
    fault = Fault(
        "answer", path=f"{refused.namespace}/services", times=None, status=status, message="no such luck"
    )
    with faulty.operator(), faulty.proxy.injecting(fault):
        refused.create("pool")
        faulty.until(lambda: refused.condition("pool", "ModelsReady").get("reason") == reason)
        assert "no such luck" in refused.condition("pool", "ModelsReady")["message"]
        assert refused.condition("pool", "Ready")["status"] == "False"
        assert len(refused.children("apps/v1", "Deployment")) == 1, "the other children are made"
        fine.create("pool")
        faulty.until_ready(fine, "pool")
        faulty.until(lambda: fault.hits >= 6)
        gaps = [after - before for before, after in zip(fault.seen, fault.seen[1:], strict=False)]
        assert gaps[-1] > 2 * gaps[-3], "attempts become rarer"
        faulty.proxy.remove(fault)
        faulty.until_ready(refused, "pool")


def test_a_missing_permission_is_said_in_the_log_and_waited_for(faulty: FaultyCluster) -> None:
    message = 'nodes is forbidden: cannot list resource "nodes"'
    fault = Fault("answer", "GET", path="/nodes.limit", times=None, status=403, message=message)
    pools = faulty.pools()
    with faulty.operator() as process, faulty.proxy.injecting(fault):
        pools.create("pool")
        operator_process.await_log(process, message)
        assert pools.children("storage.k8s.io/v1", "StorageClass") == []
        faulty.proxy.remove(fault)
        faulty.until_ready(pools, "pool")


def _end_of(faulty: FaultyCluster, pools: Pools, create: bool = True) -> list[Any]:
    """All that a pool has become, without what is peculiar to its namespace."""
    if create:
        pools.create("pool")
    faulty.until_ready(pools, "pool")
    faulty.until(lambda: not _stamped(pools.get("pool")), "the finalizer and status are written")
    children = [_plain(child, pools.namespace) for kind in CHILDREN for child in pools.children(*kind)]
    status = pools.get("pool")["status"]
    conditions = [(one["type"], one["status"], one["reason"]) for one in status["conditions"]]
    return [children, conditions, status["phase"], _UID.sub("UID", repr(status["tiers"]))]


def _stamped(pool: Any) -> bool:
    return "kvtier.dev/teardown" not in pool["metadata"].get("finalizers", [])


def _plain(child: Any, namespace: str) -> Any:
    """A child without what the API server adds, and with digests and the namespace made equal."""
    content = {key: value for key, value in child.items() if key not in ("metadata", "status")}
    text = repr((content, child["metadata"]["labels"])).replace(namespace, "NAMESPACE")
    text = _UID.sub("UID", text)
    text = re.sub(r"'clusterIPs?': [^]}]*?[],]", "", re.sub(r"'kv[a-z0-9]{6}'", "FILESYSTEM", text))
    return re.sub(r"[0-9a-f]{8,16}", "DIGEST", re.sub(r"-[0-9a-f]{4}-", "-", text))
