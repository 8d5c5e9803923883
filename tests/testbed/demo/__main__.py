"""`python -m testbed.demo`: watch a pool come up, change and go on a simulated GKE cluster."""

import argparse
import io
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

import requests
from rich.console import Console

from testbed import operator_process
from testbed.control_plane import binaries
from testbed.control_plane.cluster import Cluster
from testbed.control_plane.plane import ControlPlane
from testbed.demo.guard import guarded
from testbed.demo.terminal import View, view
from testbed.demo.walkthrough import SAMPLE, DemoError, Times, Walkthrough
from testbed.kube import ApiError
from testbed.process import Component
from testbed.waiting import eventually

_SIMULATED = "A real Kubernetes control plane, simulated GKE nodes and Managed Lustre. No GPU, no cloud."
_NEXT = (
    ("leave it running", "make demo KEEP=1"),
    ("see its objects", f".venv/bin/kvtier render -f {SAMPLE}"),
    ("ask your cluster", f".venv/bin/kvtier check -f {SAMPLE}"),
)
_FAILURES = (RuntimeError, AssertionError, ApiError, requests.RequestException)


def main() -> int:
    """Exit code 0: all was seen; 1: something did not happen; 128 + N: signal N ended it, 130 for Ctrl-C."""
    options = _options()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace", line_buffering=True)
    code = guarded(partial(_run, options))
    if code > 128:
        name = signal.Signals(code - 128).name
        print(f"\nkvtier demo: ended by {name}; its processes have ended and its files are gone")
    return code


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m testbed.demo", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="after the edit, stay up until Ctrl-C")
    seconds = partial(parser.add_argument, type=float, metavar="N")
    seconds("--seconds-lustre", default=5.0, help="how long Lustre takes to create and to grow (%(default)g)")
    seconds("--patience", default=120.0, help="seconds to wait for each step before giving up (%(default)g)")
    return parser.parse_args()


def _run(options: argparse.Namespace) -> int:
    failed = True
    try:
        binaries.ensure()
        shown = view(Console(highlight=False))
        try:
            _show(options, shown)
            failed = False
        finally:
            shown.close(leave=failed)
    except _FAILURES as error:
        print(f"kvtier demo: {error}", file=sys.stderr)
    return int(failed)


def _show(options: argparse.Namespace, shown: View) -> None:
    times = Times()
    shown.say(_SIMULATED, "bold")
    with ExitStack() as running:
        shown.say(
            "Starting etcd, API server, controllers, scheduler, and a CSI driver like Managed Lustre's."
        )
        with times.measured("control plane and its nodes ready"):
            cluster = running.enter_context(ControlPlane())
        shown.say("Installing the CRD and the operator's RBAC; the operator runs as its own service account.")
        with times.measured("CRD and RBAC installed, operator leading"):
            operator = running.enter_context(_operator(cluster, options.patience))
        cluster.lustre.configure(options.seconds_lustre, options.seconds_lustre)
        _walk_through(Walkthrough(cluster, operator, shown, times, options.patience), options.keep)
        shown.close()
        shown.say("Ending the cluster.")
    shown.say(_summary(times))


@contextmanager
def _operator(cluster: Cluster, patience: float) -> Iterator[Component]:
    """The operator, which leads; its CRD and RBAC are installed."""
    operator_process.install_crd(cluster.kube)
    operator_process.install(cluster.kube)
    with operator_process.operator(cluster) as operator:
        try:
            eventually(partial(_leads, cluster, operator), patience)
        except AssertionError:
            raise DemoError(operator.explain(f"has not become the leader in {patience:g} s")) from None
        yield operator


def _leads(cluster: Cluster, operator: Component) -> bool:
    operator.require_alive()
    leases = cluster.kube.list("coordination.k8s.io/v1", "Lease", operator_process.NAMESPACE)
    return any(lease["spec"].get("holderIdentity") for lease in leases)


def _walk_through(walkthrough: Walkthrough, keep: bool) -> None:
    walkthrough.creation()
    walkthrough.edit()
    if keep:
        walkthrough.stay()
    walkthrough.deletion()


def _summary(times: Times) -> str:
    took = [f"  {what:<42}{seconds:6.1f} s" for what, seconds in times.items()]
    ideas = [f"  {what:<18}{command}" for what, command in _NEXT]
    return "\n".join(["What took how long:", *took, "What to try next:", *ideas])


if __name__ == "__main__":
    sys.exit(main())
