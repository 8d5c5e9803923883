"""ZoneMatched: engines run in the zone of the Lustre instance, and there are nodes in it."""

from kvtier.api.conditions import ZONE_MATCHED, Condition, false, true
from kvtier.api.placement import fitting, zones
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.checks.candidates import candidates
from kvtier.facts.model import Facts


def check(pool: KVCachePool, facts: Facts) -> Condition:
    """Lustre volumes carry no node affinity, so nothing else would keep Pods near their instance."""
    lustre = pool.spec.tiers.lustre
    if lustre is None:
        return true(ZONE_MATCHED, Reason.NOT_NEEDED, "the pool has no Lustre tier")
    allowed = zones(pool)
    if lustre.located not in allowed:
        return false(
            ZONE_MATCHED,
            Reason.ZONE_MISMATCH,
            f"nodePool.zones is {', '.join(allowed)}, the Lustre instance is in {lustre.located}: add that zone",
        )
    fits = fitting(pool, any_zone=True)
    elsewhere = sorted({node.zone or "?" for node in facts.cluster.nodes if fits(node.labels)})
    on_demand = pool.spec.node_pool.provisioner == "ComputeClass"
    if elsewhere and not on_demand and not candidates(pool, facts):
        return false(
            ZONE_MATCHED,
            Reason.NO_NODE_IN_ZONE,
            f"nodes that match nodePool are in {', '.join(elsewhere)}, none is in {', '.join(allowed)}",
        )
    return true(ZONE_MATCHED, Reason.MATCHED, f"engines run in {', '.join(allowed)}")
