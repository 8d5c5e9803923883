"""A control plane without other controllers, and the process of the operator."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from testbed import operator_process
from testbed.control_plane.cluster import Cluster
from testbed.control_plane.plane import ControlPlane
from testbed.gke import nodes
from testbed.policy import grant_everything
from testbed.process import Component
from testbed.waiting import eventually

_READY_SECONDS = 120.0
_RSS = re.compile(r"^VmRSS:\s+(\d+) kB$", re.MULTILINE)


@contextmanager
def bare() -> Iterator[Cluster]:
    """API server and etcd with the CRD and RBAC of kvtier, and the CSIDriver object of the Lustre driver."""
    with ControlPlane(nodes=False, csi=False, controllers=False) as cluster:
        operator_process.install_crd(cluster.kube)
        nodes.install_driver(cluster.kube)
        operator_process.install(cluster.kube)
        grant_everything(cluster.kube)
        yield cluster


@contextmanager
def operator(cluster: Cluster, *arguments: str) -> Iterator[Component]:
    """The operator as leader, after its first LIST of all pools."""
    with operator_process.operator(cluster, "--pace", "1", *arguments) as process:
        said(process, "Listed")
        yield process


def said(process: Component, pattern: str) -> re.Match[str]:
    """Wait for `pattern` in the log of the operator, and return the first match."""

    def found() -> re.Match[str] | None:
        process.require_alive()
        return re.search(pattern, process.log.read_text())

    match = eventually(found, _READY_SECONDS, f"the operator logs {pattern}")
    assert match is not None
    return match


def cpu_seconds(process: Component) -> float:
    """CPU time of a process so far, which depends less on the load of the machine than elapsed time."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rss_megabytes(process: Component) -> float:
    """Resident memory of a process now."""
    match = _RSS.search(Path(f"/proc/{process.pid}/status").read_text())
    assert match is not None
    return int(match[1]) * 1024 / 1e6
