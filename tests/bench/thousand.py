"""The operator under a thousand pools: converging, restarting, doing nothing."""

import time
from collections.abc import Iterator
from statistics import median

from bench import bed, fleet, requests
from bench.rows import Row
from testbed.control_plane.cluster import Cluster

_RESTARTS = 3
_SETTLE_SECONDS = 3.0
_IDLE_SECONDS = 60.0
_RESYNC = ("--resync-seconds", "25")
_VERIFIED = r"Verified all pools (\d+\.\d+) s after the start"


def rows() -> Iterator[Row]:
    with bed.bare() as cluster:
        yield from _converge(cluster)
        restarts = [_restart(cluster) for _ in range(_RESTARTS)]
        own, process, cpu, writes = zip(*restarts, strict=True)
        yield Row("restart_1000", median(own), "s")
        yield Row("restart_1000_process", median(process), "s")
        yield Row("restart_1000_cpu", median(cpu), "s")
        yield Row("restart_writes", sum(writes), "count")
        yield from _rest(cluster)


def _converge(cluster: Cluster) -> Iterator[Row]:
    with bed.operator(cluster) as process:
        mark, before = cluster.audit.mark(), bed.cpu_seconds(process)
        yield Row("create_1000", fleet.create(cluster), "s")
        fleet.settle(cluster)
        cpu = bed.cpu_seconds(process) - before
    seen = cluster.audit.requests(mark)
    written = requests.writes(seen)
    yield Row("converge_1000", requests.seconds(requests.creations(seen), written), "s")
    yield Row("converge_1000_cpu", cpu, "s")
    baseline = fleet.children(cluster) / fleet.SIZE + 2  # the finalizer and one status
    yield Row("writes_per_pool", len(written) / fleet.SIZE, "count", baseline)


def _restart(cluster: Cluster) -> tuple[float, float, float, int]:
    """Restart until all pools are verified. Return seconds by the operator, seconds since exec, and CPU time.

    The fourth value is the number of writes until kopf has replayed everything.
    """
    mark, started = cluster.audit.mark(), time.perf_counter()
    with bed.operator(cluster) as process:
        own = float(bed.said(process, _VERIFIED)[1])
        whole, cpu = time.perf_counter() - started, bed.cpu_seconds(process)
        time.sleep(_SETTLE_SECONDS)
    return own, whole, cpu, len(requests.writes(cluster.audit.requests(mark)))


def _rest(cluster: Cluster) -> Iterator[Row]:
    """Wait a minute without changes, with two resyncs of all pools."""
    with bed.operator(cluster, *_RESYNC) as process:
        bed.said(process, _VERIFIED)
        time.sleep(_SETTLE_SECONDS)
        yield Row("operator_rss", bed.rss_megabytes(process), "MB")
        mark = cluster.audit.mark()
        time.sleep(_IDLE_SECONDS)
        seen = cluster.audit.requests(mark)
        yield Row("operator_rss_idle", bed.rss_megabytes(process), "MB")
    yield Row("idle_writes", len(requests.writes(seen)), "count")
    yield Row("idle_lease_renewals", len(requests.lease_writes(seen)), "count")
