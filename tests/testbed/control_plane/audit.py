"""Reads the audit log of the API server: which user wrote which object."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WRITE_VERBS = frozenset({"create", "update", "patch", "delete", "deletecollection"})
_LONGEST_LINE = 64 * 1024


@dataclass(frozen=True)
class Request:
    """One answered request; requests of the test bed's own components are not logged."""

    user: str
    verb: str
    resource: str
    subresource: str
    namespace: str
    name: str
    uri: str
    user_agent: str
    code: int
    time: str
    answered: str

    @property
    def is_write(self) -> bool:
        """Whether it requested a change."""
        return self.verb in WRITE_VERBS

    @property
    def is_lease(self) -> bool:
        """Whether it is about a Lease: heartbeats and leader election."""
        return self.resource == "leases"


class AuditLog:
    """The audit log of one API server. A mark is a position in it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def mark(self) -> int:
        """The present end of the log, never within a line that is still being written."""
        if not self._path.exists():
            return 0
        with self._path.open("rb") as log:
            start = max(0, log.seek(0, os.SEEK_END) - _LONGEST_LINE)
            log.seek(start)
            return start + log.read().rfind(b"\n") + 1

    def requests(self, since: int = 0, user: str | None = None) -> list[Request]:
        """Requests after the mark, optionally of one user, in the order of their responses."""
        return [request for request in self._read(since) if user in (None, request.user)]

    def writes(self, since: int = 0, user: str | None = None, leases: bool = False) -> list[Request]:
        """Writes after the mark, successful or not; those of Leases only on request."""
        requests = self.requests(since, user)
        return [request for request in requests if request.is_write and (leases or not request.is_lease)]

    def writes_by_user(self, since: int = 0, leases: bool = False) -> Counter[str]:
        """How many writes each user made after the mark."""
        return Counter(request.user for request in self.writes(since, leases=leases))

    def _read(self, since: int) -> Iterator[Request]:
        if not self._path.exists():
            return
        with self._path.open("rb") as log:
            log.seek(since)
            for line in log:
                if line.endswith(b"\n"):  # else the server is still writing it
                    yield _request(json.loads(line))


def _request(event: dict[str, Any]) -> Request:
    target = event.get("objectRef", {})
    return Request(
        user=event["user"].get("username", ""),
        verb=event["verb"],
        resource=target.get("resource", ""),
        subresource=target.get("subresource", ""),
        namespace=target.get("namespace", ""),
        name=target.get("name", ""),
        uri=event["requestURI"],
        user_agent=event.get("userAgent", ""),
        code=event.get("responseStatus", {}).get("code", 0),
        time=event["requestReceivedTimestamp"],
        answered=event["stageTimestamp"],
    )
