"""A Google API over REST on loopback: the server, its responses, and faults of requests."""

import json
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Object = dict[str, Any]

_DRIBBLE_SECONDS = 0.02
_NEVER_COMPLETE = 1 << 20


@dataclass(frozen=True)
class Reply:
    """A response, byte for byte."""

    status: int
    body: bytes
    content_type: str = "application/json; charset=UTF-8"


@dataclass(frozen=True)
class Drop:
    """The connection closes without a response."""


@dataclass
class Hold:
    """Requests wait until ``release``, and then get their response. ``entered`` is set when the first request waits.
    With ``trickle`` a request gets single bytes meanwhile, so that no read times out, but never a whole response.
    """

    trickle: bool = False
    entered: threading.Event = field(default_factory=threading.Event)
    _released: threading.Event = field(default_factory=threading.Event)

    def release(self) -> None:
        self._released.set()

    def pause(self, dribble: Callable[[], None]) -> None:
        """Wait until released; for the server."""
        self.entered.set()
        while not self._released.wait(_DRIBBLE_SECONDS if self.trickle else None):
            dribble()


Fault = Reply | Drop | Hold


@dataclass
class Rule:
    """A fault of the requests that ``matches`` selects, ``times`` times (-1: always)."""

    fault: Fault
    times: int
    matches: Callable[[Any], bool]


class Rules:
    """Faults, used up in the order in which they were added. The caller holds the lock."""

    def __init__(self) -> None:
        self._rules: list[Rule] = []
        self._holds: list[Hold] = []

    def add(self, rule: Rule) -> None:
        """Add a fault."""
        self._rules.append(rule)
        if isinstance(rule.fault, Hold):
            self._holds.append(rule.fault)

    def take(self, call: Any) -> Rule | None:
        """The fault of a request, or None; counts it."""
        for rule in self._rules:
            if rule.times != 0 and rule.matches(call):
                rule.times -= 1
                return rule
        return None

    def remove(self, rule: Rule) -> None:
        """Remove one fault and release the requests that it holds."""
        if rule in self._rules:
            self._rules.remove(rule)
        if isinstance(rule.fault, Hold):
            rule.fault.release()

    def clear(self) -> None:
        """Remove all faults and release held requests."""
        self._rules.clear()
        for hold in self._holds:
            hold.release()


def json_reply(document: Object, status: int = 200) -> Reply:
    """A document as a response."""
    return Reply(status, json.dumps(document).encode())


def error_reply(code: int, status: str, message: str, **fields: Any) -> Reply:
    """An error in the format of Google's APIs: ``code`` is the HTTP status, ``status`` the name of the gRPC code."""
    return json_reply({"error": {"code": code, "message": message, "status": status} | fields}, code)


@dataclass(frozen=True)
class Request:
    """A request as received. ``path`` has the query, and is still escaped."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""


Due = Callable[[], Reply]
Respond = Callable[[Request], tuple[Fault | None, Due]]


class Server:
    """Calls ``respond``, in a thread for each connection, for the fault of a request and its response.

    The response is computed when it is sent, and not at all if a fault replaces it. Port 0 is any free port.
    """

    def __init__(self, respond: Respond, name: str, port: int = 0) -> None:
        self._http = _HTTPServer(respond, port)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), name=name)
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def start(self) -> None:
        self._thread.start()

    def stop(self, release: Callable[[], None]) -> None:
        """Stop accepting, release held requests, cut connections, and return when every thread has ended."""
        self._http.shutdown()
        release()
        self._http.cut_connections()
        self._http.server_close()
        self._thread.join()


class _HTTPServer(ThreadingHTTPServer):
    daemon_threads = False  # server_close() waits for them
    request_queue_size = 128

    def __init__(self, respond: Respond, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.respond = respond
        self._connections: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._connections.discard(request)
        super().shutdown_request(request)

    def cut_connections(self) -> None:
        """End the threads that wait for the next request of an open connection."""
        for connection in list(self._connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # a client may give up
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    server: _HTTPServer

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault, due = self.server.respond(Request(self.command, self.path, dict(self.headers), body))
        if isinstance(fault, Hold):
            self._hold(fault, due)
        elif isinstance(fault, Drop):
            self.close_connection = True
        else:
            self._reply(fault or due())

    do_POST = do_PATCH = do_DELETE = do_GET  # noqa: N815 - the base class has the names

    def _hold(self, hold: Hold, due: Due) -> None:
        if hold.trickle:
            self.close_connection = True
            self._head(Reply(200, b""), _NEVER_COMPLETE)
            hold.pause(self._dribble)
        else:
            hold.pause(self.wfile.flush)
            self._reply(due())

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
