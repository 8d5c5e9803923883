"""Child processes that never outlive us, and free loopback ports."""

import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from testbed import die_with_parent

LOG_TAIL_LINES = 25
_LAUNCHER = (sys.executable, "-I", "-S", die_with_parent.__file__)
# Below the range from which the kernel takes the ports of outgoing connections, so that no connection takes a port
# while a component restarts.
_RANGE = range(20000, 32000)
_taken: list[socket.socket] = []


class ComponentError(RuntimeError):
    """A component ended, or did not become ready in time. The message ends with the end of its log."""


class Component:
    """A long-running program with its own log file.

    Start it from a thread that lives as long as the component should: the kernel's parent-death
    signal follows the starting *thread*, not the process.
    """

    def __init__(self, name: str, argv: Sequence[str], directory: Path, env: Mapping[str, str]) -> None:
        self.name = name
        self.log = directory / "logs" / f"{name}.log"
        self._argv = list(argv)
        self._directory = directory
        self._env = dict(env)
        self._popen: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The process id until `wait_ended` has returned."""
        return self._popen.pid if self._popen else None

    def start(self) -> None:
        """Start the program in a session of its own, so that Ctrl-C does not reach it."""
        with self.log.open("ab") as log:
            self._popen = subprocess.Popen(
                [*_LAUNCHER, str(os.getpid()), *self._argv],
                cwd=self._directory,
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def ended(self) -> bool:
        """Whether the program has ended."""
        return self._popen is not None and self._popen.poll() is not None

    def require_alive(self) -> None:
        """Raise ``ComponentError`` if the program has ended."""
        if self._popen is not None and self.ended:
            raise ComponentError(self.explain(f"ended with status {self._popen.returncode}"))

    def explain(self, problem: str) -> str:
        """The problem, followed by the end of the component's log."""
        return f"{self.name} {problem}. End of its log:\n{self.log_tail()}"

    def log_tail(self) -> str:
        """The last lines of the log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-LOG_TAIL_LINES:])

    def terminate(self, force: bool = False) -> None:
        """Send SIGTERM, or SIGKILL with `force`; does not wait."""
        if self._popen is not None and self._popen.poll() is None:
            self._popen.send_signal(signal.SIGKILL if force else signal.SIGTERM)

    def wait_ended(self, grace: float) -> None:
        """Wait for the program to end; kill it after ``grace`` seconds."""
        if self._popen is None:
            return
        try:
            self._popen.wait(grace)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()
        self._popen = None


def free_ports(count: int) -> list[int]:
    """Return ``count`` ports that are free, and that no process on this machine gets from here while we run.

    They are reserved, because a component binds its port some time after the choice.
    """
    candidates = iter(random.SystemRandom().sample(_RANGE, len(_RANGE)))
    return [next(port for port in candidates if _take(port)) for _ in range(count)]


def _take(port: int) -> bool:
    """Reserve a port until we end, and return whether it was free. An abstract socket with its number is the lock."""
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(f"\0kvtier-testbed-port-{port}")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
    except OSError:
        claim.close()
        return False
    _taken.append(claim)
    return True
