"""The GKE Container API on a loopback port: clusters are data, and any request can be made to go wrong.

It speaks the REST wire format, so that the real google-cloud-container client (transport ``rest``) is what
gets tested. Only ``GET`` of one cluster is served.
"""

import json
import re
import socket
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote

from testbed.gke_documents import Drop, Fault, Hold, Object, Reply, not_found

_CLUSTER = re.compile(r"^/v1/(projects/[^/]+/locations/[^/]+/clusters/[^/?]+)(\?|$)")
_NEVER_COMPLETE = 1 << 20


@dataclass(frozen=True)
class Call:
    """A request as it arrived. ``cluster`` is the full name, empty if the path names none."""

    path: str
    cluster: str
    headers: dict[str, str]


@dataclass
class _Rule:
    fault: Fault
    cluster: str
    times: int


class GKEApi:
    """A context manager around the server; its methods may be called from any thread.

    Clusters are kept by full name, ``projects/P/locations/L/clusters/C``. On leaving, held requests are
    let go, connections are cut, and every thread has ended.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clusters: dict[str, Object] = {}
        self._rules: list[_Rule] = []
        self._holds: list[Hold] = []
        self._calls: list[Call] = []
        self._server = _Server(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), name="gke-api-server"
        )
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self.heal()
        self._server.cut_connections()
        self._server.server_close()
        self._thread.join()

    def put(self, name: str, document: Object) -> None:
        """Create or replace a cluster; ``gke_documents.cluster`` makes the document."""
        with self._lock:
            self._clusters[name] = document

    def remove(self, name: str) -> None:
        """From now on 404."""
        with self._lock:
            del self._clusters[name]

    def fail(self, fault: Fault, times: int = -1, cluster: str = "") -> None:
        """Answer with ``fault`` instead, ``times`` times (-1: for good), for one cluster or for all.

        Faults are used up in the order in which they were given.
        """
        with self._lock:
            self._rules.append(_Rule(fault, cluster, times))
            if isinstance(fault, Hold):
                self._holds.append(fault)

    def heal(self) -> None:
        """Forget all faults and let held requests go."""
        with self._lock:
            self._rules.clear()
            for hold in self._holds:
                hold.release()

    def calls(self, cluster: str = "") -> list[Call]:
        """The requests so far, the oldest first: of one cluster, or all."""
        with self._lock:
            return [call for call in self._calls if cluster in ("", call.cluster)]

    def take(self, path: str, headers: dict[str, str]) -> tuple[Fault | None, Reply]:
        """For the server: record a request; what goes wrong with it, and the answer if nothing does."""
        match = _CLUSTER.match(path)
        name = unquote(match.group(1)) if match else ""
        with self._lock:
            self._calls.append(Call(path, name, headers))
            document = self._clusters.get(name)
            reply = not_found(name) if document is None else Reply(200, json.dumps(document).encode())
            return self._next_fault(name), reply

    def _next_fault(self, name: str) -> Fault | None:
        for rule in self._rules:
            if rule.times != 0 and rule.cluster in ("", name):
                rule.times -= 1
                return rule.fault
        return None


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # server_close() waits for them
    request_queue_size = 128

    def __init__(self, api: GKEApi) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.api = api
        self._connections: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._connections.discard(request)
        super().shutdown_request(request)

    def cut_connections(self) -> None:
        """End the threads that wait for the next request of a kept connection."""
        for connection in list(self._connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # a client may give up
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        fault, reply = self.server.api.take(self.path, dict(self.headers))
        if isinstance(fault, Hold):
            self._hold(fault, reply)
        elif isinstance(fault, Drop):
            self.close_connection = True
        else:
            self._reply(fault or reply)

    def _hold(self, hold: Hold, reply: Reply) -> None:
        if hold.trickle:
            self.close_connection = True
            self._head(reply, _NEVER_COMPLETE)
            hold.pause(self._dribble)
        else:
            hold.pause(self.wfile.flush)
            self._reply(reply)

    def _dribble(self) -> None:
        self.wfile.write(b" ")
        self.wfile.flush()

    def _reply(self, reply: Reply) -> None:
        self._head(reply, len(reply.body))
        self.wfile.write(reply.body)

    def _head(self, reply: Reply, length: int) -> None:
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.content_type)
        self.send_header("Content-Length", str(length))
        self.end_headers()
