"""Runs a long command and shows its progress: `python -m testbed.progress WHAT COMMAND ARGUMENT...` or a function.

Uses only the standard library, because `make` runs it before the virtual environment exists.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

LINE_SECONDS = 30.0
TERMINAL_SECONDS = 0.5
_ERROR_LINES = 30


def run_with_progress(argv: Sequence[str], cwd: Path, env: Mapping[str, str], what: str) -> None:
    """Run a command to its end. Print `what` first, then the elapsed time and the last line of its output, on stderr.

    A terminal shows one line that is rewritten. Elsewhere a line is added every 30 seconds. A failure raises
    `RuntimeError` with the end of the output.
    """
    started = time.monotonic()
    print(what, file=sys.stderr, flush=True)
    with tempfile.TemporaryFile() as output:
        status = _wait(argv, cwd, env, output.fileno(), started)
        output.seek(0)
        lines = output.read().decode(errors="replace").splitlines()
    _show(f"{'Done' if status == 0 else 'Failed'} after {_clock(started)}", last=True)
    if status != 0:
        tail = "\n".join(lines[-_ERROR_LINES:])
        raise RuntimeError(f"{' '.join(argv[:2])} ended with status {status}:\n{tail}")


def _wait(argv: Sequence[str], cwd: Path, env: Mapping[str, str], output: int, started: float) -> int:
    """The exit code of the command, which writes to the file `output`."""
    pause = TERMINAL_SECONDS if sys.stderr.isatty() else LINE_SECONDS
    with subprocess.Popen(
        argv, cwd=cwd, env=dict(env), stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
    ) as process:
        try:
            while True:
                try:
                    return process.wait(timeout=pause)
                except subprocess.TimeoutExpired:
                    _show(f"{_clock(started)}  {_last_line(output)}".rstrip())
        except BaseException:
            process.kill()
            raise


def _last_line(output: int) -> str:
    """The last line that the command has written, from the end of its file."""
    size = os.fstat(output).st_size
    lines = os.pread(output, 4096, max(0, size - 4096)).decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _clock(started: float) -> str:
    seconds = int(time.monotonic() - started)
    return f"{seconds // 60}:{seconds % 60:02}"


def _show(text: str, last: bool = False) -> None:
    """Rewrite the line of a terminal, or add a line elsewhere."""
    if not sys.stderr.isatty():
        print(f"  {text}", file=sys.stderr, flush=True)
        return
    line = f"  {text}"[: shutil.get_terminal_size().columns - 1]
    print(f"\r\x1b[K{line}", file=sys.stderr, end="\n" if last else "", flush=True)


def main(what: str, argv: Sequence[str]) -> int:
    """Run a command; the exit code of this program."""
    try:
        run_with_progress(argv, Path.cwd(), os.environ, what)
    except RuntimeError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
