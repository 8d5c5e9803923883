"""The planner: `plan(pool, observed, now)` is the whole decision, without I/O, clock or chance."""

from kvtier.api.conditions import EVICTION_HEALTHY, READY, TIER_WRITABLE, Condition, stamp, unknown
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool, PoolStatus, TierStatus
from kvtier.checks import run
from kvtier.context import Context, build
from kvtier.facts.model import Facts, Observed
from kvtier.pace import DEFAULT, Pace
from kvtier.plan import status
from kvtier.plan.lustre.cloud_storage import imported, plan_transfers
from kvtier.plan.lustre.maintenance import plan_maintenance
from kvtier.plan.lustre.shared_tier import SharedTier
from kvtier.plan.lustre.storage import plan_storage
from kvtier.plan.lustre.write_probe import plan_write_probe
from kvtier.plan.model import Checks, Part, Plan, soonest
from kvtier.plan.model_sizes import with_tokens
from kvtier.plan.nodes import nodes_usable, plan_nodes
from kvtier.plan.pruning import leftovers
from kvtier.plan.serving import plan_serving
from kvtier.plan.status import refresh_after
from kvtier.plan.teardown import plan_teardown


def plan(pool: KVCachePool, observed: Observed, now: str, pace: Pace = DEFAULT) -> Plan:
    """What to do about `pool` as the world is; `now` is the RFC 3339 time for conditions that change."""
    context = build(pool, observed, now, pace)
    if pool.deleting:
        return plan_teardown(context, observed)
    checks = run(context)
    nodes = plan_nodes(pool, observed, checks)
    usable = nodes_usable(nodes)
    lustre, tier = _shared_tier(context, observed, checks, usable, now)
    serving = plan_serving(pool, observed, checks, tier, usable)
    parts = (*lustre, nodes, serving)
    deletes = (*leftovers(pool, observed), *(ref for part in parts for ref in part.deletes))
    return Plan(
        applies=tuple(one for part in parts for one in part.applies),
        deletes=deletes,
        status=pool_status(pool, observed.facts, checks, parts, now),
        requeue_after=soonest(refresh_after(pool, checks, observed.facts), *(part.again for part in parts)),
        handovers=serving.handovers,
        calls=tuple(call for part in parts for call in part.calls),
        events=tuple(notice for part in parts for notice in part.events),
    )


def _shared_tier(
    context: Context, observed: Observed, checks: Checks, nodes: bool, now: str
) -> tuple[tuple[Part, ...], SharedTier]:
    """What the concerns of the shared tier plan, and what engines may do with it meanwhile."""
    pool, claim = context.pool, context.lustre.bound_claim
    storage = plan_storage(pool, observed, checks, now)
    probe = plan_write_probe(context, checks, claim, nodes)
    transfers = plan_transfers(pool, observed, probe.proven, now)
    maintenance = plan_maintenance(context)
    waits = [] if claim else ["the Lustre claim is not bound"]
    waits += [f"{TIER_WRITABLE} is False"] if claim and not probe.proven else []
    waits += [] if imported(pool, transfers) else ["data is imported from Cloud Storage"]
    waits += ["maintenance of the instance is bypassed"] if maintenance.bypass else []
    name = claim.name if claim else None
    tier = SharedTier(None if waits else name, tuple(waits), maintenance.bypass, name)
    return (storage, probe.part, transfers, maintenance.part), tier


def pool_status(
    pool: KVCachePool, facts: Facts, checks: Checks, parts: tuple[Part, ...], now: str
) -> PoolStatus:
    """The status that the checks and parts add up to."""
    concerns = {condition.type: condition for part in parts for condition in part.conditions}
    importing = not all(imported(pool, part) for part in parts)
    overall = status.ready(checks, concerns, pool.spec.strict, pool.spec.mode == "Opportunistic", importing)
    models = [model for part in parts for model in part.models]
    complete = sum(model.service is not None and model.ready_replicas >= model.replicas for model in models)
    conditions = [overall, *checks.values(), *concerns.values(), *_eviction(pool)]
    tiers = [*_private_tiers(pool), *(tier for part in parts for tier in part.tiers), *_bucket(pool)]
    return PoolStatus(
        observed_generation=pool.generation,
        phase=status.phase(checks, concerns, overall, _was_ready(pool), pool.spec.strict),
        models_ready=f"{complete}/{len(models)}",
        conditions=stamp(conditions, pool.status.conditions, pool.generation, now),
        tiers=with_tokens(pool, tiers, facts),
        models=models,
        operations=[operation for part in parts for operation in part.operations],
    )


def _private_tiers(pool: KVCachePool) -> list[TierStatus]:
    """The tiers that come with each Pod: they exist as soon as the Pod does."""
    tiers = {"cpu": pool.spec.tiers.cpu, "localSSD": pool.spec.tiers.local_ssd}
    return [TierStatus(name=n, phase="Configured", capacity=str(t.capacity)) for n, t in tiers.items() if t]


def _bucket(pool: KVCachePool) -> list[TierStatus]:
    """The tier that only the engines see."""
    return [TierStatus(name="objectStorage", phase="Configured")] if pool.spec.tiers.object_storage else []


def _eviction(pool: KVCachePool) -> list[Condition]:
    """The tiers below the CPU's have no limit of their own, and this version of kvtier does not enforce one yet."""
    tiers, left = pool.spec.tiers, []
    if tiers.has_files():
        left.append(
            "old cache files on Local SSD and Lustre must be removed by other means; a Pod that fills its Local SSD "
            "tier is evicted by the kubelet"
        )
    if tiers.object_storage:
        left.append("old objects go by a lifecycle rule of the bucket, or not at all")
    message = f"kvtier does not evict yet: {'; '.join(left)}"
    return [unknown(EVICTION_HEALTHY, Reason.NOT_MANAGED, message)] if left else []


def _was_ready(pool: KVCachePool) -> bool:
    """Whether the pool has served before: then what is missing now is a degradation, not a start."""
    return any(model.ready_replicas > 0 for model in pool.status.models) or any(
        condition.type == READY and condition.status == "True" for condition in pool.status.conditions
    )
