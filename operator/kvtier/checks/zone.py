"""ZoneMatched: engines run in the zone of the Lustre instance, and nodes exist there."""

from collections.abc import Sequence

from kvtier.api.conditions import ZONE_MATCHED, Condition, false, true
from kvtier.api.placement import fitting, zones
from kvtier.api.reasons import Reason
from kvtier.context import Context


def check(context: Context) -> Condition:
    """Needed because PersistentVolumes of the Lustre CSI driver have no node affinity to keep Pods in the zone."""
    pool, lustre = context.pool, context.lustre.spec
    if lustre is None:
        return true(ZONE_MATCHED, Reason.NOT_NEEDED, "The pool has no Lustre tier.")
    allowed = zones(pool)
    return pool.spec.decisive(
        _mismatch(lustre.located, allowed),
        _no_node(context, allowed),
        true(ZONE_MATCHED, Reason.MATCHED, f"Engines run in {', '.join(allowed)}."),
    )


def _mismatch(located: str, allowed: Sequence[str]) -> Condition | None:
    if located in allowed:
        return None
    return false(
        ZONE_MATCHED,
        Reason.ZONE_MISMATCH,
        f"The zones of nodePool are {', '.join(allowed)}, but the Lustre instance is in {located}. Add {located} to "
        "nodePool.zones.",
    )


def _no_node(context: Context, allowed: Sequence[str]) -> Condition | None:
    elsewhere = _zones_of_nodes(context) if not context.nodes else []
    if not elsewhere or context.pool.spec.node_pool.provisioner != "Existing":
        return None
    return false(
        ZONE_MATCHED,
        Reason.NO_NODE_IN_ZONE,
        f"No node that matches nodePool is in {', '.join(allowed)}. Their zones: {', '.join(elsewhere)}. "
        f"Create nodes in {', '.join(allowed)}.",
    )


def _zones_of_nodes(context: Context) -> list[str]:
    """Zones of the nodes that match nodePool in everything but the zone."""
    fits = fitting(context.pool, any_zone=True)
    return sorted({node.zone or "unknown" for node in context.facts.cluster.nodes if fits(node.labels)})
