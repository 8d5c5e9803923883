"""An LMCache server beside the engine, in the same Pod.

kvtier renders no such Pod yet: what it will render is put together here, and only here, from `kvtier.engines.lmcache`.
"""

import dataclasses
import json
import urllib.error
import urllib.request

from engine.kubelet import Started, expand
from engine.pod import Container
from engine.replica import Replica
from engine.server import Server
from kvtier.engines import lmcache
from testbed.ports import free_ports
from testbed.waiting import eventually

VERSION = "0.5.6"
_TRANSFER = "--kv-transfer-config="
_START_SECONDS = 300.0
_L1_BYTES = 256 << 20


def start(running: Replica, directory: str, name: str) -> Server:
    """The cache server on a directory of the shared tier, and then the engine; `name` is the Pod's.

    Replaced: the ports, since the network is this machine's.
    """
    port, http_port = free_ports(2)
    arguments = lmcache.server_argv(VERSION, _L1_BYTES, None, 0, directory)
    ports = {
        f"--port={lmcache.PORT}": f"--port={port}",
        f"--http-port={lmcache.HTTP_PORT}": f"--http-port={http_port}",
    }
    arguments = [expand(ports.get(one, one), {lmcache.POD_NAME: name}) for one in arguments]
    server = running.run(arguments, "lmcache")
    eventually(lambda: _healthy(server, http_port), _START_SECONDS, "the cache server answers")
    return running.start(change=lambda started: _connected(started, port), shim=False)


def _connected(started: Started, port: int) -> Started:
    """The engine's command with LMCache's connector in place of vLLM's own."""
    config = lmcache.transfer_config(VERSION)
    config["kv_connector_extra_config"]["lmcache.mp.port"] = port
    kept = [one for one in started.arguments if not one.startswith(_TRANSFER)]
    return dataclasses.replace(started, arguments=[*kept, _TRANSFER + json.dumps(config)])


def _healthy(server: Container, port: int) -> bool:
    server.require_alive()
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{lmcache.HEALTH_PATH}", timeout=5) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False
