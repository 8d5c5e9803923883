"""The planner: `plan(pool, observed, now)` is the whole decision, without I/O, clock or chance."""

from kvtier.api.conditions import TIER_WRITABLE
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.checks import run
from kvtier.context import Context, build
from kvtier.facts.model import Observed
from kvtier.pace import DEFAULT, Pace
from kvtier.plan.lustre.cloud_storage import imported, plan_transfers
from kvtier.plan.lustre.maintenance import plan_maintenance
from kvtier.plan.lustre.shared_tier import SharedTier
from kvtier.plan.lustre.storage import plan_storage
from kvtier.plan.lustre.write_probe import plan_write_probe
from kvtier.plan.model import Checks, Part, Plan, soonest, together
from kvtier.plan.nodes import plan_nodes
from kvtier.plan.pruning import unwanted
from kvtier.plan.serving import plan_serving
from kvtier.plan.status import pool_status, refresh_after
from kvtier.plan.teardown import plan_teardown


def plan(pool: KVCachePool, observed: Observed, now: str, pace: Pace = DEFAULT) -> Plan:
    """What to do about `pool` as the world is; `now` is the RFC 3339 time for conditions that change."""
    # All that is decided on is derived from the world once.
    context = build(pool, observed, now, pace)

    # A pool that is being deleted is taken down step by step, and nothing else counts.
    if pool.deleting:
        return plan_teardown(context, observed)

    # Prerequisites. A concern makes nothing that costs money while one of its own does not hold.
    checks = run(context)

    # Nodes first: nothing that needs a Pod is tried without them.
    nodes = plan_nodes(context, checks)

    # The shared tier: instance and claim, the proof that engines can write, copies from and to a bucket, maintenance.
    shared, access = _shared_tier(context, observed, checks, nodes.usable)

    # Engines, with the shared tier as far as it can be used by now.
    serving = plan_serving(context, checks, access, nodes.usable)

    # What none of them applies or keeps is pruned, and what they report makes up the status.
    whole = together(*shared, nodes.part, serving)
    return Plan(
        applies=whole.applies,
        deletes=(*unwanted(context.children, whole), *whole.deletes),
        status=pool_status(context, checks, whole, tier_left=access.leave or access.importing),
        requeue_after=soonest(refresh_after(context, checks), whole.again),
        handovers=whole.handovers,
        calls=whole.calls,
        events=whole.events,
    )


def _shared_tier(
    context: Context, observed: Observed, checks: Checks, nodes: bool
) -> tuple[tuple[Part, ...], SharedTier]:
    """What the concerns of the shared tier plan, and what engines may do with it meanwhile."""
    pool, claim, now = context.pool, context.lustre.bound_claim, context.now
    storage = plan_storage(pool, observed, checks, now)
    probe = plan_write_probe(context, checks, claim, nodes)
    transfers = plan_transfers(pool, observed, probe.proven, now)
    maintenance = plan_maintenance(context)
    importing = not imported(pool, transfers)
    waits = [] if claim else ["the Lustre claim is not bound"]
    waits += [f"{TIER_WRITABLE} is False"] if claim and not probe.proven else []
    waits += ["data is imported from Cloud Storage"] if importing else []
    waits += ["maintenance of the instance is bypassed"] if maintenance.bypass else []
    name = claim.name if claim else None
    tier = SharedTier(None if waits else name, tuple(waits), maintenance.bypass, name, importing)
    return (storage, probe.part, transfers, maintenance.part), tier
