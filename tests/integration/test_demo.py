"""The demo shows its walkthrough to the end, or ends at once, and leaves nothing behind."""

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.demo.snapshot import Row, Snapshot
from testbed.demo.terminal import lay_out
from testbed.waiting import eventually

pytestmark = pytest.mark.usefixtures("programs")

ROOT = Path(__file__).parents[2]
LANDMARKS = (
    r"simulated GKE nodes and Managed Lustre",
    r"\$ kubectl apply -f manifests/samples/long-document-chat\.yaml",
    r"PVC +\S+: Pending, 18000Gi",
    r"condition +Ready: False \(Provisioning\)",
    r"pool +\S+: Provisioning",
    r"PVC +\S+: Bound, 18000Gi",
    r"instance behind the claim:\n +name +projects/\S+/instances/pvc-\S+\n +state +ACTIVE\n +capacity +18000 GiB\n",
    r"throughput +1000 MBps per TiB, 17578 MBps in all\n +filesystem +(\w{1,8})\n +mount point +[\d.]+@tcp:/\1\n",
    r"Job +\S+: has written to Lustre",
    r"The pool is Ready: 2 Pods on new GPU nodes",
    r"\$ kubectl patch",
    r"PVC +\S+: Bound, 18000Gi -> 36000Gi",
    r"PVC +\S+: Bound, 36000Gi",
    r"3 Pods and 36000Gi; 2 of 2 old Pods ran on untouched",
    r"\$ kubectl delete",
    r"in this order:\n +Deleted Deployment.*\n(?: +Deleted .*\n)+ +Deleted StorageClass",
    r"What stays:\n +PVC +Bound, 36000Gi.*\n +PV +Bound, reclaim Retain.*\n +Lustre +ACTIVE",
    r"deletionPolicy is Retain",
    r"pool applied -> Lustre bound +\d+\.\d s",
    r"make demo KEEP=1",
)

STUBBORN = """
import signal, subprocess, sys
from testbed.demo.guard import guarded

def body():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.run(["sh", "-c", "sleep 600 & sleep 0.1; kill -9 $$"])
    print("ready", flush=True)
    signal.pause()

sys.exit(guarded(body, grace=0.2))
"""


class Demo:
    """A demo in a process of its own, whose temporary files are in `directory`."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        self._output = directory.with_suffix(".log")
        environment = os.environ | {
            "TMPDIR": str(directory),
            "PYTHONPATH": "operator:tests",
            "FORCE_COLOR": "",
        }
        command = [sys.executable, "-m", "testbed.demo", "--seconds-lustre", "2", *arguments]
        with self._output.open("w") as output:
            self._process = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT
            )

    def __enter__(self) -> "Demo":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._output.unlink()

    def text(self) -> str:
        return self._output.read_text()

    def wait_for(self, landmark: str) -> None:
        eventually(lambda: landmark in self.text(), 100.0, f"{landmark} in the output")

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def exit_code(self) -> int:
        return self._process.wait()


@pytest.fixture
def directory() -> Iterator[Path]:
    """An empty directory with a short name: sockets will be in it."""
    with tempfile.TemporaryDirectory(prefix="kvtier-test-") as name:
        yield Path(name)


def test_the_demo_shows_a_pool_from_its_creation_to_what_it_leaves(directory: Path) -> None:
    with Demo(directory) as demo:
        assert demo.exit_code() == 0, demo.text()
        missing, rest = [], demo.text()
        for landmark in LANDMARKS:
            found = re.search(landmark, rest)
            rest = rest[found.end() :] if found else rest
            missing += [] if found else [landmark]
        assert not missing, demo.text()
        assert "\x1b" not in demo.text()
        assert remains(directory) == []


@pytest.mark.parametrize(
    ("moment", "number", "code"),
    [
        ("Starting etcd", signal.SIGTERM, 143),
        ("$ kubectl apply", signal.SIGINT, 130),
        ("export KUBECONFIG=", signal.SIGINT, 130),
    ],
)
def test_a_signal_ends_the_demo_at_any_moment_and_nothing_stays(
    directory: Path, moment: str, number: signal.Signals, code: int
) -> None:
    with Demo(directory, "--keep") as demo:
        demo.wait_for(moment)
        assert remains(directory) != []
        demo.signal(number)
        assert demo.exit_code() == code
        assert "Traceback" not in demo.text()
        assert remains(directory) == []


def test_what_does_not_happen_is_named_with_the_end_of_the_operators_log(directory: Path) -> None:
    with Demo(directory, "--seconds-lustre", "3600", "--patience", "10") as demo:
        assert demo.exit_code() == 1
        assert "kept us waiting too long for the Lustre claim to be bound; the end of its log:" in demo.text()
        assert "kvtier.control.applier: Applied" in demo.text()
        assert remains(directory) == []


def test_what_ignores_its_end_is_killed_with_its_orphans(directory: Path) -> None:
    environment = os.environ | {"TMPDIR": str(directory), "PYTHONPATH": str(ROOT / "tests")}
    guard = subprocess.Popen([sys.executable, "-c", STUBBORN], env=environment, stdout=subprocess.PIPE)
    with guard:
        assert guard.stdout
        assert guard.stdout.readline() == b"ready\n"
        guard.terminate()
        assert guard.wait() == 143
        assert remains(directory) == []


@pytest.mark.parametrize(("width", "height"), [(99, 44), (99, 29), (79, 23), (40, 5)])
def test_the_snapshot_fits_the_terminal(width: int, height: int) -> None:
    conditions = [_condition(f"Type{number}", "True" if number > 2 else "False") for number in range(13)]
    rows = [Row("Pod", "Ready", f"pod-{number}") for number in range(13)]
    lines = lay_out(
        Snapshot("Starting", False, conditions, rows, ["Applied this"] * 9), "it", 61, width, height
    )
    assert len(lines) <= height
    assert lines[1].plain.endswith("1:01")
    assert all(len(line) <= max(width, 60) for line in lines)


def _condition(type_: str, status: str) -> dict[str, str]:
    return {"type": type_, "status": status, "reason": "Because", "message": "a long story: " * 20}


def remains(directory: Path) -> list[str]:
    """Processes that know the directory, and files in it."""
    processes = [str(one) for one in Path("/proc").glob("[0-9]*") if _mentions(one, directory)]
    return processes + [str(one) for one in directory.iterdir()]


def _mentions(process: Path, directory: Path) -> bool:
    try:
        known = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
    except OSError:
        return False
    return str(directory).encode() in known
