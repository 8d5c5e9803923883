"""The demo shows its walkthrough to the end, or ends at once, and leaves no process and no file."""

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
    r"operator +Applied StorageClass",
    r"pool +Provisioning\. Ready is False \(Provisioning\): StorageReady: ",
    r"PVC +\S+: Bound, 18000Gi\n",
    r"The PVC is bound to the instance at [\d.]+@tcp:/\w{1,8}\.\n",
    r"pool +Ready\. Ready is True \(AllReady\): ",
    r"The pool is Ready: 2 Pods on new GPU nodes",
    r"\$ kubectl patch",
    r"PVC +\S+: Bound, 18000Gi -> 36000Gi",
    r"PVC +\S+: Bound, 36000Gi",
    r"3 Pods and 36000Gi\. 2 of 2 old Pods were not restarted\.",
    r"\$ kubectl delete",
    r"pool +long-document-chat: deleted",
    r"Deletion order: Deployment, .*, StorageClass\n",
    r"What remains:\n +PVC +Bound, 36000Gi.*\n +PV +Bound, reclaim Retain.*\n +Lustre +ACTIVE",
    r"deletionPolicy is Retain",
    r"make demo VERBOSE=1",
    r"make demo KEEP=1",
)
EVENTS = (
    r"operator +Applied (.*, )?PersistentVolumeClaim",
    r"operator +Applied (.*, )?ComputeClass",
    r"operator +Applied (.*, )?Deployment",
    r"Node +\S+: Ready, a3-highgpu-8g",
    r"Job +\S+: has written to Lustre",
    r"Deployment +\S+: 2 of 2 ready",
    r"Deployment +\S+: 3 of 3 ready",
)
"""Their order depends on the moment of a snapshot."""
VERBOSE_LANDMARKS = (
    r"PVC +\S+: Pending, 18000Gi",
    r"condition +Ready: False \(Provisioning\): StorageReady: ",
    r"condition +CapacityValid: True \(Valid\): ",
    r"pool +\S+: Provisioning",
    r"Managed Lustre instance:\n +name +projects/\S+/instances/pvc-\S+\n +state +ACTIVE\n +capacity +18000 GiB\n",
    r"throughput +1000 MBps per TiB, 17578 MBps in total\n +filesystem +(\w{1,8})\n +mount point +[\d.]+@tcp:/\1\n",
    r"condition +TierWritable: True \(Written\): ",
    r"condition +Ready: True \(AllReady\): ",
    r"pool +\S+: Ready\n",
)
MOST_LINES = 55
"""Of the short form: 45 in most runs. A fast or slow machine has a few more."""

READY_AND_RESIZED = "export KUBECONFIG="
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


def test_the_demo_shows_a_line_per_event_from_the_creation_of_a_pool_to_its_deletion(directory: Path) -> None:
    with Demo(directory) as demo:
        assert demo.exit_code() == 0, demo.text()
        assert missing(LANDMARKS, demo.text()) == [], demo.text()
        assert [event for event in EVENTS if not re.search(event, demo.text())] == [], demo.text()
        assert "\x1b" not in demo.text()
        assert len(demo.text().splitlines()) <= MOST_LINES
        assert not re.search(r"^ +[\d.]+ s +condition ", demo.text(), re.MULTILINE)
        assert remains(directory) == []


@pytest.mark.parametrize(
    ("moment", "number", "code"),
    [
        ("Starting etcd", signal.SIGTERM, 143),
        ("$ kubectl apply", signal.SIGINT, 130),
        (READY_AND_RESIZED, signal.SIGINT, 130),
    ],
)
def test_a_signal_ends_the_demo_at_any_moment_and_leaves_nothing(
    directory: Path, moment: str, number: signal.Signals, code: int
) -> None:
    with Demo(directory, "--keep", "--verbose") as demo:
        demo.wait_for(moment)
        if moment == READY_AND_RESIZED:
            assert missing(VERBOSE_LANDMARKS, demo.text()) == [], demo.text()
            assert re.search(r"operator +Applied Job \S+\n", demo.text())
        assert remains(directory) != []
        demo.signal(number)
        assert demo.exit_code() == code
        assert "Traceback" not in demo.text()
        assert remains(directory) == []


def test_a_step_that_times_out_is_named_with_the_end_of_the_operators_log(directory: Path) -> None:
    with Demo(directory, "--seconds-lustre", "3600", "--patience", "10") as demo:
        assert demo.exit_code() == 1
        assert (
            "Timed out after 10 s waiting for the PVC to be bound. End of the operator's log:" in demo.text()
        )
        assert "kvtier.control.applier: Applied" in demo.text()
        assert remains(directory) == []


def test_a_process_that_ignores_sigterm_is_killed_with_its_orphans(directory: Path) -> None:
    environment = os.environ | {"TMPDIR": str(directory), "PYTHONPATH": str(ROOT / "tests")}
    guard = subprocess.Popen([sys.executable, "-c", STUBBORN], env=environment, stdout=subprocess.PIPE)
    with guard:
        assert guard.stdout
        assert guard.stdout.readline() == b"ready\n"
        guard.terminate()
        assert guard.wait() == 143
        assert remains(directory) == []


@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize(("width", "height"), [(99, 44), (99, 29), (79, 23), (40, 5)])
def test_the_snapshot_fits_the_terminal(width: int, height: int, verbose: bool) -> None:
    conditions = [_condition(f"Type{number}", "True" if number > 2 else "False") for number in range(13)]
    rows = [Row("Pod", "Ready", f"pod-{number}") for number in range(13)]
    snapshot = Snapshot("Starting", False, conditions, rows, ["Applied this"] * 9)
    lines = lay_out(snapshot, "it", 61, width, height, verbose=verbose)
    assert len(lines) <= height
    assert lines[1].plain.endswith("1:01")
    assert all(len(line) <= max(width, 60) for line in lines)


def _condition(type_: str, status: str) -> dict[str, str]:
    return {"type": type_, "status": status, "reason": "Because", "message": "a long story: " * 20}


def missing(landmarks: tuple[str, ...], text: str) -> list[str]:
    """The landmarks that the text does not have in this order."""
    absent = []
    for landmark in landmarks:
        found = re.search(landmark, text)
        text = text[found.end() :] if found else text
        absent += [] if found else [landmark]
    return absent


def remains(directory: Path) -> list[str]:
    """Processes whose command line or environment has the directory, and files in it."""
    processes = [str(one) for one in Path("/proc").glob("[0-9]*") if _mentions(one, directory)]
    return processes + [str(one) for one in directory.iterdir()]


def _mentions(process: Path, directory: Path) -> bool:
    try:
        known = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
    except OSError:
        return False
    return str(directory).encode() in known
