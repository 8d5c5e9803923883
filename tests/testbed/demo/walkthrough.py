"""What happens to the demo's pool, step by step."""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from testbed.control_plane.cluster import Cluster
from testbed.demo.snapshot import POOL, Snapshot, describe_lustre, take
from testbed.demo.terminal import View
from testbed.operator_process import ROOT
from testbed.process import Component

SAMPLE = f"manifests/samples/{POOL}.yaml"
KIND = "kvpool"
_EDIT = """[
  {op: replace, path: /spec/models/0/replicas, value: 3},
  {op: replace, path: /spec/tiers/lustre/capacity, value: 36000Gi}]"""
_PERIOD_SECONDS = 0.2
_READING_SECONDS = 2.5
_WHY = (
    "spec.deletionPolicy is Retain, the default: the pool's data is kept.",
    "A new pool with the same name uses this PVC again.",
    "On Google Cloud the instance costs money until you delete it.",
)


class DemoError(RuntimeError):
    """A step timed out. The message names it, and ends with the end of the operator's log."""


class Times(dict[str, float]):
    """How many seconds each step took."""

    @contextmanager
    def measured(self, what: str) -> Iterator[None]:
        """Measure the body of the `with` statement."""
        started = time.monotonic()
        yield
        self[what] = time.monotonic() - started


class Walkthrough:
    """The life of a pool. Each step may take `patience` seconds."""

    def __init__(
        self, cluster: Cluster, operator: Component, view: View, times: Times, patience: float
    ) -> None:
        self._cluster, self._operator, self._view = cluster, operator, view
        self._times, self._patience = times, patience

    def creation(self) -> None:
        """Create the sample pool: first its storage, then engines and nodes."""
        self._kubectl(f"apply -f {SAMPLE}")
        self._view.say("Lustre needs seconds here, and 10 to 30 minutes on Google Cloud.")
        with self._times.measured("pool created -> PVC bound"):
            self._await(
                "the PVC to be bound", lambda snapshot: _states(snapshot, "PVC") == ["Bound, 18000Gi"]
            )
        self._describe_instance()
        self._view.say("kvtier starts engines only now, and GKE creates GPU nodes for them.")
        with self._times.measured("PVC bound -> pool Ready"):
            self._await("the pool to be Ready", lambda snapshot: snapshot.ready)
        self._view.say("The pool is Ready: 2 Pods on new GPU nodes share the Lustre cache.", "green")
        self._pause()

    def edit(self) -> None:
        """Add a third replica and double the Lustre tier, in one patch."""
        before = set(self._look().of("Pod"))
        self._kubectl(f"patch {KIND} {POOL} --type json -p", _EDIT)
        with self._times.measured("patched -> 36000Gi usable"):
            with self._times.measured("patched -> third Pod ready"):
                self._await(
                    "a third Pod", lambda snapshot: _states(snapshot, "Deployment") == ["3 of 3 ready"]
                )
            snapshot = self._await(
                "the resize to 36000Gi", lambda snapshot: _states(snapshot, "PVC") == ["Bound, 36000Gi"]
            )
        kept = len(before & set(snapshot.of("Pod")))
        self._view.say(f"3 Pods and 36000Gi. {kept} of {len(before)} old Pods were not restarted.", "green")
        self._await("the pool to be Ready", lambda snapshot: snapshot.ready)
        self._pause()

    def deletion(self) -> None:
        """Delete the pool under the policy Retain: engines are deleted first, data is kept."""
        written = len(self._look().writes)
        self._kubectl(f"delete {KIND} {POOL} --wait=false")
        with self._times.measured("deleted -> no pool and no nodes"):
            self._await("the pool to be deleted", lambda snapshot: snapshot.gone)
            snapshot = self._await(
                "its nodes to be deleted", lambda snapshot: not snapshot.of("Pod") + snapshot.of("Node")
            )
        self._view.say("The pool and its nodes are deleted.")
        self._view.say(self._deletion_order(snapshot.writes[written:]))
        kept = [f"{row.kind:<7} {row.state:<21} {row.name}" for row in snapshot.rows]
        self._view.say("\n".join(["What remains:", *kept, *_WHY]), "green")
        self._pause()

    def _describe_instance(self) -> None:
        """Report the instance as the Managed Lustre API shows it."""
        lines = list(describe_lustre(self._cluster))
        if self._view.verbose:
            self._view.say("\n".join(["The PVC is bound to this Managed Lustre instance:", *lines]))
        else:
            mount_point = lines[-1].split()[-1]
            self._view.say(f"The PVC is bound to the instance at {mount_point}.")

    def _deletion_order(self, writes: list[str]) -> str:
        if self._view.verbose:
            return "\n".join(["Deletion order:", *writes])
        kinds = dict.fromkeys(write.split()[1] for write in writes if write.startswith("Deleted "))
        return f"Deletion order: {', '.join(kinds)}"

    def stay(self) -> None:
        """Leave everything running for the user's own kubectl, until a signal ends it."""
        kubectl = [] if shutil.which("kubectl") else [f"alias kubectl={self._cluster.binaries / 'kubectl'}"]
        lines = [
            "The cluster runs until Ctrl-C. Try in another terminal:",
            f"export KUBECONFIG={self._cluster.kubeconfig}",
            *kubectl,
            f"kubectl get {KIND},pvc,deployments,pods,nodes",
            f"kubectl describe {KIND} {POOL}",
            f"kubectl delete {KIND} {POOL}",
        ]
        self._view.say("\n".join(lines))
        self._await("Ctrl-C", lambda _: False, float("inf"))

    def _kubectl(self, command: str, patch: str = "") -> None:
        """Show a kubectl command, and run exactly that."""
        self._view.say(f"$ kubectl {command}" + (f" '{patch}'" if patch else ""), "bold")
        done = self._cluster.kubectl(
            *command.replace(SAMPLE, str(ROOT / SAMPLE)).split(), *filter(None, [patch])
        )
        if self._view.verbose:
            self._view.say(done.stdout.strip(), "dim")

    def _await(
        self, awaited: str, reached: Callable[[Snapshot], bool], patience: float | None = None
    ) -> Snapshot:
        deadline = time.monotonic() + (patience or self._patience)
        while True:
            snapshot = self._look()
            self._view.show(snapshot, awaited)
            if reached(snapshot):
                return snapshot
            if time.monotonic() > deadline:
                raise timed_out(self._operator, awaited, self._patience)
            time.sleep(_PERIOD_SECONDS)

    def _look(self) -> Snapshot:
        self._operator.require_alive()
        return take(self._cluster, self._operator)

    def _pause(self) -> None:
        """Give the user of a terminal time to read."""
        until = time.monotonic() + _READING_SECONDS * self._view.interactive
        self._await("the next step", lambda _: time.monotonic() >= until)


def timed_out(operator: Component, awaited: str, seconds: float) -> DemoError:
    """The error for a step that took longer than `seconds`."""
    return DemoError(
        f"Timed out after {seconds:g} s waiting for {awaited}. End of the operator's log:\n{operator.log_tail()}"
    )


def _states(snapshot: Snapshot, kind: str) -> list[str]:
    return [row.state for row in snapshot.of(kind)]
