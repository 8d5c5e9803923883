"""What must hold before something that costs money is made."""

from collections.abc import Iterable

from kvtier.api.conditions import (
    CAPACITY_VALID,
    CPU_TIER_FITS,
    CREDENTIALS_PRESENT,
    ENGINE_SUPPORTED,
    FILESYSTEM_UNIQUE,
    GKE_VERSION_SUPPORTED,
    KV_CACHE_DTYPE_SUPPORTED,
    LOCAL_SSD_SUPPORTED,
    LUSTRE_DRIVER_ENABLED,
    MODEL_CONFIG_VALID,
    NETWORK_MATCHED,
    NODE_IMAGE_SUPPORTED,
    PORT_MATCHED,
    STORAGE_READY,
    ZONE_MATCHED,
    Condition,
    false,
)
from kvtier.api.reasons import Reason
from kvtier.plan.model import Checks

_REACHABLE = (LUSTRE_DRIVER_ENABLED, NETWORK_MATCHED, ZONE_MATCHED, PORT_MATCHED, FILESYSTEM_UNIQUE)
STORAGE = (GKE_VERSION_SUPPORTED, *_REACHABLE, CAPACITY_VALID)
NODES = (LOCAL_SSD_SUPPORTED, CPU_TIER_FITS)
SPEC_FAULTS = (*NODES, ENGINE_SUPPORTED, KV_CACHE_DTYPE_SUPPORTED)
"""What engines would not start with, so that an update to it would only take away those that run.

A fault that comes with a node, not with an edit, leaves running engines as they are too.
"""

ENGINES = (*SPEC_FAULTS, MODEL_CONFIG_VALID, CREDENTIALS_PRESENT)
LUSTRE_MOUNTS = (NODE_IMAGE_SUPPORTED, *_REACHABLE)
ENGINES_ON_LUSTRE = (*ENGINES, *LUSTRE_MOUNTS)


def blockers(checks: Checks, types: Iterable[str], strict: bool) -> list[Condition]:
    """The prerequisites among `types` that do not hold. Unknown counts only for a strict pool."""
    refused = ("False", "Unknown") if strict else ("False",)
    return [checks[type_] for type_ in types if checks[type_].status in refused]


def nothing_created(refused: Iterable[Condition]) -> Condition:
    """StorageReady while prerequisites do not hold, and there is no claim yet."""
    reasons = ", ".join(f"{condition.type} is {condition.status}" for condition in refused)
    return false(STORAGE_READY, Reason.PREREQUISITES_NOT_MET, f"nothing is created while {reasons}")
