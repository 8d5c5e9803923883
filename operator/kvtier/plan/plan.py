"""The planner: `plan(pool, observed, now)` is the whole decision, without I/O, clock or chance."""

from kvtier.api.conditions import EVICTION_HEALTHY, READY, Condition, stamp, unknown
from kvtier.api.v1alpha1 import KVCachePool, PoolStatus, TierStatus
from kvtier.checks import run
from kvtier.facts.model import Observed
from kvtier.plan import summary
from kvtier.plan.leftovers import leftovers
from kvtier.plan.model import Checks, Part, Plan
from kvtier.plan.nodes import nodes_usable, plan_nodes
from kvtier.plan.refresh import refresh_after
from kvtier.plan.serving import plan_serving
from kvtier.plan.storage import bound, plan_storage
from kvtier.plan.teardown import plan_teardown, volumes_to_delete


def plan(pool: KVCachePool, observed: Observed, now: str) -> Plan:
    """What to do about `pool` as the world is; `now` is the RFC 3339 time for conditions that change."""
    if pool.deleting:
        return plan_teardown(pool, observed, now)
    checks = run(pool, observed.facts)
    storage = plan_storage(pool, observed, checks)
    nodes = plan_nodes(pool, observed, checks)
    serving = plan_serving(pool, observed, checks, bound(pool, observed), nodes_usable(nodes))
    deletes = leftovers(pool, observed)
    volumes = volumes_to_delete(observed, [(ref.kind, ref.name) for ref in deletes])
    return Plan(
        applies=(*storage.applies, *nodes.applies, *serving.applies, *volumes),
        deletes=deletes,
        status=status(pool, checks, (storage, nodes, serving), now),
        requeue_after=refresh_after(pool, checks),
        handovers=serving.handovers,
    )


def status(pool: KVCachePool, checks: Checks, parts: tuple[Part, ...], now: str) -> PoolStatus:
    """The status that the checks and parts add up to."""
    concerns = {condition.type: condition for part in parts for condition in part.conditions}
    overall = summary.ready(checks, concerns, pool.spec.strict, pool.spec.mode == "Opportunistic")
    models = [model for part in parts for model in part.models]
    complete = sum(model.service is not None and model.ready_replicas >= model.replicas for model in models)
    conditions = [overall, *checks.values(), *concerns.values(), *_eviction(pool)]
    return PoolStatus(
        observed_generation=pool.generation,
        phase=summary.phase(checks, concerns, overall, _was_ready(pool), pool.spec.strict),
        models_ready=f"{complete}/{len(models)}",
        conditions=stamp(conditions, pool.status.conditions, pool.generation, now),
        tiers=[*_private_tiers(pool), *(tier for part in parts for tier in part.tiers)],
        models=models,
    )


def _private_tiers(pool: KVCachePool) -> list[TierStatus]:
    """The tiers that come with each Pod: they exist as soon as the Pod does."""
    tiers = {"cpu": pool.spec.tiers.cpu, "localSSD": pool.spec.tiers.local_ssd}
    return [TierStatus(name=n, phase="Configured", capacity=str(t.capacity)) for n, t in tiers.items() if t]


def _eviction(pool: KVCachePool) -> list[Condition]:
    """vLLM's file tiers have no limit of their own, and this version of kvtier does not enforce one yet."""
    if pool.spec.tiers.local_ssd is None and pool.spec.tiers.lustre is None:
        return []
    return [
        unknown(
            EVICTION_HEALTHY,
            "NotManaged",
            "kvtier does not evict yet: old cache files on Local SSD and Lustre must be removed by other means; a Pod "
            "that fills its Local SSD tier is evicted by the kubelet",
        )
    ]


def _was_ready(pool: KVCachePool) -> bool:
    """Whether the pool has served before: then what is missing now is a degradation, not a start."""
    return any(model.ready_replicas > 0 for model in pool.status.models) or any(
        condition.type == READY and condition.status == "True" for condition in pool.status.conditions
    )
