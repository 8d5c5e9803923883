"""From all conditions to the two words that people look at first: Ready and the phase."""

from kvtier.api.conditions import (
    MODELS_READY,
    NODE_POOL_READY,
    READY,
    STORAGE_READY,
    Condition,
    false,
    true,
)
from kvtier.plan.gates import blockers
from kvtier.plan.model import Checks

_PROGRESS = {"Creating", "Provisioning", "Starting", "Waiting", "PrerequisitesNotMet"}


def ready(checks: Checks, parts: Checks, strict: bool, opportunistic: bool) -> Condition:
    """Ready is True when nothing that the pool needs is missing; else it names the first thing that is.

    An Opportunistic pool is ready without its shared tier.
    """
    blocking = blockers(checks, checks, strict)
    optional = {STORAGE_READY} if opportunistic else set()
    missing = [c for type_, c in parts.items() if type_ not in optional and c.status == "False"]
    if blocking and (missing or not opportunistic):
        first = blocking[0]
        return false(READY, first.reason, f"{first.type}: {first.message}")
    if missing:
        first = min(missing, key=lambda c: _ORDER.index(c.type))
        return false(READY, first.reason, f"{first.type}: {first.message}")
    if opportunistic and parts.get(STORAGE_READY, _FINE).status == "False":
        return true(READY, "WithoutSharedTier", "engines serve without the shared tier")
    return true(READY, "AllReady", "every tier and model is ready")


_FINE = true(STORAGE_READY, "Fine")
_ORDER = (STORAGE_READY, NODE_POOL_READY, MODELS_READY)


def phase(checks: Checks, parts: Checks, overall: Condition, was_ready: bool, strict: bool) -> str:
    """Blocked, Provisioning, Starting, Ready or Degraded."""
    if overall.status == "True":
        return "Ready"
    if any(c.reason not in _PROGRESS for c in parts.values() if c.status == "False"):
        return "Degraded" if was_ready else "Blocked"
    if blockers(checks, checks, strict):
        return "Degraded" if was_ready else "Blocked"
    storage = parts.get(STORAGE_READY, _FINE)
    return "Provisioning" if storage.status == "False" else "Starting"
