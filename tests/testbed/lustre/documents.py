"""Documents of the simulated Managed Lustre API: refusals, times, and the body of a create request."""

import re
from datetime import UTC, datetime
from typing import Any

from testbed.gke import NETWORK
from testbed.google_api import Object, Reply, error_reply

TYPES = "type.googleapis.com/google.cloud.lustre.v1."
VERSION = "Lustre_20261012.01_p00"
STATES = ("ACTIVE", "CREATING", "DELETING", "UPGRADING", "REPAIRING", "STOPPED", "UPDATING", "SUSPENDED")

CODES = {
    "CANCELLED": 1,
    "UNKNOWN": 2,
    "INVALID_ARGUMENT": 3,
    "DEADLINE_EXCEEDED": 4,
    "NOT_FOUND": 5,
    "ALREADY_EXISTS": 6,
    "PERMISSION_DENIED": 7,
    "RESOURCE_EXHAUSTED": 8,
    "FAILED_PRECONDITION": 9,
    "ABORTED": 10,
    "OUT_OF_RANGE": 11,
    "UNIMPLEMENTED": 12,
    "INTERNAL": 13,
    "UNAVAILABLE": 14,
    "UNAUTHENTICATED": 16,
}
_HTTP = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "ABORTED": 409,
    "RESOURCE_EXHAUSTED": 429,
    "INTERNAL": 500,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}
_TEXTS = {
    "PERMISSION_DENIED": "Permission 'lustre.instances.get' denied on resource (or it may not exist).",
    "RESOURCE_EXHAUSTED": "Quota exceeded for quota metric 'Requests' of service 'lustre.googleapis.com'.",
    "UNAVAILABLE": "The service is currently unavailable.",
    "INTERNAL": "Internal error encountered.",
}


class RefusedError(Exception):
    """The API refuses a request; ``status`` is the name of a gRPC code."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status

    def reply(self) -> Reply:
        """The HTTP response."""
        return refusal(self.status, str(self))


def refusal(status: str, message: str = "") -> Reply:
    """An error of the API, by the name of its gRPC code, such as ``ABORTED``."""
    return error_reply(_HTTP[status], status, message or _TEXTS.get(status, f"{status}."))


def invalid(message: str) -> RefusedError:
    """The API never accepts this request."""
    return RefusedError("INVALID_ARGUMENT", message)


def not_found(name: str) -> RefusedError:
    """The resource with this full name does not exist."""
    return RefusedError("NOT_FOUND", f"Resource '{name}' was not found")


def number(value: Any, field: str) -> int:
    """An int64 in JSON, which may be a string."""
    try:
        return int(value)
    except (TypeError, ValueError):
        raise invalid(f"Invalid value at 'instance.{field}' (TYPE_INT64), {value!r}") from None


def now() -> str:
    """The present time in the API's format."""
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


def instance(
    capacity_gib: int = 9000,
    *,
    throughput: int = 1000,
    filesystem: str = "kvcache",
    network: str = NETWORK,
    dynamic: bool = False,
    **fields: Any,
) -> Object:
    """The body of a create request; ``fields`` are in the API's JSON names. ``dynamic`` is the Dynamic tier."""
    tier: Object = {"perUnitStorageThroughput": str(throughput)}
    if dynamic:
        tier = {"dynamicTierOptions": {"mode": "DEFAULT_CACHE"}}
    known = {"capacityGib": str(capacity_gib), "filesystem": filesystem, "network": network}
    return known | tier | fields


def camel(name: str) -> str:
    """The JSON name of a field, from its JSON or Python name."""
    return re.sub(r"_([a-z0-9])", lambda match: match[1].upper(), name)
