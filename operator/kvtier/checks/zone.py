"""ZoneMatched: engines run in the zone of the Lustre instance, and there are nodes in it."""

from kvtier.api.conditions import ZONE_MATCHED, Condition, false, true
from kvtier.api.placement import fitting, zones
from kvtier.api.reasons import Reason
from kvtier.context import Context


def check(context: Context) -> Condition:
    """Lustre volumes carry no node affinity, so nothing else would keep Pods near their instance."""
    pool, lustre = context.pool, context.lustre.spec
    if lustre is None:
        return true(ZONE_MATCHED, Reason.NOT_NEEDED, "the pool has no Lustre tier")
    allowed = zones(pool)
    if lustre.located not in allowed:
        return false(
            ZONE_MATCHED,
            Reason.ZONE_MISMATCH,
            f"nodePool.zones is {', '.join(allowed)}, the Lustre instance is in {lustre.located}: add that zone",
        )
    elsewhere = _zones_of_nodes(context) if not context.nodes else []
    if elsewhere and pool.spec.node_pool.provisioner == "Existing":
        return false(
            ZONE_MATCHED,
            Reason.NO_NODE_IN_ZONE,
            f"nodes that match nodePool are in {', '.join(elsewhere)}, none is in {', '.join(allowed)}",
        )
    return true(ZONE_MATCHED, Reason.MATCHED, f"engines run in {', '.join(allowed)}")


def _zones_of_nodes(context: Context) -> list[str]:
    """Zones of the nodes that match but for their zone."""
    fits = fitting(context.pool, any_zone=True)
    return sorted({node.zone or "?" for node in context.facts.cluster.nodes if fits(node.labels)})
