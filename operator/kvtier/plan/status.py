"""The status of a pool: Ready and the phase from all conditions, its tiers, and when the world is looked at again."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kvtier.api.conditions import (
    CLOUD_STORAGE_SYNCED,
    CREDENTIALS_PRESENT,
    EVICTION_HEALTHY,
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
    find,
    relayed,
    stamp,
    true,
    unknown,
)
from kvtier.api.kinds import CHILDREN_BY_KIND
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import ModelStatus, PoolStatus, Tiers, TierStatus
from kvtier.checks import Checks, blockers
from kvtier.context import Context, LustreView
from kvtier.pace import Pace
from kvtier.plan.model import Failure, Part, soonest
from kvtier.plan.model_sizes import with_tokens


def pool_status(context: Context, checks: Checks, whole: Part, tier_left: bool) -> PoolStatus:
    """What prerequisites and the entire plan add up to.

    `tier_left`: engines of an Opportunistic pool do not use the shared tier for now, although it is well.
    """
    pool, spec = context.pool, context.pool.spec
    verdicts = Verdicts(checks, {one.type: one for one in whole.conditions}, spec.strict)
    overall = ready(verdicts, spec.mode == "Opportunistic", tier_left)
    conditions = [overall, *checks.values(), *verdicts.concerns.values(), *_eviction(spec.tiers)]
    tiers = [*_private(spec.tiers), *whole.tiers, *_bucket(spec.tiers)]
    return PoolStatus(
        observed_generation=pool.generation,
        phase=phase(verdicts, overall, _has_served(pool.status)),
        models_ready=_models_ready(whole.models),
        conditions=stamp(conditions, pool.status.conditions, pool.generation, context.now),
        tiers=with_tokens(tiers, context.models),
        models=list(whole.models),
        operations=list(whole.operations),
    )


_SHARED_TIER = (STORAGE_READY, TIER_WRITABLE)
_ORDER = (STORAGE_READY, NODE_POOL_READY, TIER_WRITABLE, MODELS_READY)
_INFORMATIVE = (MAINTENANCE_SCHEDULED, CLOUD_STORAGE_SYNCED)
"""What serving does not depend on."""


@dataclass(frozen=True)
class Verdicts:
    """All conditions but Ready: prerequisites, and what the concerns have come to; by type."""

    checks: Checks
    concerns: Mapping[str, Condition]
    strict: bool = False

    @property
    def blocking(self) -> list[Condition]:
        """Prerequisites that do not hold."""
        return blockers(self.checks, self.checks, self.strict)

    @property
    def missing(self) -> list[Condition]:
        """What serving depends on and is not there."""
        false = (one for one in self.concerns.values() if one.status == "False")
        return [one for one in false if one.type not in _INFORMATIVE]


def ready(verdicts: Verdicts, opportunistic: bool, tier_left: bool = False) -> Condition:
    """Ready is True when nothing that the pool needs is missing; else it names the first thing that is.

    An Opportunistic pool is ready without its shared tier, and says so.
    """
    needed = [one for one in verdicts.missing if not (opportunistic and one.type in _SHARED_TIER)]
    blocking = verdicts.blocking if needed or not opportunistic else []
    first = blocking[0] if blocking else min(needed, key=lambda one: _ORDER.index(one.type), default=None)
    if first:
        return relayed(READY, first.reason, f"{first.type}: {first.message}")
    if opportunistic and (tier_left or verdicts.missing):
        return true(READY, Reason.WITHOUT_SHARED_TIER, "engines serve without the shared tier")
    return true(READY, Reason.ALL_READY, "every tier and model is ready")


def phase(verdicts: Verdicts, overall: Condition, has_served: bool) -> str:
    """Blocked, Provisioning, Starting, Ready or Degraded."""
    if overall.status == "True":
        return "Ready"
    missing = verdicts.missing
    if verdicts.blocking or not all(one.in_progress for one in missing):
        return "Degraded" if has_served else "Blocked"
    return "Provisioning" if any(one.type == STORAGE_READY for one in missing) else "Starting"


def _has_served(status: PoolStatus) -> bool:
    """Whether what is missing now is a degradation, not a start."""
    before = find(status.conditions, READY)
    return bool(before and before.status == "True") or any(model.ready_replicas for model in status.models)


def _models_ready(models: Iterable[ModelStatus]) -> str:
    """How many models have all their Pods, of how many."""
    complete = [one.service is not None and one.ready_replicas >= one.replicas for one in models]
    return f"{sum(complete)}/{len(complete)}"


def _private(tiers: Tiers) -> list[TierStatus]:
    """The tiers that come with each Pod: they exist as soon as the Pod does."""
    given = {"cpu": tiers.cpu, "localSSD": tiers.local_ssd}
    return [
        TierStatus(name=name, phase="Configured", capacity=str(tier.capacity))
        for name, tier in given.items()
        if tier
    ]


def _bucket(tiers: Tiers) -> list[TierStatus]:
    """The tier that only the engines see."""
    return [TierStatus(name="objectStorage", phase="Configured")] if tiers.object_storage else []


def _eviction(tiers: Tiers) -> list[Condition]:
    """The tiers below the CPU's have no limit of their own, and this version of kvtier does not enforce one yet."""
    left = []
    if tiers.has_files():
        left.append(
            "old cache files on Local SSD and Lustre must be removed by other means; a Pod that fills its Local SSD "
            "tier is evicted by the kubelet"
        )
    if tiers.object_storage:
        left.append("old objects go by a lifecycle rule of the bucket, or not at all")
    message = f"kvtier does not evict yet: {'; '.join(left)}"
    return [unknown(EVICTION_HEALTHY, Reason.NOT_MANAGED, message)] if left else []


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
"""Prerequisites of Secrets and ConfigMaps. They are read again only while one is missing: a token that is there is the
kubelet's business, and the sizes of a model do not change."""


def refresh_after(context: Context, checks: Checks) -> float | None:
    """Seconds until what no watch reports is read again, None when there is nothing of the kind."""
    if any(checks[type_].status == "False" for type_ in _NAMED):
        return context.pace.missing
    gke = _gke(checks, context.pace) if context.pool.spec.cluster else None
    return soonest(gke, _lustre(context.lustre, context.pace))


def _gke(checks: Checks, pace: Pace) -> float:
    settled = all(checks[type_].status == "True" for type_ in (NETWORK_MATCHED, PORT_MATCHED))
    return pace.settled if settled else pace.waiting


def _lustre(lustre: LustreView, pace: Pace) -> float | None:
    """Maintenance, a state, an operation: the Lustre API is asked, it does not report."""
    if lustre.spec is None or lustre.api is None:
        return None
    if any(operation.state == "Running" for operation in lustre.operations.recorded.values()):
        return pace.moving
    well = lustre.error is not None or (lustre.instance is not None and lustre.instance.state == "ACTIVE")
    return pace.settled if well else pace.waiting
