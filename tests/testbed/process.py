"""Child processes that never outlive us, a long command with its progress shown, and free loopback ports."""

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from testbed import die_with_parent

LOG_TAIL_LINES = 25
_LAUNCHER = (sys.executable, "-I", "-S", die_with_parent.__file__)
LINE_SECONDS = 10.0
TERMINAL_SECONDS = 1.0
_ERROR_LINES = 30
# Below the range from which the kernel takes the ports of outgoing connections: nothing grabs one of
# ours while a component restarts on it.
_RANGE = range(20000, 32000)
_taken: list[socket.socket] = []


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


def run_with_progress(argv: Sequence[str], cwd: Path, env: Mapping[str, str], what: str) -> None:
    """Run a command to its end, with ``what`` and the elapsed time on stderr.

    On a terminal one line is rewritten; elsewhere a line is added every ten seconds. A failure raises
    ``RuntimeError`` with the end of the command's output.
    """
    started = time.monotonic()
    _show(what, started)
    with subprocess.Popen(
        argv,
        cwd=cwd,
        env=dict(env),
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        output = _follow(process, what, started)
    print("", file=sys.stderr, end="\n" if sys.stderr.isatty() else "", flush=True)
    if process.returncode != 0:
        tail = "\n".join(output.splitlines()[-_ERROR_LINES:])
        raise RuntimeError(f"{what} failed ({' '.join(argv[:2])}, status {process.returncode}):\n{tail}")


def _follow(process: "subprocess.Popen[str]", what: str, started: float) -> str:
    pause = TERMINAL_SECONDS if sys.stderr.isatty() else LINE_SECONDS
    try:
        while True:
            try:
                return process.communicate(timeout=pause)[0]
            except subprocess.TimeoutExpired:
                _show(what, started)
    except BaseException:
        process.kill()
        raise


def _show(what: str, started: float) -> None:
    text = f"testbed: {what}: {time.monotonic() - started:.0f} s"
    start, end = ("\r", "") if sys.stderr.isatty() else ("", "\n")
    print(start + text, file=sys.stderr, end=end, flush=True)


def free_ports(count: int) -> list[int]:
    """Return ``count`` ports on which nothing listens now, and which no other call anywhere returns while we live.

    A component binds its port much later than it is chosen.
    """
    candidates = iter(random.SystemRandom().sample(_RANGE, len(_RANGE)))
    return [next(port for port in candidates if _take(port)) for _ in range(count)]


def _take(port: int) -> bool:
    """Whether a port is ours from now on: an abstract socket of its name tells other processes, until we end."""
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
