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
KIND = "kvcachepools.kvtier.dev"
_EDIT = """[
  {op: replace, path: /spec/models/0/replicas, value: 3},
  {op: replace, path: /spec/tiers/lustre/capacity, value: 36000Gi}]"""
_PERIOD_SECONDS = 0.2
_READING_SECONDS = 2.5
_WHY = (
    "because spec.deletionPolicy is Retain, the default: cached data never goes with its pool.",
    "A pool of the same name finds it again. On Google Cloud it costs money until you delete",
    "the claim and the instance.",
)


class DemoError(RuntimeError):
    """Something did not happen in time; the message says what, and ends with the operator's log."""


class Times(dict[str, float]):
    """How many seconds each thing took."""

    @contextmanager
    def measured(self, what: str) -> Iterator[None]:
        """Add what happens meanwhile."""
        started = time.monotonic()
        yield
        self[what] = time.monotonic() - started


class Walkthrough:
    """A pool's life. For each thing that it expects, it waits `patience` seconds at most."""

    def __init__(
        self, cluster: Cluster, operator: Component, view: View, times: Times, patience: float
    ) -> None:
        self._cluster, self._operator, self._view = cluster, operator, view
        self._times, self._patience = times, patience

    def creation(self) -> None:
        """The sample becomes storage, then engines and nodes."""
        self._kubectl(f"apply -f {SAMPLE}")
        self._view.say("Lustre takes seconds here, and tens of minutes on Google Cloud.")
        with self._times.measured("pool applied -> Lustre bound"):
            self._await(
                "the Lustre claim to be bound",
                lambda snapshot: _states(snapshot, "PVC") == ["Bound, 18000Gi"],
            )
        title = "The Managed Lustre API tells of the instance behind the claim:"
        self._view.say("\n".join([title, *describe_lustre(self._cluster)]))
        self._view.say("Lustre is there. Only now do engines start, and GPU nodes with them.")
        with self._times.measured("Lustre bound -> pool Ready"):
            self._await("the pool to be Ready", lambda snapshot: snapshot.ready)
        self._view.say("The pool is Ready: 2 Pods on new GPU nodes share the Lustre cache.", "green")
        self._pause()

    def edit(self) -> None:
        """A third replica and twice the Lustre, in one patch."""
        before = set(self._look().of("Pod"))
        self._kubectl(f"patch {KIND} {POOL} --type json -p", _EDIT)
        with self._times.measured("edited -> 36000Gi usable"):
            with self._times.measured("edited -> third Pod ready"):
                self._await(
                    "a third Pod", lambda snapshot: _states(snapshot, "Deployment") == ["3 of 3 ready"]
                )
            snapshot = self._await(
                "Lustre to grow", lambda snapshot: _states(snapshot, "PVC") == ["Bound, 36000Gi"]
            )
        untouched = len(before & set(snapshot.of("Pod")))
        self._view.say(
            f"3 Pods and 36000Gi; {untouched} of {len(before)} old Pods ran on untouched.", "green"
        )
        self._await("the pool to be Ready", lambda snapshot: snapshot.ready)
        self._pause()

    def deletion(self) -> None:
        """The pool goes under the policy Retain; engines first, data not at all."""
        written = len(self._look().writes)
        self._kubectl(f"delete {KIND} {POOL} --wait=false")
        with self._times.measured("deleted -> pool and nodes gone"):
            self._await("the pool to go", lambda snapshot: not snapshot.phase)
            snapshot = self._await(
                "its nodes to go", lambda snapshot: not snapshot.of("Pod") + snapshot.of("Node")
            )
        self._view.say(
            "\n".join(["The pool is gone. The operator, in this order:", *snapshot.writes[written:]])
        )
        stays = [f"{row.kind:<7} {row.state:<22} {row.name}" for row in snapshot.rows]
        self._view.say("\n".join(["What stays:", *stays, *_WHY]), "green")
        self._pause()

    def stay(self) -> None:
        """Leave everything running, for the user's own kubectl, until a signal ends it."""
        kubectl = [] if shutil.which("kubectl") else [f"alias kubectl={self._cluster.binaries / 'kubectl'}"]
        lines = [
            "Everything stays up until Ctrl-C. Try in another terminal:",
            f"export KUBECONFIG={self._cluster.kubeconfig}",
            *kubectl,
            f"kubectl get {KIND},pvc,deployments,pods,nodes",
            f"kubectl describe {KIND} {POOL}",
            f"kubectl delete {KIND} {POOL}",
        ]
        self._view.say("\n".join(lines))
        self._await("Ctrl-C", lambda _: False, float("inf"))

    def _kubectl(self, command: str, patch: str = "") -> None:
        """Run what is shown, and nothing else."""
        self._view.say(f"$ kubectl {command}" + (f" '{patch}'" if patch else ""), "bold")
        done = self._cluster.kubectl(
            *command.replace(SAMPLE, str(ROOT / SAMPLE)).split(), *filter(None, [patch])
        )
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
                raise DemoError(self._operator.explain(f"kept us waiting too long for {awaited}"))
            time.sleep(_PERIOD_SECONDS)

    def _look(self) -> Snapshot:
        self._operator.require_alive()
        return take(self._cluster, self._operator)

    def _pause(self) -> None:
        """Time to read, where somebody does."""
        until = time.monotonic() + _READING_SECONDS * self._view.interactive
        self._await("you to read this", lambda _: time.monotonic() >= until)


def _states(snapshot: Snapshot, kind: str) -> list[str]:
    return [row.state for row in snapshot.of(kind)]
