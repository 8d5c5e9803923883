"""The progress of a long command, which `make` shows while it sets something up."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from testbed import progress

SLOW = "import time\nfor step in range(3): print('step', step, flush=True); time.sleep(0.3)"


def on_a_terminal(*command: str) -> str:
    """What a terminal gets on stderr."""
    ours, theirs = pty.openpty()
    done = subprocess.run(command, stderr=theirs, stdout=subprocess.DEVNULL, check=False, env=environment())
    os.close(theirs)
    text = os.read(ours, 65536).decode()
    os.close(ours)
    assert done.returncode == 0
    return text


def environment() -> dict[str, str]:
    return {"PATH": os.defpath, "PYTHONPATH": str(Path(progress.__file__).parents[1])}


def test_a_terminal_shows_progress_in_one_line_that_is_rewritten() -> None:
    command = (sys.executable, "-c", SLOW)
    text = on_a_terminal(sys.executable, "-m", "testbed.progress", "Building it, about 1 s", *command)
    announced, shown, rest = text.replace("\r\n", "\n").split("\n")
    assert announced == "Building it, about 1 s"
    rewritten = [line.removeprefix("\x1b[K") for line in shown.split("\r")]
    assert "  0:00  step 1" in rewritten
    assert rewritten[-1].startswith("  Done after 0:0")
    assert rest == ""


def test_a_failure_raises_with_the_end_of_the_output(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    command = [sys.executable, "-c", "print('the reason'); raise SystemExit(3)"]
    with pytest.raises(RuntimeError, match=r"ended with status 3:\nthe reason$"):
        progress.run_with_progress(command, tmp_path, os.environ, "Building it")
    assert capfd.readouterr().err == "Building it\n  Failed after 0:00\n"
