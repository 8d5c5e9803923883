"""Runs a function in a process of its own, and removes its processes and files, however it ends."""

import ctypes
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from testbed.die_with_parent import PR_SET_PDEATHSIG

GRACE_SECONDS = 15.0
_FOREVER = 1e9
_PR_SET_CHILD_SUBREAPER = 36
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_WATCHED = (*_ENDING, signal.SIGCHLD)


def guarded(body: Callable[[], int], grace: float = GRACE_SECONDS) -> int:
    """Run `body` in a child process and return its exit code, or 128 + N when signal N ended it.

    The signal asks the child to exit, by SystemExit; a second one, or `grace` seconds, kill it. Then its
    descendants are killed and its temporary files removed. Signals are blocked in this process and
    read one by one, so that none interrupts it.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)  # orphaned descendants become ours
    directory = tempfile.mkdtemp(prefix="kvtier-demo-")
    try:
        return _outcome(_fork(body, directory, before), grace)
    finally:
        _end_descendants()
        shutil.rmtree(directory, ignore_errors=True)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _fork(body: Callable[[], int], directory: str, mask: Any) -> int:
    sys.stdout.flush()
    guard = os.getpid()
    child = os.fork()
    if child:
        return child
    os.setsid()  # Ctrl-C reaches only the guard
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGTERM, _exit_once)
    os.environ["TMPDIR"] = tempfile.tempdir = directory
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return _live(body if os.getppid() == guard else lambda: 1)


def _live(body: Callable[[], int]) -> NoReturn:
    """Run the body in the child, and exit: it must not return into the code of the guard."""
    code = 1
    try:
        code = body()
    except (SystemExit, BrokenPipeError):
        pass
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        with suppress(OSError):
            sys.stdout.flush()
        os._exit(code)


def _exit_once(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit()


def _outcome(child: int, grace: float) -> int:
    ended_by = _next_signal(child, _FOREVER)
    if ended_by is None:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return code if code >= 0 else 128 - code
    os.kill(child, signal.SIGTERM)
    _next_signal(child, grace)  # until it has ended, or `grace` is over
    os.kill(child, signal.SIGKILL)
    return 128 + ended_by


def _next_signal(child: int, timeout: float) -> int | None:
    """The first signal, or None when the child has ended or time is over. The child is not reaped."""
    deadline = time.monotonic() + timeout
    while not os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        came = signal.sigtimedwait(_WATCHED, max(0.0, deadline - time.monotonic()))
        if came is None:
            return None
        if came.si_signo in _ENDING:
            return came.si_signo
    return None


def _end_descendants() -> None:
    """Kill all descendants. As a subreaper, this process becomes the parent of orphans."""
    with suppress(ChildProcessError):
        while True:
            for pid in _children():
                os.kill(pid, signal.SIGKILL)
            os.waitpid(-1, 0)


def _children() -> Iterator[int]:
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it ended meanwhile
            _state, parent, *_ = status.read_text().rpartition(")")[2].split()
            if int(parent) == os.getpid():
                yield int(status.parent.name)
