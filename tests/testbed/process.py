"""One child process of the bed: it never outlives us, and its log explains its failures."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from testbed import die_with_parent

LOG_TAIL_LINES = 25
_LAUNCHER = (sys.executable, "-I", "-S", die_with_parent.__file__)


class ComponentError(RuntimeError):
    """A component ended, or did not become ready in time; the message ends with its log's tail."""


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
        """The process id while it is ours to end."""
        return self._popen.pid if self._popen else None

    def start(self) -> None:
        """Start the program in a session of its own, so that Ctrl-C reaches only us."""
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
        """Whether the program has ended by itself."""
        return self._popen is not None and self._popen.poll() is not None

    def require_alive(self) -> None:
        """Raise ``ComponentError`` when the program has ended by itself."""
        if self._popen is not None and self.ended:
            raise ComponentError(self.explain(f"ended with status {self._popen.returncode}"))

    def explain(self, problem: str) -> str:
        """The problem, followed by the end of the component's log."""
        lines = self.log.read_text(errors="replace").splitlines()[-LOG_TAIL_LINES:]
        return "\n".join([f"{self.name} {problem}; the end of its log:", *lines])

    def terminate(self, force: bool = False) -> None:
        """Ask the program to end, or kill it outright; does not wait."""
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
