"""The planner: `plan(pool, observed, now)` is the whole decision, without I/O, clock or chance."""

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.checks import run
from kvtier.context import build
from kvtier.facts.model import Observed
from kvtier.pace import DEFAULT, Pace
from kvtier.plan.lustre.shared_tier import plan_shared_tier
from kvtier.plan.model import Plan, soonest, together
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
        return plan_teardown(context)

    # Prerequisites. A concern makes nothing that costs money while one of its own does not hold.
    checks = run(context)

    # Nodes first: nothing that needs a Pod is tried without them.
    nodes = plan_nodes(context, checks)

    # The shared tier: instance and claim, the proof that engines can write, copies from and to a bucket, maintenance.
    shared = plan_shared_tier(context, checks, nodes.usable)

    # Engines, with the shared tier as far as it can be used by now.
    serving = plan_serving(context, checks, shared.access, nodes.usable)

    # What none of them applies or keeps is pruned, and what they report makes up the status.
    whole = together(shared.part, nodes.part, serving)
    return Plan(
        applies=whole.applies,
        deletes=(*unwanted(context.children, whole), *whole.deletes),
        status=pool_status(context, checks, whole, tier_left=shared.access.leave or shared.access.importing),
        requeue_after=soonest(refresh_after(context, checks), whole.again),
        handovers=whole.handovers,
        calls=whole.calls,
        events=whole.events,
    )
