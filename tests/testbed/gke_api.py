"""The GKE Container API on a loopback port: clusters are data, and any request can be made to go wrong.

It speaks the REST wire format, so that the real google-cloud-container client (transport ``rest``) is what
gets tested. Only ``GET`` of one cluster is served.
"""

import re
import threading
from dataclasses import dataclass
from types import TracebackType
from typing import Self
from urllib.parse import unquote

from testbed.gke_documents import not_found
from testbed.google_faults import Fault, Object, Reply, Rule, Rules, json_reply
from testbed.google_http import Due, Request, Server

_CLUSTER = re.compile(r"^/v1/(projects/[^/]+/locations/[^/]+/clusters/[^/?]+)(\?|$)")


@dataclass(frozen=True)
class Call:
    """A request as it arrived. ``cluster`` is the full name, empty if the path names none."""

    path: str
    cluster: str
    headers: dict[str, str]


class GKEApi:
    """A context manager around the server; its methods may be called from any thread.

    Clusters are kept by full name, ``projects/P/locations/L/clusters/C``. On leaving, held requests are
    let go, connections are cut, and every thread has ended.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clusters: dict[str, Object] = {}
        self._rules = Rules()
        self._calls: list[Call] = []
        self._server = Server(self._respond, "gke-api-server")
        self.url = self._server.url

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.stop(self.heal)

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
            self._rules.add(Rule(fault, times, lambda call: cluster in ("", call.cluster)))

    def heal(self) -> None:
        """Forget all faults and let held requests go."""
        with self._lock:
            self._rules.clear()

    def calls(self, cluster: str = "") -> list[Call]:
        """The requests so far, the oldest first: of one cluster, or all."""
        with self._lock:
            return [call for call in self._calls if cluster in ("", call.cluster)]

    def _respond(self, request: Request) -> tuple[Fault | None, Due]:
        match = _CLUSTER.match(request.path) if request.method == "GET" else None
        call = Call(request.path, unquote(match.group(1)) if match else "", request.headers)
        with self._lock:
            self._calls.append(call)
            reply, rule = self._answer(call.cluster), self._rules.take(call)
        return rule.fault if rule else None, lambda: reply

    def _answer(self, name: str) -> Reply:
        document = self._clusters.get(name)
        return not_found(name) if document is None else json_reply(document)
