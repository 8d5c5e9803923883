"""A Pod with an engine and an LMCache server: both containers as kvtier renders them, with other ports."""

import dataclasses
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engine import kubelet, small
from engine.kubelet import Started
from engine.native.shared import look_up
from engine.pod import Container, Pod
from engine.rendering import Manifest
from engine.replica import Image, Replica, replica
from engine.server import Server
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.engines import lmcache
from kvtier.engines.fingerprint import directory
from testbed.process import free_ports
from testbed.waiting import eventually
from unit.builders import model_cache

VERSION = "0.5.6"
BLOCKS = 8
CHUNK = BLOCKS * small.BLOCK
_START_SECONDS = 300.0
_RECOVERY_SECONDS = 60.0


def pool(vllm: str, **changes: Any) -> KVCachePool:
    """The small pool with backend LMCache and `changes` of its model."""
    engine = {"backend": "LMCache", "version": vllm, "lmcache": {"version": VERSION, "cpu": 2}}
    return small.pool(engine=engine, blocksPerChunk=BLOCKS, **changes)


def below(of: KVCachePool) -> str:
    """Path of its blocks below the root of a tier."""
    return directory(of, model_cache(of.spec.models[0], BLOCKS))


class CacheServer:
    """The cache server of a Pod. It keeps its ports after a restart, as in a Pod with its own network."""

    container: Container

    def __init__(self, running: Replica, made: Manifest, pod: str) -> None:
        self._running = running
        self.port, self._http_port = free_ports(2)
        ports = {
            f"--port={lmcache.PORT}": f"--port={self.port}",
            f"--http-port={lmcache.HTTP_PORT}": f"--http-port={self._http_port}",
        }
        rendered = kubelet.started(made, {lmcache.POD_NAME: pod}, "initContainers")
        arguments = [ports.get(one, one) for one in rendered.arguments]
        self._started = dataclasses.replace(rendered, arguments=arguments)
        self.start()

    def start(self) -> None:
        """Run the container, and wait for its startup probe to pass."""
        self.container = self._running.run(self._started, "cache-server")
        eventually(self._healthy, _START_SECONDS, "the cache server answers")

    def connected(self, started: Started) -> Started:
        """The engine's container with the port of this server."""
        there, here = (f'"lmcache.mp.port":{port}' for port in (lmcache.PORT, self.port))
        changed = [one.replace(there, here) for one in started.arguments]
        assert changed != started.arguments, "the engine looks for a server"
        return dataclasses.replace(started, arguments=changed)

    def _healthy(self) -> bool:
        self.container.require_alive()
        url = f"http://127.0.0.1:{self._http_port}{lmcache.HEALTH_PATH}"
        try:
            with urllib.request.urlopen(url, timeout=5) as response:
                return bool(response.status == 200)
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False


@dataclasses.dataclass(frozen=True)
class Cached:
    """An engine that serves, and its cache server."""

    engine: Server
    server: CacheServer
    pod: Pod

    def look_up(self, name: str, tokens: int) -> tuple[list[int], int]:
        """The answer to a prompt, and how many of its tokens were found outside the GPU's memory."""
        answer, found = look_up(self.engine, name, tokens)
        return answer.tokens, found

    def modes(self) -> list[str]:
        """The transfer mode of each registration of the engine, in order."""
        return re.findall(r"context registered \(.*mode=(\w+)", self._log())

    def in_memory(self) -> int:
        """Bytes of /dev/shm that the CPU tier uses now."""
        return self.pod.path(f"/dev/shm/{lmcache.SEGMENT}").stat().st_blocks * 512

    @contextmanager
    def recovery(self) -> Iterator[None]:
        """Wait until both the scheduler and the worker of the engine are connected to the server again."""
        before = self._recoveries()
        yield
        eventually(lambda: self._recoveries() == before + 2, _RECOVERY_SECONDS, "the engine finds the server")

    def _recoveries(self) -> int:
        return self._log().count("resuming normal operation")

    def _log(self) -> str:
        return self.engine.container.log.read_text(errors="replace")


@contextmanager
def cached(of: KVCachePool, image: Image, tier: Path, directory: Path) -> Iterator[Cached]:
    """A Pod of a pool's Deployment on a shared tier: the server first, then the engine."""
    made = small.deployment(of)
    with replica(made, image, small.claims(made, tier), directory) as running:
        server = CacheServer(running, made, directory.name)
        engine = running.start(change=server.connected, shim=False).wait_ready()
        yield Cached(engine, server, running.pod)
