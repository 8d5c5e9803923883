"""What must hold before something that costs money is made."""

from collections.abc import Iterable

from kvtier.api.conditions import (
    CAPACITY_VALID,
    CREDENTIALS_PRESENT,
    GKE_VERSION_SUPPORTED,
    LOCAL_SSD_SUPPORTED,
    LUSTRE_DRIVER_ENABLED,
    NETWORK_MATCHED,
    NODE_IMAGE_SUPPORTED,
    ZONE_MATCHED,
    Condition,
)
from kvtier.plan.model import Checks

STORAGE = (GKE_VERSION_SUPPORTED, LUSTRE_DRIVER_ENABLED, NETWORK_MATCHED, ZONE_MATCHED, CAPACITY_VALID)
SPEC_FAULTS = (LOCAL_SSD_SUPPORTED,)
"""What only an edit of the spec mends."""

NODES = SPEC_FAULTS
ENGINES = (LOCAL_SSD_SUPPORTED, CREDENTIALS_PRESENT)
LUSTRE_MOUNTS = (NODE_IMAGE_SUPPORTED, LUSTRE_DRIVER_ENABLED, NETWORK_MATCHED, ZONE_MATCHED)
ENGINES_ON_LUSTRE = (*ENGINES, *LUSTRE_MOUNTS)


def blockers(checks: Checks, types: Iterable[str], strict: bool) -> list[Condition]:
    """The prerequisites among `types` that do not hold. Unknown counts only for a strict pool."""
    refused = ("False", "Unknown") if strict else ("False",)
    return [checks[type_] for type_ in types if checks[type_].status in refused]
