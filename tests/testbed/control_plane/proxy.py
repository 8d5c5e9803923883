"""A proxy in front of the API server that injects faults: refused, lost and delayed requests, broken watches."""

import asyncio
import re
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal, NoReturn, Self

import aiohttp
from aiohttp import web

from testbed.control_plane.cluster import Cluster
from testbed.waiting import eventually

WRITES = "POST|PUT|PATCH|DELETE"
_POLL_SECONDS = 0.01
_REASONS = {
    403: "Forbidden",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
}
_KEPT_HEADERS = ("Authorization", "Accept", "Content-Type", "User-Agent")
Action = Literal["answer", "drop", "lose", "hold", "withhold"]


@dataclass(eq=False)
class Fault:
    """A fault of requests whose method and path, with its query, match.

    answer: the proxy responds with ``status``. drop: the connection breaks before the request is sent. lose: it breaks
    after the request took effect. hold: the response is sent when the fault is removed. withhold: the same for the
    events of a watch. The first ``after`` matching requests pass, the next ``times`` (None: all) fail.
    """

    action: Action
    method: str = WRITES
    path: str = ""
    times: int | None = 1
    after: int = 0
    status: int = 0
    retry_after: int | None = None
    message: str = "injected by the test"
    on_hit: Callable[[], None] = lambda: None
    seen: list[float] = field(default_factory=list)

    @property
    def hits(self) -> int:
        """How many requests have failed."""
        return len(self.seen)


class Proxy:
    """A context manager that serves plain HTTP on loopback, from a thread of its own."""

    def __init__(self, cluster: Cluster) -> None:
        self.requests: list[str] = []
        self._cluster = cluster
        self._faults: list[Fault] = []
        self._passed: dict[Fault, int] = {}
        self._streams: dict[asyncio.Task[None] | None, str] = {}
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="proxy")

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    def inject(self, fault: Fault) -> Fault:
        """Add a fault. It ends after its `times` requests, or when it is removed."""
        self._passed[fault] = 0
        self._faults.append(fault)
        return fault

    @contextmanager
    def injecting(self, fault: Fault) -> Iterator[Fault]:
        """Add a fault inside of the `with` block."""
        yield self.inject(fault)
        self.remove(fault)

    def remove(self, *faults: Fault) -> None:
        """Remove these faults, or all of them."""
        self._faults = [one for one in self._faults if faults and one not in faults]

    def cut_watches(self, path: str = "") -> None:
        """Break the watches whose path matches, in the middle of the stream."""

        def cut() -> None:
            for stream, of in self._streams.items():
                if stream and re.search(path, of):
                    stream.cancel()

        self._loop.call_soon_threadsafe(cut)

    def await_watches(self, path: str) -> None:
        """Wait until a watch of that path is open."""
        eventually(
            lambda: any(re.search(path, of) for of in list(self._streams.values())), what=f"watch of {path}"
        )

    @contextmanager
    def outage(self) -> Iterator[None]:
        """Refuse every request, and break open connections."""
        with self.injecting(Fault("drop", ".*", times=None)):
            self.cut_watches()
            yield

    async def _serve(self) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        context = ssl.create_default_context(cafile=str(self._cluster.ca_file))
        server = web.Server(self._handle)
        runner = web.ServerRunner(server, shutdown_timeout=0.1)
        timeout = aiohttp.ClientTimeout(total=None)
        connector = aiohttp.TCPConnector(ssl=context, limit=0)
        async with aiohttp.ClientSession(
            connector=connector, timeout=timeout, auto_decompress=False
        ) as session:
            self._session = session
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            self._ready.set()
            await self._stopping.wait()
            await runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        fault = self._match(request.method, request.path_qs)
        self.requests.append(f"{request.method} {request.path_qs}")
        if fault and fault.action == "answer":
            return _refusal(fault)
        if fault and fault.action == "drop":
            _break(request)
        return await self._forward(request, fault)

    def _match(self, method: str, path: str) -> Fault | None:
        for fault in self._faults:
            if not re.fullmatch(fault.method, method) or not re.search(fault.path, path):
                continue
            self._passed[fault] += 1
            if self._passed[fault] > fault.after and (fault.times is None or fault.hits < fault.times):
                fault.seen.append(asyncio.get_running_loop().time())
                return fault
        return None

    async def _forward(self, request: web.BaseRequest, fault: Fault | None) -> web.StreamResponse:
        headers = {name: request.headers[name] for name in _KEPT_HEADERS if name in request.headers}
        headers["Accept-Encoding"] = "identity"
        url, body = self._cluster.url + request.path_qs, await request.read()
        try:
            async with self._session.request(
                request.method, url, data=body or None, headers=headers
            ) as answer:
                if "watch=true" in request.query_string and answer.status == 200:
                    return await self._stream(request, answer)
                data = await answer.read()
        except (aiohttp.ClientError, OSError):
            _break(request)
        if fault:
            await self._inject(request, fault)
        kept = {
            name: answer.headers[name] for name in ("Content-Type", "Retry-After") if name in answer.headers
        }
        return web.Response(status=answer.status, body=data, headers=kept)

    async def _inject(self, request: web.BaseRequest, fault: Fault) -> None:
        fault.on_hit()
        while fault.action == "hold" and fault in self._faults:  # noqa: ASYNC110 - another thread removes it
            await asyncio.sleep(_POLL_SECONDS)
        if fault.action == "lose":
            _break(request)

    async def _stream(self, request: web.BaseRequest, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        copying = asyncio.create_task(self._copy(answer, response, request.path_qs))
        self._streams[copying] = request.path_qs
        try:
            await asyncio.wait([copying])
        finally:
            copying.cancel()
            del self._streams[copying]
        if copying.cancelled() or copying.exception():
            _break(request)
        return response

    async def _copy(self, answer: aiohttp.ClientResponse, response: web.StreamResponse, path: str) -> None:
        async for line in answer.content:
            while self._withholds(path):  # noqa: ASYNC110 - another thread ends it
                await asyncio.sleep(_POLL_SECONDS)
            await response.write(line)

    def _withholds(self, path: str) -> bool:
        return any(one.action == "withhold" and re.search(one.path, path) for one in self._faults)


def _refusal(fault: Fault) -> web.Response:
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "reason": _REASONS[fault.status],
        "message": fault.message,
        "code": fault.status,
    }
    headers = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
    return web.json_response(status, status=fault.status, headers=headers)


def _break(request: web.BaseRequest) -> NoReturn:
    if request.transport:
        request.transport.abort()
    raise asyncio.CancelledError
