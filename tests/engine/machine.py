"""Checks that this machine can run the engines, with a clear message if it cannot."""

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

PYTHONS = ((3, 11), (3, 12), (3, 13))
PROGRAMS = ("/usr/bin/unshare", "/usr/bin/nsenter", "/usr/bin/setpriv", "/usr/sbin/chroot")
_NAMESPACES = ("--mount", "--pid", "--fork", "/bin/true")


def require() -> None:
    """Raise ``RuntimeError`` unless vLLM's wheels support this machine and Linux namespaces are allowed."""
    here = (platform.system(), platform.machine(), sys.version_info[:2])
    if found := platform_fault(*here):
        raise RuntimeError(found)
    if missing := [program for program in PROGRAMS if not Path(program).exists()]:
        raise RuntimeError(f"no {', '.join(missing)}: install util-linux and coreutils")
    as_root = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    tried = subprocess.run([PROGRAMS[0], *as_root, *_NAMESPACES], capture_output=True, text=True, check=False)
    if tried.returncode:
        raise RuntimeError(
            f"engines run in Linux namespaces, which this machine refuses ({tried.stderr.strip()}): run as root "
            "with CAP_SYS_ADMIN, or allow user namespaces for everybody"
        )


def platform_fault(system: str, machine: str, python: tuple[int, ...]) -> str | None:
    """Why vLLM's wheels do not support this machine, or None."""
    if (system, machine) == ("Linux", "x86_64") and python in PYTHONS:
        return None
    version = ".".join(map(str, python))
    return f"vLLM's wheels need Linux on x86_64 and Python 3.11 to 3.13; this is {system} {machine}, Python {version}"


def require_room(directory: Path, needed: int) -> None:
    """Raise ``RuntimeError`` unless `needed` bytes are free on the disk of `directory`."""
    free = shutil.disk_usage(directory).free
    if free < needed:
        raise RuntimeError(
            f"the engines take {needed / 1e9:.1f} GB, and {directory} has {free / 1e9:.1f} GB left: make room, or "
            "set XDG_CACHE_HOME to a directory on a larger disk"
        )
