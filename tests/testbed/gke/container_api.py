"""The GKE Container API on a loopback port: clusters are data, and any request can be made to fail.

It uses the REST wire format, so that tests use the real google-cloud-container client (transport ``rest``). Only
``GET`` of one cluster is served.
"""

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote

from testbed.google_api import (
    Drop,
    Due,
    Fault,
    Hold,
    Object,
    Reply,
    Request,
    Rule,
    Rules,
    Server,
    error_reply,
    json_reply,
)

_CLUSTER = re.compile(r"^/v1/(projects/[^/]+/locations/[^/]+/clusters/[^/?]+)(\?|$)")
__all__ = ("Drop", "Fault", "Hold", "Object", "Reply", "cluster", "node_pool", "not_found", "refusal")
_VERSION = "1.35.2-gke.1842000"
_STATUS = {
    400: ("INVALID_ARGUMENT", "badRequest", "Location is invalid."),
    401: ("UNAUTHENTICATED", "unauthorized", "Request had invalid authentication credentials."),
    403: ("PERMISSION_DENIED", "forbidden", 'Required "container.clusters.get" permission(s).'),
    404: ("NOT_FOUND", "notFound", "Not found."),
    429: ("RESOURCE_EXHAUSTED", "rateLimitExceeded", "Quota exceeded for quota metric 'Read requests'."),
    500: ("INTERNAL", "backendError", "Internal error encountered."),
    503: ("UNAVAILABLE", "backendError", "The service is currently unavailable."),
}


@dataclass(frozen=True)
class Call:
    """A request as received. ``cluster`` is the full name, empty if the path names none."""

    path: str
    cluster: str
    headers: dict[str, str]


class GKEApi:
    """A context manager around the server; its methods may be called from any thread.

    Clusters are kept by full name, ``projects/P/locations/L/clusters/C``. At the end, held requests are released,
    connections are cut, and every thread has ended.
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
        """Create or replace a cluster; ``container_api.cluster`` returns a document."""
        with self._lock:
            self._clusters[name] = document

    def remove(self, name: str) -> None:
        """Delete a cluster: requests for it return 404."""
        with self._lock:
            del self._clusters[name]

    def fail(self, fault: Fault, times: int = -1, cluster: str = "") -> None:
        """Respond with ``fault`` instead, ``times`` times (-1: always), for one cluster or for all.

        Faults are used up in the order in which they were added.
        """
        with self._lock:
            self._rules.add(Rule(fault, times, lambda call: cluster in ("", call.cluster)))

    def heal(self) -> None:
        """Remove all faults and release held requests."""
        with self._lock:
            self._rules.clear()

    def calls(self, cluster: str = "") -> list[Call]:
        """The requests so far, the oldest first, for one cluster or for all."""
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


def refusal(code: int, message: str = "") -> Reply:
    """An error in the format of Google's APIs."""
    status, reason, text = _STATUS[code]
    details = {"message": message or text, "domain": "global", "reason": reason}
    return error_reply(code, status, message or text, errors=[details])


def not_found(name: str) -> Reply:
    """GKE's response for a cluster that does not exist."""
    return refusal(404, f"Not found: {name}.")


def cluster(
    network: str = "projects/p/global/networks/default",
    *,
    version: str = _VERSION,
    lustre: bool = True,
    channel: str = "RAPID",
    autopilot: bool = False,
    node_pools: Sequence[Object] = (),
    **fields: Any,
) -> Object:
    """A cluster's document; ``fields`` replace or add top-level fields. As in GKE, fields that are false are absent."""
    return {
        "status": "RUNNING",
        "currentMasterVersion": version,
        "network": network.rpartition("/")[2],
        "networkConfig": {"network": network},
        "addonsConfig": {"lustreCsiDriverConfig": {"enabled": True} if lustre else {}},
        "releaseChannel": {"channel": channel},
        "autopilot": {"enabled": True} if autopilot else {},
        "nodePools": list(node_pools),
    } | fields


def node_pool(name: str, machine_type: str, local_ssds: int = 0, version: str = _VERSION) -> Object:
    """An entry of ``nodePools``."""
    config: Object = {"machineType": machine_type, "imageType": "COS_CONTAINERD"}
    if local_ssds:
        config["ephemeralStorageLocalSsdConfig"] = {"localSsdCount": local_ssds}
    return {"name": name, "status": "RUNNING", "version": version, "config": config}
