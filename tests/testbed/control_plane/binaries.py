"""Finds or builds the programs of the test bed.

They are compiled from the Go module tests/testbed/go into the user's cache, once per version of that module.
``python -m testbed.control_plane.binaries`` builds them before the tests; with ``vet`` it runs ``go vet`` on our code.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from testbed.progress import run_with_progress

MODULE = Path(__file__).parents[1] / "go"
MINIMUM_GO = (1, 26)
KUBERNETES_VERSION = "v1.36.3"

# One binary for all of them: it selects the program by the name under which it is started.
MULTICALL = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "lustre-csi")
TOOLS = {
    "csi-provisioner": "github.com/kubernetes-csi/external-provisioner/v6/cmd/csi-provisioner",
    "csi-resizer": "github.com/kubernetes-csi/external-resizer/v2/cmd/csi-resizer",
    "kwok": "sigs.k8s.io/kwok/cmd/kwok",
}
NAMES = (*MULTICALL, *TOOLS)
_MULTICALL_FILE = "testbed"

_STAMP = "k8s.io/component-base/version"
_LDFLAGS = " ".join(
    [
        "-s -w",
        f"-X {_STAMP}.gitVersion={KUBERNETES_VERSION}",
        f"-X {_STAMP}.gitMajor=1 -X {_STAMP}.gitMinor=36 -X {_STAMP}.gitTreeState=clean",
        f"-X {_STAMP}.gitCommit={'0' * 40} -X {_STAMP}.buildDate=2026-01-01T00:00:00Z",
    ]
)
_FLAGS = ("-buildvcs=false", "-trimpath", "-ldflags", _LDFLAGS)
_ENVIRONMENT = {"CGO_ENABLED": "0"}


class BinariesMissingError(RuntimeError):
    """Some programs are missing and cannot be built here. The message names them and what to do."""


def ensure() -> Path:
    """Return a directory that holds every program in ``NAMES``, building what is missing.

    ``KUBEBUILDER_ASSETS`` supplies the programs it holds. Safe to call from several processes.
    """
    supplied = _supplied()
    missing = [name for name in NAMES if name not in supplied]
    built = _ensure_built(missing) if missing else None
    if not supplied:
        assert built is not None
        return built
    return _joined(supplied, built)


def vet() -> int:
    """Run ``go vet`` on our module; its exit code. The flags of the build let it use what the build compiled."""
    return subprocess.run(
        ["go", "vet", *_FLAGS, "./..."], check=False, cwd=MODULE, env=os.environ | _ENVIRONMENT
    ).returncode


def kubernetes_version(programs: Path) -> str:
    """The version of the API server among the programs, such as v1.36.3."""
    server = (programs / "kube-apiserver").resolve()
    if server.name == _MULTICALL_FILE:
        return KUBERNETES_VERSION
    return _output([str(server), "--version"]).split()[1].partition("-")[0].partition("+")[0]


def cache_directory() -> Path:
    """Where built programs are kept; safe to delete."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "kvtier" / "testbed"


def _supplied() -> dict[str, Path]:
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if not assets:
        return {}
    paths = {name: Path(assets).resolve() / name for name in NAMES}
    return {name: path for name, path in paths.items() if os.access(path, os.X_OK)}


def _ensure_built(missing: list[str]) -> Path:
    go = _go_version(missing)
    target = cache_directory() / _digest(go)
    if target.is_dir():
        return target
    with _exclusive(target):
        if not target.is_dir():
            _build_into(target)
    return target


def _go_version(missing: list[str]) -> str:
    """The version of Go on the PATH. Raises ``BinariesMissingError`` if Go is missing or too old."""
    found = "go is not on the PATH"
    if go := shutil.which("go"):
        found = _output([go, "env", "GOVERSION"])
        version = re.match(r"go(\d+)\.(\d+)", found)
        if version and tuple(map(int, version.groups())) >= MINIMUM_GO:
            return found
    raise BinariesMissingError(
        f"the test bed needs {', '.join(missing)}, and Go >= 1.{MINIMUM_GO[1]} to build them ({found}). "
        "Install Go, or set KUBEBUILDER_ASSETS to a directory with these programs"
    )


def _output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=MODULE)
    return done.stdout.strip()


def _digest(go: str) -> str:
    digest = hashlib.sha256(f"{go}\n{_LDFLAGS}\n".encode())
    sources = [path for path in MODULE.rglob("*") if path.suffix in {".go", ".mod", ".sum"}]
    for path in sorted(path for path in sources if not path.name.endswith("_test.go")):
        digest.update(f"{path.relative_to(MODULE)}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


@contextmanager
def _exclusive(target: Path) -> Iterator[None]:
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / f"{target.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(
                "Waiting for another process that builds the Kubernetes control plane",
                file=sys.stderr,
                flush=True,
            )
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build_into(target: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="build-", dir=target.parent) as scratch:
        output = Path(scratch) / "bin"
        command = ["go", "build", "-v", *_FLAGS, "-o", f"{output}/", ".", *TOOLS.values()]
        what = (
            "Building the Kubernetes control plane from source, about 5 minutes on 2 cores.\n"
            f"The result is cached in {_short(target.parent)}."
        )
        run_with_progress(command, MODULE, os.environ | _ENVIRONMENT, what)
        for name in MULTICALL:
            (output / name).symlink_to(_MULTICALL_FILE)
        output.rename(target)


def _short(path: Path) -> str:
    """The path as a shell shows it, with ~ for the home directory."""
    return f"~/{path.relative_to(Path.home())}" if path.is_relative_to(Path.home()) else str(path)


def _joined(supplied: dict[str, Path], built: Path | None) -> Path:
    """A directory of links to the supplied programs and, for the rest, to the built ones."""
    rest = {name: built / name for name in NAMES if built and name not in supplied}
    links = supplied | rest
    target = cache_directory() / (
        "joined-" + hashlib.sha256(repr(sorted(links.items())).encode()).hexdigest()[:16]
    )
    with _exclusive(target):
        target.mkdir(exist_ok=True)
        for name, path in links.items():
            if not (target / name).is_symlink():
                (target / name).symlink_to(path)
    return target


if __name__ == "__main__":
    if sys.argv[1:] == ["vet"]:
        sys.exit(vet())
    try:
        print(ensure())
    except RuntimeError as error:
        sys.exit(f"Error: {error}")
