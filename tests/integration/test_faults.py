"""Requests that fail, at every single write for a pool: the end state is the same as without faults."""

import re
from dataclasses import replace
from typing import Any

import pytest

from testbed.control_plane.proxy import Fault
from testbed.fault_injection import CHILDREN, FaultyCluster
from testbed.pools import Pools

# Finalizer, StorageClass, PVC, ComputeClass, status; after the PVC is bound: Job, status; after the Job: Deployment,
# Service, status, status.
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
def test_one_failure_at_any_write_does_not_change_the_end_state(
    operated: FaultyCluster, fault: Fault
) -> None:
    expected = end_of(operated, operated.pools())
    for index in WRITES:
        pools = operated.pools()
        one = replace(fault, path=pools.namespace, after=index, seen=[])
        with operated.proxy.injecting(one):
            assert end_of(operated, pools) == expected
        assert one.hits == 1, f"there is no write number {index}"


@pytest.mark.parametrize(("status", "reason"), [(422, "Invalid"), (403, "Forbidden")])
def test_a_child_that_is_refused_every_time_is_named_and_does_not_delay_other_pools(
    operated: FaultyCluster,
    status: int,
    reason: str,
) -> None:
    refused, fine = operated.pools(), operated.pools()
    fault = Fault(
        "answer", path=f"{refused.namespace}/services", times=None, status=status, message="no such luck"
    )
    with operated.proxy.injecting(fault):
        refused.create("pool")
        operated.until(lambda: refused.condition("pool", "ModelsReady").get("reason") == reason)
        assert "no such luck" in refused.condition("pool", "ModelsReady")["message"]
        assert refused.condition("pool", "Ready")["status"] == "False"
        assert len(refused.children("apps/v1", "Deployment")) == 1, "the other children are created"
        fine.create("pool")
        operated.until_ready(fine, "pool")
        operated.until(lambda: fault.hits >= 6)
        gaps = [after - before for before, after in zip(fault.seen, fault.seen[1:], strict=False)]
        assert gaps[-1] > 2 * gaps[-3], "attempts become rarer"
        operated.proxy.remove(fault)
        operated.until_ready(refused, "pool")


def end_of(faulty: FaultyCluster, pools: Pools, create: bool = True) -> list[Any]:
    """The end state of a pool, without what depends on its namespace."""
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
