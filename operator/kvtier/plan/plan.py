"""The planner: `plan(pool, observed, now)` decides everything, without I/O, clock or randomness."""

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
    """The plan for `pool` in the observed state. `now`: the RFC 3339 time for conditions that change."""
    # All values that decisions need are derived from the observed state once.
    context = build(pool, observed, now, pace)

    # A pool that is being deleted: only the teardown runs, step by step.
    if pool.deleting:
        return plan_teardown(context)

    # Prerequisites. A concern creates nothing that costs money while one of its prerequisites fails.
    checks = run(context)

    # Nodes first: without them, kvtier creates nothing that needs a Pod.
    nodes = plan_nodes(context, checks)

    # The Lustre tier: instance and PVC, write probe, copies from and to a bucket, maintenance.
    shared = plan_shared_tier(context, checks, nodes.usable)

    # Engines, with the Lustre tier if they can use it now.
    serving = plan_serving(context, checks, shared.access, nodes.usable)

    # Prune what no concern applies or keeps, and build the status from what they report.
    whole = together(shared.part, nodes.part, serving)
    return Plan(
        applies=whole.applies,
        deletes=(*unwanted(pool, context.children, whole), *whole.deletes),
        status=pool_status(context, checks, whole, tier_left=shared.access.leave or shared.access.importing),
        requeue_after=soonest(refresh_after(context, checks), whole.again),
        handovers=whole.handovers,
        calls=whole.calls,
        events=whole.events,
    )
