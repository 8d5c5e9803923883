"""A small Hugging Face Hub: repositories with revisions, as the package huggingface_hub downloads them."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

Revisions = Mapping[str, Mapping[str, bytes]]
"""The files by revision and name."""
_INFO = re.compile(r"/api/models/(?P<name>[^/]+/[^/]+)/(?P<kind>revision|tree)/(?P<revision>[^/?]+)")
_FILE = re.compile(r"/(?P<name>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<file>.+)")


class Hub(ThreadingHTTPServer):
    """Every request needs `token`."""

    def __init__(self, repositories: Mapping[str, Revisions], token: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repositories = repositories
        self.token = token

    def files(self, name: str, asked: str) -> tuple[str, Mapping[str, bytes]]:
        """The commit of a revision, by its name or commit, and its files; no commit if it does not exist."""
        found = self.repositories[name]
        matching = ((_digest(one.encode()), files) for one, files in found.items() if _is(one, asked))
        return next(matching, ("", {}))


@contextmanager
def running(repositories: Mapping[str, Revisions], token: str) -> Iterator[str]:
    """The address of a Hub, which ends with the block."""
    with Hub(repositories, token) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        info, file = _INFO.match(self.path), _FILE.match(self.path)
        if self.headers.get("Authorization") != f"Bearer {self.server.token}":
            self._answer(401)
        elif info:
            self._info(**info.groupdict())
        elif file:
            self._file(**file.groupdict())
        else:
            self._answer(404)

    def do_HEAD(self) -> None:
        self.do_GET()

    def _info(self, name: str, kind: str, revision: str) -> None:
        commit, files = self.server.files(name, revision)
        listed: list[dict[str, Any]] = [
            {"type": "file", "path": file, "rfilename": file, "size": len(data), "oid": _digest(data)}
            for file, data in files.items()
        ]
        whole = {"id": name, "sha": commit, "siblings": listed}
        body = json.dumps(listed if kind == "tree" else whole).encode()
        if commit:
            self._answer(200, body)
        else:
            self._answer(404, b"", {"X-Error-Code": "RevisionNotFound"})

    def _file(self, name: str, revision: str, file: str) -> None:
        commit, files = self.server.files(name, revision)
        self._answer(200, files[file], {"X-Repo-Commit": commit, "ETag": f'"{_digest(files[file])}"'})

    def _answer(self, code: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> None:
        self.send_response(code)
        for header, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(header, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Requests are not logged."""


def _is(revision: str, asked: str) -> bool:
    return asked in (revision, _digest(revision.encode()))


def _digest(data: bytes) -> str:
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()
