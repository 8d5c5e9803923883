"""A small Pod for tests: the volumes, file system and processes of a rendered container.

Linux namespaces replace containerd: a read-only root, a separate /dev/shm and /tmp, the volumes, process 1, the user,
and no capabilities. Differences: the image consists of this machine's system directories, the network is that of the
machine, and memory is not limited.
"""

import os
import re
import shlex
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from engine.kubelet import Started, Volume
from testbed.process import Component
from testbed.waiting import eventually

_IMAGE = ("bin", "etc", "lib", "lib32", "lib64", "libx32", "opt", "sbin", "sys", "usr", "var")
_DEVICES = ("null", "zero", "full", "random", "urandom")
_NO_CAPABILITIES = ("--bounding-set=-all", "--inh-caps=-all", "--no-new-privs")


class Pod:
    """Mounts that exist longer than containers, as a Pod's volumes do. They are removed at the end of the block.

    Needs root, or user namespaces for all users.
    """

    def __init__(self, directory: Path, volumes: Mapping[str, Volume]) -> None:
        self._directory = directory
        self._root = directory / "root"
        self._volumes = volumes
        self._user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        self._containers: list[Container] = []
        for made in (self._root, directory / "logs"):
            made.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> "Pod":
        script = "\n".join(["set -e", *self._mounts(), "touch mounted", "exec sleep infinity"])
        command = [
            "/usr/bin/unshare",
            *self._user,
            "--mount",
            "--propagation=private",
            "/bin/sh",
            "-c",
            script,
        ]
        self._pause = Component("pause", command, self._directory, dict(os.environ))
        self._pause.start()
        try:
            eventually(self._mounted, 60, "the Pod's mounts")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for container in self._containers:
            container.kill()
        self._pause.terminate(force=True)
        self._pause.wait_ended(10)

    def run(self, started: Started, image: Mapping[str, str], name: str = "engine") -> "Container":
        """Start a container; `image` is the environment that its image sets."""
        name = f"{name}-{len(self._containers)}"
        inside = ["/usr/bin/env", "-i", *(f"{k}={v}" for k, v in {**image, **started.variables}.items())]
        command = [
            *self.enter(),
            *("/usr/bin/unshare", "--mount", "--propagation=private", "--pid", "--fork", "--kill-child"),
            *("/bin/sh", "-c", f'mount -t proc proc {shlex.quote(str(self._root))}/proc && exec "$@"', "sh"),
            *("/usr/sbin/chroot", str(self._root), "setpriv", *_NO_CAPABILITIES),
            *(
                (f"--reuid={started.user}", f"--regid={started.group}", "--clear-groups")
                if not self._user
                else ()
            ),
            *inside,
            *started.command,
            *started.arguments,
        ]
        container = Container(name, command, self._directory)
        self._containers.append(container)
        return container

    def execute(self, script: str, within: "Container | None" = None) -> None:
        """Run a shell script with the rights of a node's administrator; `$ROOT` is the containers' root.

        A running container has its own mounts, as on a node. Use `within` to change them.
        """
        command = [*self.enter(within), "/bin/sh", "-ec", script]
        env = {**os.environ, "ROOT": str(self._root)}
        subprocess.run(command, check=True, env=env, cwd="/")

    def enter(self, within: "Container | None" = None) -> list[str]:
        """Prefix of a command that runs it with the mounts of the Pod, or of a running container."""
        user = ["--user", "--preserve-credentials"] if self._user else []
        target = within.first() if within else self._pause.pid
        return ["/usr/bin/nsenter", f"--target={target}", *user, "--mount"]

    def give(self, inside: str, user: int) -> None:
        """Create a file that belongs to a user, as a container would."""
        self.path(inside).touch(mode=0o600)
        if not self._user:
            os.chown(self.path(inside), user, user)

    def path(self, inside: str) -> Path:
        """A path of the containers, as seen from here."""
        return Path(f"/proc/{self._pause.pid}/root{self._root}{inside}")

    def _mounted(self) -> bool:
        self._pause.require_alive()
        return (self._directory / "mounted").exists()

    def _mounts(self) -> Sequence[str]:
        """The root: this machine's system directories, read-only, and the Pod's volumes."""
        root = shlex.quote(str(self._root))
        lines = [f"mount -t tmpfs -o mode=755 tmpfs {root}", f"mkdir {root}/proc {root}/dev {root}/away"]
        for entry in (Path("/") / name for name in _IMAGE):
            if entry.is_symlink():
                lines.append(f"cp -P {entry} {root}/")
            elif entry.is_dir():
                lines += [f"mkdir {root}{entry}", f"mount --rbind {entry} {root}{entry}"]
                lines.append(f"mount -o remount,bind,ro {root}{entry}")
        lines += [f"touch {root}/dev/{name}; mount --bind /dev/{name} {root}/dev/{name}" for name in _DEVICES]
        for path, volume in self._volumes.items():
            lines += _mount(f"{root}{path}", volume)
        return [*lines, f"mount -o remount,bind,ro {root}"]


_CAUSE = re.compile(r"\b\w*(Error|Exception)\b: ")
_CAUSES = 5


def _mount(path: str, volume: Volume) -> list[str]:
    made = f"mkdir -p {path}"
    if volume.directory is None:
        return [made, f"mount -t tmpfs -o size={volume.memory},mode=777 tmpfs {path}"]
    bound = [made, f"mount --bind {shlex.quote(str(volume.directory))} {path}"]
    return bound + ([f"mount -o remount,bind,ro {path}"] if volume.read_only else [])


class Container(Component):
    """A running container. Its process 1 is a child of the started process."""

    def __init__(self, name: str, command: list[str], directory: Path) -> None:
        super().__init__(name, command, directory, dict(os.environ))
        self.start()

    def explain(self, problem: str) -> str:
        """The problem, the first errors of the log (the cause is often far from the end), and the end of the log."""
        lines = self.log.read_text(errors="replace").splitlines()
        causes = [line for line in lines if _CAUSE.search(line)][:_CAUSES]
        return "\n".join([super().explain(problem), "the first errors in its log:", *causes])

    def stop(self, grace: float = 30) -> None:
        """SIGTERM to process 1, then SIGKILL, as the kubelet does."""
        for pid in self._children():
            os.kill(pid, signal.SIGTERM)
        self.wait_ended(grace)

    def kill(self) -> None:
        """Kill the container, as the kernel does when it runs out of memory."""
        for pid in self._children():
            os.kill(pid, signal.SIGKILL)
        self.wait_ended(10)

    def path(self, inside: str) -> Path:
        """A path of this container, through its own mounts, as seen from here."""
        return Path(f"/proc/{self.first()}/root{inside}")

    def first(self) -> int:
        """The PID of process 1 on this machine. Raises ``ComponentError`` if it has ended."""
        self.require_alive()
        return self._children()[0]

    def _children(self) -> list[int]:
        try:
            return [
                int(pid) for pid in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
            ]
        except FileNotFoundError:
            return []
