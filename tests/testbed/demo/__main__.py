"""Create, resize and delete a pool on a simulated GKE cluster, and show what happens."""

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
from testbed.demo.log import Log, VerboseLog
from testbed.demo.terminal import Screen, View
from testbed.demo.walkthrough import SAMPLE, Times, Walkthrough, timed_out
from testbed.kube import ApiError
from testbed.process import Component
from testbed.waiting import eventually

_SIMULATED = "A real control plane, simulated GKE nodes and Managed Lustre, no GPU."
_NEXT = (
    "make demo VERBOSE=1    # show every condition",
    "make demo KEEP=1       # keep the cluster running",
    f".venv/bin/kvtier render -f {SAMPLE}",
    f".venv/bin/kvtier check -f {SAMPLE}",
)
_EXAMPLES = """\
examples:
  make demo                                   one line per event
  make demo VERBOSE=1                         the same as python -m testbed.demo --verbose
  python -m testbed.demo --seconds-lustre 60  a slower Managed Lustre
"""
_FAILURES = (RuntimeError, AssertionError, ApiError, requests.RequestException)


def main() -> int:
    """Exit code 0: every step succeeded; 1: a step failed; 128 + N: signal N ended it, 130 for Ctrl-C."""
    options = _options()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace", line_buffering=True)
    code = guarded(partial(_run, options))
    if code > 128:
        name = signal.Signals(code - 128).name
        print(f"\n{name} ended the demo. Its processes and temporary files were removed.")
    return code


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m testbed.demo",
        description=__doc__,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    flag = partial(parser.add_argument, action="store_true")
    flag("--keep", help="keep the cluster running after the resize, until Ctrl-C")
    flag("--verbose", help="show every change of an object or a condition, and how long each step took")
    seconds = partial(parser.add_argument, type=float, metavar="N")
    seconds(
        "--seconds-lustre",
        default=5.0,
        help="seconds to create or resize a Lustre instance (default: %(default)g)",
    )
    seconds("--patience", default=120.0, help="timeout of each step in seconds (default: %(default)g)")
    return parser.parse_args()


def _run(options: argparse.Namespace) -> int:
    failed = True
    try:
        binaries.ensure()
        shown = _view(Console(highlight=False), options.verbose)
        try:
            _show(options, shown)
            failed = False
        finally:
            shown.close(leave=failed)
    except _FAILURES as error:
        print(f"Error: {error}", file=sys.stderr)
    return int(failed)


def _view(console: Console, verbose: bool) -> View:
    """A `Screen` on a terminal that can move its cursor, a `Log` elsewhere."""
    if console.file.isatty() and not console.is_dumb_terminal:
        return Screen(console, verbose)
    return VerboseLog(console) if verbose else Log(console)


def _show(options: argparse.Namespace, shown: View) -> None:
    times = Times()
    shown.say(_SIMULATED, "bold")
    with ExitStack() as running:
        shown.say("Starting etcd, the API server, controllers, scheduler and CSI driver.")
        with times.measured("control plane and nodes ready"):
            cluster = running.enter_context(ControlPlane())
        shown.say("Installing the CRD and RBAC, and starting the operator.")
        with times.measured("CRD and RBAC installed, operator ready"):
            operator = running.enter_context(_operator(cluster, options.patience))
        cluster.lustre.configure(options.seconds_lustre, options.seconds_lustre)
        _walk_through(Walkthrough(cluster, operator, shown, times, options.patience), options.keep)
        shown.close()
        shown.say("Stopping the cluster.")
    shown.say(_summary(times if shown.verbose else None))


@contextmanager
def _operator(cluster: Cluster, patience: float) -> Iterator[Component]:
    """Install the CRD and RBAC, and start the operator; it is the leader."""
    operator_process.install_crd(cluster.kube)
    operator_process.install(cluster.kube)
    with operator_process.operator(cluster) as operator:
        try:
            eventually(partial(_leads, cluster, operator), patience)
        except AssertionError:
            raise timed_out(operator, "the operator to become the leader", patience) from None
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


def _summary(times: Times | None) -> str:
    took = [f"  {what:<42}{seconds:6.1f} s" for what, seconds in times.items()] if times else []
    commands = [f"  {command}" for command in _NEXT]
    return "\n".join([*(["Duration of each step:"] if took else []), *took, "Next steps:", *commands])


if __name__ == "__main__":
    sys.exit(main())
