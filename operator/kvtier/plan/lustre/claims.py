"""What a live claim says."""

from typing import Any

from kvtier.api import quantities
from kvtier.api.kinds import Object


def phase(claim: Object) -> str:
    return str(claim.get("status", {}).get("phase", "Pending"))


def capacity(claim: Object | None) -> int:
    """Bytes that a claim has, 0 before it is bound."""
    size: Any = (claim or {}).get("status", {}).get("capacity", {}).get("storage")
    return quantities.parse(size) if size else 0


def requested(claim: Object | None) -> int:
    """Bytes that a claim asks for, 0 where there is none."""
    size: Any = (claim or {}).get("spec", {}).get("resources", {}).get("requests", {}).get("storage")
    return quantities.parse(size) if size else 0


def allocated(claim: Object) -> int:
    """Bytes that the driver was last asked to make of it, 0 where it never grew."""
    size: Any = (claim.get("status", {}).get("allocatedResources") or {}).get("storage")
    return quantities.parse(size) if size else 0


def going(claim: Object) -> bool:
    """Whether it is being deleted."""
    return "deletionTimestamp" in claim["metadata"]
