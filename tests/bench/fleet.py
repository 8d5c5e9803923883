"""A thousand pools, created together. The audit log shows when they are done, because polling would cost more."""

import time
from concurrent.futures import ThreadPoolExecutor

from bench.requests import writes
from kvtier.api.kinds import POOL
from kvtier.kube.client import CHILDREN
from testbed import pools
from testbed.control_plane.cluster import Cluster
from testbed.control_plane.credentials import ADMIN

SIZE = 1000
_NAMESPACES = 10
_CLIENTS = 8
_QUIET_SECONDS = 3.0
_LIMIT_SECONDS = 180.0


def create(cluster: Cluster) -> float:
    """Create all pools with several clients at once. Return the seconds."""
    for i in range(_NAMESPACES):
        cluster.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"team-{i}"}})
    started = time.perf_counter()
    with ThreadPoolExecutor(_CLIENTS) as workers:
        list(workers.map(lambda client: _create_some(cluster, client), range(_CLIENTS)))
    return time.perf_counter() - started


def _create_some(cluster: Cluster, client: int) -> None:
    kube = cluster.client(ADMIN)
    for i in range(client, SIZE, _CLIENTS):
        kube.create(pools.manifest(f"pool-{i}", f"team-{i % _NAMESPACES}", mode="Opportunistic"))


def settle(cluster: Cluster) -> None:
    """Wait until the operator does not write any more."""
    started = last = time.monotonic()
    mark = cluster.audit.mark()
    while time.monotonic() - last < _QUIET_SECONDS:
        assert time.monotonic() - started < _LIMIT_SECONDS, "the operator does not stop writing"
        time.sleep(0.5)
        new, mark = cluster.audit.requests(mark), cluster.audit.mark()
        last = time.monotonic() if writes(new) else last


def children(cluster: Cluster) -> int:
    """The number of children. Raises unless every pool has a status."""
    unreported = [pool for pool in cluster.kube.list(*pools.API) if not pool.get("status")]
    assert not unreported, f"{len(unreported)} of {POOL.plural} have no status"
    selector = "app.kubernetes.io/managed-by=kvtier"
    kinds = [(resource.api_version, resource.kind) for resource in CHILDREN]
    return sum(len(cluster.kube.list(*kind, labelSelector=selector)) for kind in kinds)
