"""A small server with the part of the S3 protocol that vLLM's object tier uses."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

NAME = "blocks"
KEY_ID = "GOOGKEY"
BUSY = 503
"""The SDK retries after a little more than BUSY_SECONDS."""
BUSY_SECONDS = 1.0


@dataclass
class Bucket:
    """The bucket NAME, for clients with the key KEY_ID.

    A body is stored without decoding, as by servers that do not know the frame of the AWS SDK (aws-chunked).
    """

    endpoint: str = ""
    objects: dict[str, bytes] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    """Methods in the order of arrival."""
    last: int | None = None
    """The server stops listening after so many requests."""
    faults: dict[str, list[int]] = field(default_factory=dict)
    """Status codes for the first uploads of keys with this suffix."""

    def fault(self, key: str) -> int | None:
        """The status code if this upload must fail, else None."""
        left = [codes for end, codes in self.faults.items() if key.endswith(end) and codes]
        return left[0].pop(0) if left else None


@contextmanager
def serving() -> Iterator[Bucket]:
    """A bucket at a port of 127.0.0.1."""
    bucket = Bucket()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"bucket": bucket}))
    bucket.endpoint = f"127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield bucket
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    """One request per connection, so that a stopped server does not answer on open connections."""

    protocol_version = "HTTP/1.1"
    bucket: Bucket

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        self._answer(self._body())

    def log_message(self, format: str, *arguments: object) -> None:
        """Log nothing: the tests inspect the bucket."""

    def _answer(self, body: bytes | None = None) -> None:
        bucket, key = self.bucket, self.path.partition("?")[0].removeprefix(f"/{NAME}/")
        bucket.requests.append(self.command)
        if len(bucket.requests) == bucket.last:
            self.server.shutdown()
            self.server.server_close()
        fault = None if body is None else bucket.fault(key)
        if fault == BUSY:
            time.sleep(BUSY_SECONDS)
        if f"Credential={KEY_ID}/" not in self.headers.get("Authorization", ""):
            fault = 403
        if fault:
            self._reply(fault)
        elif body is None:
            self._content(bucket.objects.get(key))
        else:
            bucket.objects[key] = body
            self._reply(200)

    def _content(self, found: bytes | None) -> None:
        if found is None or self.command == "HEAD":
            self._reply(404 if found is None else 200)
            return
        first, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
        self._reply(206, found[first : last + 1], f"bytes {first}-{last}/{len(found)}")

    def _reply(self, status: int, body: bytes = b"", part: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        if part:
            self.send_header("Content-Range", part)
        self.end_headers()
        self.wfile.write(body)

    def _body(self) -> bytes:
        if "Content-Length" in self.headers:
            return self.rfile.read(int(self.headers["Content-Length"]))
        whole = b""
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            whole += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return whole
