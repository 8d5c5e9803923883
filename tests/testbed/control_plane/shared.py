"""One control plane for a whole test run, shared by all of its worker processes.

A host process owns the control plane. Every user holds a shared lock on a file of the run's
directory; the host waits for the
exclusive one, which the kernel grants when the last user has released its lock or ended. So no counter is needed, and
a killed test run leaves nothing behind.

``python -m testbed.control_plane.shared DIRECTORY`` is the host.
"""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from testbed.control_plane.cluster import Cluster
from testbed.control_plane.components import PACKAGES
from testbed.control_plane.plane import START_SECONDS, ControlPlane
from testbed.waiting import eventually

_USERS, _STARTING, _HOST, _CLUSTER, _LOG = (
    "users.lock",
    "starting.lock",
    "host.lock",
    "cluster.json",
    "host.log",
)
_STOP_SECONDS = 30.0
_started: "list[subprocess.Popen[bytes]]" = []


class SharedControlPlaneError(RuntimeError):
    """The shared control plane did not start; the text is the host's log."""


@contextmanager
def shared_cluster(directory: Path) -> Iterator[Cluster]:
    """The cluster of the test run: started for its first user, stopped after the last one."""
    directory.mkdir(exist_ok=True)
    with _locked(directory / _USERS, fcntl.LOCK_SH):
        with _locked(directory / _STARTING, fcntl.LOCK_EX):
            if not (directory / _CLUSTER).exists():
                _start_host(directory)
        yield Cluster.load(directory / _CLUSTER)


def reap() -> None:
    """Wait for the hosts that this process has started. They end when all users have released their locks."""
    while _started:
        _started.pop().wait()


def join(directory: Path) -> None:
    """Wait until no host of the run is left, then remove the run's directory."""
    reap()
    if not directory.exists():
        return
    with (directory / _HOST).open("w") as lock:
        eventually(lambda: _try_lock(lock.fileno()), _STOP_SECONDS, "the shared control plane has ended")
    shutil.rmtree(directory, ignore_errors=True)


def _start_host(directory: Path) -> None:
    env = os.environ | {"PYTHONPATH": str(PACKAGES)}
    command = [sys.executable, "-m", "testbed.control_plane.shared", str(directory)]
    with (directory / _LOG).open("wb") as log:
        # A session of its own, so that Ctrl-C ends the tests, and the end of the tests ends the host.
        host = subprocess.Popen(
            command, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )

    _started.append(host)

    def started_or_ended() -> bool:
        if host.poll() is not None:
            raise SharedControlPlaneError((directory / _LOG).read_text(errors="replace"))
        return (directory / _CLUSTER).exists()

    eventually(started_or_ended, 2 * START_SECONDS, "the shared control plane has started")


def serve(directory: Path) -> None:
    """Run the control plane until its last user has ended."""
    signal.signal(signal.SIGTERM, _exit)
    starter = os.getppid()
    with _locked(directory / _HOST, fcntl.LOCK_EX), ControlPlane() as plane:
        plane.save(directory / _CLUSTER)
        try:
            _await_last_user(directory)
        finally:
            (directory / _CLUSTER).unlink(missing_ok=True)
    if os.getppid() != starter:  # it was killed, so no process will join it
        shutil.rmtree(directory, ignore_errors=True)


def _await_last_user(directory: Path) -> None:
    with _locked(directory / _USERS, fcntl.LOCK_EX):
        # Still locked, so that the next user finds no cluster and starts a new host.
        (directory / _CLUSTER).unlink()


def _exit(_number: int, _frame: FrameType | None) -> None:
    sys.exit(0)


@contextmanager
def _locked(path: Path, kind: int) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, kind)
        yield


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
