"""A shared tier that can hang: the engine reaches it through a file system whose server can be stopped."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.native import passthrough
from engine.replica import Replica
from engine.server import Server
from testbed.process import Component
from testbed.waiting import eventually


class Between:
    """The file system between an engine and its shared tier."""

    def __init__(self, component: Component) -> None:
        self._component = component

    def stop(self) -> None:
        """Let every access to the tier wait from now on."""
        self._send(signal.SIGSTOP)

    def go_on(self) -> None:
        """Answer waiting and later accesses."""
        self._send(signal.SIGCONT)

    def _send(self, number: signal.Signals) -> None:
        self._component.require_alive()
        assert self._component.pid
        os.kill(self._component.pid, number)


@contextmanager
def between(running: Replica, server: Server, directory: Path) -> Iterator[Between]:
    """Mount it for the block. At the end of the block, the tier answers all waiting accesses."""
    tier = server.container.path("/kv/lustre")
    command = [*running.pod.enter(server.container), sys.executable, passthrough.__file__, str(tier)]
    (directory / "logs").mkdir()
    component = Component("passthrough", command, directory, dict(os.environ))
    component.start()
    try:
        eventually(lambda: _mounted(server, component), 20, "the file system is mounted")
        yield from _until_unmounted(Between(component), running, server, tier)
    finally:
        component.wait_ended(30)


def _until_unmounted(made: Between, running: Replica, server: Server, tier: Path) -> Iterator[Between]:
    try:
        yield made
    finally:
        made.go_on()
        running.pod.execute(f"umount --lazy {tier}", server.container)


def _mounted(server: Server, component: Component) -> bool:
    component.require_alive()
    mounts = Path(f"/proc/{server.container.first()}/mounts").read_text()
    return "passthrough /" in mounts
