"""The status of a pool: Ready and the phase from all conditions, tiers, and when to read facts again."""

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
from kvtier.api.sentences import sentences
from kvtier.api.v1alpha1 import ModelStatus, PoolSpec, PoolStatus, Tiers, TierStatus
from kvtier.checks import Checks, blockers
from kvtier.context import Context, LustreView
from kvtier.pace import Pace
from kvtier.plan.model import Failure, Part, soonest
from kvtier.plan.model_sizes import with_tokens


def pool_status(context: Context, checks: Checks, whole: Part, tier_left: bool) -> PoolStatus:
    """The status from the prerequisites and the entire plan.

    `tier_left`: engines of an Opportunistic pool do not use the Lustre tier now, although it is usable.
    """
    pool, spec = context.pool, context.pool.spec
    verdicts = Verdicts(checks, {one.type: one for one in whole.conditions}, spec)
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
"""Conditions that serving does not depend on."""


@dataclass(frozen=True)
class Verdicts:
    """All conditions except Ready, by type: prerequisites, and those of the concerns."""

    checks: Checks
    concerns: Mapping[str, Condition]
    spec: PoolSpec

    @property
    def blocking(self) -> list[Condition]:
        """Prerequisites that block the pool."""
        return blockers(self.checks, self.checks, self.spec)

    @property
    def missing(self) -> list[Condition]:
        """Conditions that serving depends on and that are False."""
        false = (one for one in self.concerns.values() if one.status == "False")
        return [one for one in false if one.type not in _INFORMATIVE]


def ready(verdicts: Verdicts, opportunistic: bool, tier_left: bool = False) -> Condition:
    """Ready: True if nothing that the pool needs is missing, else False with the first condition that is missing.

    An Opportunistic pool is Ready without its Lustre tier, with a reason of its own.
    """
    needed = [one for one in verdicts.missing if not (opportunistic and one.type in _SHARED_TIER)]
    blocking = verdicts.blocking if needed or not opportunistic else []
    first = blocking[0] if blocking else min(needed, key=lambda one: _ORDER.index(one.type), default=None)
    if first:
        return relayed(READY, first.reason, f"{first.type}: {first.message}")
    if opportunistic and (tier_left or verdicts.missing):
        return true(READY, Reason.WITHOUT_SHARED_TIER, "Engines serve without the Lustre tier.")
    return true(READY, Reason.ALL_READY, "All tiers and models are ready.")


def phase(verdicts: Verdicts, overall: Condition, has_served: bool) -> str:
    """Blocked, Provisioning, Starting, Ready or Degraded."""
    if overall.status == "True":
        return "Ready"
    missing = verdicts.missing
    if verdicts.blocking or not all(one.in_progress for one in missing):
        return "Degraded" if has_served else "Blocked"
    return "Provisioning" if any(one.type == STORAGE_READY for one in missing) else "Starting"


def _has_served(status: PoolStatus) -> bool:
    """Whether the pool served before, so that a missing condition is a degradation and not a start."""
    before = find(status.conditions, READY)
    return bool(before and before.status == "True") or any(model.ready_replicas for model in status.models)


def _models_ready(models: Iterable[ModelStatus]) -> str:
    """Number of models with all their Pods ready, and of all models: `1/2`."""
    complete = [one.service is not None and one.ready_replicas >= one.replicas for one in models]
    return f"{sum(complete)}/{len(complete)}"


def _private(tiers: Tiers) -> list[TierStatus]:
    """The tiers inside each Pod, which exist with the Pod."""
    given = {"cpu": tiers.cpu, "localSSD": tiers.local_ssd}
    return [
        TierStatus(name=name, phase="Configured", capacity=str(tier.capacity))
        for name, tier in given.items()
        if tier
    ]


def _bucket(tiers: Tiers) -> list[TierStatus]:
    """The tier that only engines access."""
    return [TierStatus(name="objectStorage", phase="Configured")] if tiers.object_storage else []


def _eviction(tiers: Tiers) -> list[Condition]:
    """EvictionHealthy. The tiers below the CPU tier have no limit, and kvtier does not enforce one yet."""
    left = []
    if tiers.has_files():
        left.append(
            "Delete old cache files on Lustre yourself before it fills up. The kubelet evicts a Pod that fills its "
            "Local SSD tier."
        )
    if tiers.object_storage:
        left.append("Set a lifecycle rule on the bucket of objectStorage to delete old objects.")
    message = sentences("kvtier does not delete old cache data yet", *left)
    return [unknown(EVICTION_HEALTHY, Reason.NOT_MANAGED, message)] if left else []


def with_failures(status: PoolStatus, failures: list[Failure], old: PoolStatus, now: str) -> PoolStatus:
    """`status` with refused writes. The condition of a concern reports its first failure."""
    if not failures:
        return status
    found: dict[str, Condition] = {}
    for failure in failures:
        type_ = CHILDREN_BY_KIND[failure.kind].concern
        message = sentences(
            f"kvtier could not create, update or delete {failure.kind} {failure.name}, and retries: {failure.message}"
        )
        found.setdefault(type_, relayed(type_, failure.reason, message))
    first = next(iter(found.values()))
    found[READY] = relayed(READY, first.reason, f"{first.type}: {first.message}")
    conditions = [found.get(condition.type, condition) for condition in status.conditions]
    phase = "Degraded" if status.phase in ("Ready", "Degraded") else "Blocked"
    stamped = stamp(conditions, old.conditions, status.observed_generation or 0, now)
    return status.model_copy(update={"conditions": stamped, "phase": phase})


_NAMED = (CREDENTIALS_PRESENT, MODEL_CONFIG_VALID)
"""Prerequisites that need Secrets and ConfigMaps. kvtier reads these again only while one is missing: later, the
kubelet uses the token, and the sizes of a model do not change."""


def refresh_after(context: Context, checks: Checks) -> float | None:
    """Seconds until facts without a watch are read again, None if the pool has none."""
    if any(checks[type_].status == "False" for type_ in _NAMED):
        return context.pace.missing
    spec = context.pool.spec
    gke = _gke(checks, spec, context.pace) if spec.cluster else None
    return soonest(gke, _lustre(context.lustre, context.pace))


def _gke(checks: Checks, spec: PoolSpec, pace: Pace) -> float:
    found = (checks[type_] for type_ in (NETWORK_MATCHED, PORT_MATCHED))
    settled = all(one.status == "True" or spec.acknowledges(one) for one in found)
    return pace.settled if settled else pace.waiting


def _lustre(lustre: LustreView, pace: Pace) -> float | None:
    """Seconds until maintenance, state and operations are read again: the Lustre API has no watch."""
    if lustre.spec is None or lustre.api is None:
        return None
    if any(operation.state == "Running" for operation in lustre.operations.recorded.values()):
        return pace.moving
    steady = lustre.error is not None or (lustre.instance is not None and lustre.instance.state == "ACTIVE")
    return pace.settled if steady else pace.waiting
