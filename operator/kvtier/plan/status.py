"""From all conditions to the two words that people look at first: Ready and the phase."""

from kvtier.api.conditions import (
    CLOUD_STORAGE_SYNCED,
    CREDENTIALS_PRESENT,
    MAINTENANCE_SCHEDULED,
    MODEL_CONFIG_VALID,
    MODELS_READY,
    NETWORK_MATCHED,
    NODE_POOL_READY,
    PORT_MATCHED,
    READY,
    STORAGE_READY,
    TIER_WRITABLE,
    Condition,
    relayed,
    stamp,
    true,
)
from kvtier.api.kinds import CHILDREN_BY_KIND
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool, PoolStatus
from kvtier.facts.model import Facts
from kvtier.plan.gates import blockers
from kvtier.plan.model import Checks, Failure, soonest


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
        return relayed(READY, first.reason, f"{first.type}: {first.message}")
    if missing:
        first = min(missing, key=lambda c: _ORDER.index(c.type))
        return relayed(READY, first.reason, f"{first.type}: {first.message}")
    left = importing or parts.get(MAINTENANCE_SCHEDULED, _FINE).reason == Reason.BYPASSED
    if opportunistic and (left or _lacking(parts)):
        return true(READY, Reason.WITHOUT_SHARED_TIER, "engines serve without the shared tier")
    return true(READY, Reason.ALL_READY, "every tier and model is ready")


_FINE = true(STORAGE_READY, Reason.ASSUMED)
_SHARED_TIER = (STORAGE_READY, TIER_WRITABLE)
_ORDER = (STORAGE_READY, NODE_POOL_READY, TIER_WRITABLE, MODELS_READY)
_INFORMATIVE = (MAINTENANCE_SCHEDULED, CLOUD_STORAGE_SYNCED)
"""What serving does not depend on."""


def phase(checks: Checks, parts: Checks, overall: Condition, was_ready: bool, strict: bool) -> str:
    """Blocked, Provisioning, Starting, Ready or Degraded."""
    if overall.status == "True":
        return "Ready"
    lacking = _lacking(parts)
    if any(not c.in_progress for c in lacking) or blockers(checks, checks, strict):
        return "Degraded" if was_ready else "Blocked"
    return "Provisioning" if any(c.type == STORAGE_READY for c in lacking) else "Starting"


def _lacking(parts: Checks) -> list[Condition]:
    """What serving depends on and is not there."""
    return [c for type_, c in parts.items() if type_ not in _INFORMATIVE and c.status == "False"]


def with_failures(status: PoolStatus, failures: list[Failure], old: PoolStatus, now: str) -> PoolStatus:
    """`status` with what was refused. The first failure of a concern speaks for it."""
    if not failures:
        return status
    found: dict[str, Condition] = {}
    for failure in failures:
        type_ = CHILDREN_BY_KIND[failure.kind].concern
        message = f"{failure.kind} {failure.name}: {failure.message}"
        found.setdefault(type_, relayed(type_, failure.reason, message))
    first = next(iter(found.values()))
    found[READY] = relayed(READY, first.reason, f"{first.type}: {first.message}")
    conditions = [found.get(condition.type, condition) for condition in status.conditions]
    phase = "Degraded" if status.phase in ("Ready", "Degraded") else "Blocked"
    stamped = stamp(conditions, old.conditions, status.observed_generation or 0, now)
    return status.model_copy(update={"conditions": stamped, "phase": phase})


_NAMED = (CREDENTIALS_PRESENT, MODEL_CONFIG_VALID)
_MISSING_SECONDS = 10.0
_GKE_SECONDS = 300.0
_GKE_WAITING_SECONDS = 60.0
_LUSTRE_SECONDS = 300.0
_LUSTRE_MOVING_SECONDS = 60.0
_LUSTRE_OPERATION_SECONDS = 15.0


def refresh_after(pool: KVCachePool, checks: Checks, facts: Facts) -> float | None:
    """Seconds until unwatched facts are read again, None when there are none.

    Secrets and ConfigMaps are read only while one is missing: a token that is there is the kubelet's business, and
    the sizes of a model do not change.
    """
    if any(checks[type_].status == "False" for type_ in _NAMED):
        return _MISSING_SECONDS
    return soonest(_gke(pool, checks), _lustre(pool, facts))


def _gke(pool: KVCachePool, checks: Checks) -> float | None:
    if pool.spec.cluster is None:
        return None
    settled = all(checks[type_].status == "True" for type_ in (NETWORK_MATCHED, PORT_MATCHED))
    return _GKE_SECONDS if settled else _GKE_WAITING_SECONDS


def _lustre(pool: KVCachePool, facts: Facts) -> float | None:
    """Maintenance, a state, an operation: the Lustre API tells of nothing by itself."""
    if pool.spec.tiers.lustre is None or facts.lustre is None:
        return None
    if any(operation.state == "Running" for operation in pool.status.operations):
        return _LUSTRE_OPERATION_SECONDS
    instance = facts.lustre.instance
    well = facts.lustre.error is not None or (instance is not None and instance.state == "ACTIVE")
    return _LUSTRE_SECONDS if well else _LUSTRE_MOVING_SECONDS
