"""What the simulated GKE Container API says: documents of clusters, refusals, and other ends of a request."""

from collections.abc import Sequence
from typing import Any

from testbed.google_faults import Drop, Fault, Hold, Object, Reply, error_reply

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


def refusal(code: int, message: str = "") -> Reply:
    """An error as Google's APIs write it."""
    status, reason, text = _STATUS[code]
    details = {"message": message or text, "domain": "global", "reason": reason}
    return error_reply(code, status, message or text, errors=[details])


def not_found(name: str) -> Reply:
    """GKE's answer about a cluster that does not exist."""
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
    """A cluster's document; ``fields`` replace or add top-level fields. As in GKE, what is false is absent."""
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
