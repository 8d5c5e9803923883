"""One pool at a time: from its creation to the last child, compared with a client that writes the same children."""

import time
from collections.abc import Iterator
from statistics import median
from typing import Any

import yaml

from bench import bed, requests
from bench.rows import Row
from kvtier.api.names import LABEL_MANAGED_BY
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.plan.offline import manifests
from testbed import pools
from testbed.control_plane.cluster import Cluster
from testbed.kube import Kube
from testbed.waiting import eventually

_POOLS = 15
_NAMESPACE = "default"


def rows() -> Iterator[Row]:
    """The three ways alternate, so that other load on the machine affects all of them."""
    with bed.bare() as cluster, bed.operator(cluster):
        _by_kvtier(cluster, "warm")
        turns = [
            (
                _by_kvtier(cluster, f"own-{i}"),
                _by_kubectl(cluster, f"kubectl-{i}"),
                _by_hand(cluster.kube, f"raw-{i}"),
            )
            for i in range(_POOLS)
        ]
    ours, kubectl, raw = (median(times) for times in zip(*turns, strict=True))
    yield Row("apply_one_pool", ours, "s", kubectl)
    yield Row("apply_one_pool_raw", ours, "s", raw)


def _by_kvtier(cluster: Cluster, name: str) -> float:
    mark, wanted = cluster.audit.mark(), len(_children(name))
    cluster.kube.create(_pool(name))
    eventually(lambda: len(requests.child_writes(cluster.audit.requests(mark))) >= wanted)
    seen = cluster.audit.requests(mark)
    return requests.seconds(requests.creations(seen), requests.child_writes(seen))


def _by_kubectl(cluster: Cluster, name: str) -> float:
    text = yaml.safe_dump_all(_children(name))
    started = time.perf_counter()
    cluster.kubectl("apply", "--server-side", "-f", "-", input=text)
    return time.perf_counter() - started


def _by_hand(kube: Kube, name: str) -> float:
    """One request after the other over one connection: the shortest time for these writes in sequence."""
    children = _children(name)
    started = time.perf_counter()
    for manifest in children:
        kube.apply(manifest)
    return time.perf_counter() - started


def _children(name: str) -> list[dict[str, Any]]:
    """What kvtier would write, but without its label, so that the operator does not change it."""
    found = manifests(KVCachePool.model_validate(_pool(name)))
    for manifest in found:
        manifest["metadata"]["labels"] |= {LABEL_MANAGED_BY: "bench"}
    return found


def _pool(name: str) -> dict[str, Any]:
    return pools.manifest(name, _NAMESPACE, mode="Opportunistic")
