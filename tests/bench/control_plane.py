"""How long a developer waits for the test bed."""

import time
from collections.abc import Iterator
from statistics import median

from bench.rows import Row
from testbed.control_plane import binaries
from testbed.control_plane.plane import ControlPlane

_REPEATS = 3


def rows() -> Iterator[Row]:
    binaries.ensure()
    times = [_start(ControlPlane(nodes=False, csi=False, controllers=False)) for _ in range(_REPEATS)]
    yield Row("control_plane_ready", median(times), "s")
    yield Row("control_plane_whole", _start(ControlPlane()), "s")


def _start(bed: ControlPlane) -> float:
    started = time.perf_counter()
    with bed:
        return time.perf_counter() - started
