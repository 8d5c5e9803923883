"""``python die_with_parent.py PID PROGRAM ARGUMENT...``: become a program that dies with process PID.

The kernel sends the signal when the parent ends in any way. (To call prctl in a forked child of a program with
threads, before exec, is not safe.)
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(parent: int, command: list[str]) -> None:
    """Replace this process by the command."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit("the parent has already ended")
    os.execv(command[0], command)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
