"""From all conditions to the two words that people look at first: Ready and the phase."""

from kvtier.api.conditions import (
    CLOUD_STORAGE_SYNCED,
    MAINTENANCE_SCHEDULED,
    MODELS_READY,
    NODE_POOL_READY,
    READY,
    STORAGE_READY,
    TIER_WRITABLE,
    Condition,
    false,
    true,
)
from kvtier.plan.gates import blockers
from kvtier.plan.model import Checks

_PROGRESS = {
    "Creating",
    "Provisioning",
    "Replacing",
    "Starting",
    "Waiting",
    "Probing",
    "PrerequisitesNotMet",
}


def ready(
    checks: Checks, parts: Checks, strict: bool, opportunistic: bool, importing: bool = False
) -> Condition:
    """Ready is True when nothing that the pool needs is missing; else it names the first thing that is.

    An Opportunistic pool is ready without its shared tier. `importing` is whether engines wait for an import.
    """
    blocking = blockers(checks, checks, strict)
    missing = [c for c in _lacking(parts) if not (opportunistic and c.type in _SHARED_TIER)]
    if blocking and (missing or not opportunistic):
        first = blocking[0]
        return false(READY, first.reason, f"{first.type}: {first.message}")
    if missing:
        first = min(missing, key=lambda c: _ORDER.index(c.type))
        return false(READY, first.reason, f"{first.type}: {first.message}")
    left = importing or parts.get(MAINTENANCE_SCHEDULED, _FINE).reason == BYPASSED
    if opportunistic and (left or _lacking(parts)):
        return true(READY, "WithoutSharedTier", "engines serve without the shared tier")
    return true(READY, "AllReady", "every tier and model is ready")


BYPASSED = "Bypassed"
"""Reason of MaintenanceScheduled while engines run without the tier because of it."""

_FINE = true(STORAGE_READY, "Fine")
_SHARED_TIER = (STORAGE_READY, TIER_WRITABLE)
_ORDER = (STORAGE_READY, NODE_POOL_READY, TIER_WRITABLE, MODELS_READY)
_INFORMATIVE = (MAINTENANCE_SCHEDULED, CLOUD_STORAGE_SYNCED)
"""What serving does not depend on."""


def phase(checks: Checks, parts: Checks, overall: Condition, was_ready: bool, strict: bool) -> str:
    """Blocked, Provisioning, Starting, Ready or Degraded."""
    if overall.status == "True":
        return "Ready"
    lacking = _lacking(parts)
    if any(c.reason not in _PROGRESS for c in lacking) or blockers(checks, checks, strict):
        return "Degraded" if was_ready else "Blocked"
    return "Provisioning" if any(c.type == STORAGE_READY for c in lacking) else "Starting"


def _lacking(parts: Checks) -> list[Condition]:
    """What serving depends on and is not there."""
    return [c for type_, c in parts.items() if type_ not in _INFORMATIVE and c.status == "False"]
