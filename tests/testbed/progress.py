"""Runs a long command while showing that it is alive."""

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

LINE_SECONDS = 10.0
TERMINAL_SECONDS = 1.0
_ERROR_LINES = 30


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
