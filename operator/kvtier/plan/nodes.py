"""The nodes: a ComputeClass from which GKE makes GPU nodes with Local SSD, or the ones that exist."""

from kvtier.api import placement
from kvtier.api.conditions import NODE_POOL_READY, Condition, false, true
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.data import table
from kvtier.facts.model import Observed
from kvtier.plan.children import child
from kvtier.plan.gates import NODES, blockers
from kvtier.plan.model import Checks, Manifest, Part
from kvtier.plan.pod_events import capacity_unavailable

_COMING = (Reason.CREATING, Reason.CAPACITY_UNAVAILABLE)


def plan_nodes(pool: KVCachePool, observed: Observed, checks: Checks) -> Part:
    """A ComputeClass costs nothing by itself: nodes come with the first Pod that asks for it."""
    unavailable = capacity_unavailable(pool, observed)
    if pool.spec.node_pool.provisioner == "Existing":
        return Part((), (unavailable or _existing(pool, observed),))
    if not observed.facts.cluster.compute_class_served:
        return Part(
            (),
            (
                false(
                    NODE_POOL_READY,
                    Reason.COMPUTE_CLASS_NOT_SERVED,
                    "this cluster has no computeclasses.cloud.google.com, which GKE installs: use "
                    "nodePool.provisioner Existing elsewhere",
                ),
            ),
        )
    live = observed.child("ComputeClass", placement.compute_class(pool))
    if blockers(checks, NODES, pool.spec.strict) and live is None:
        return Part(
            (),
            (false(NODE_POOL_READY, Reason.PREREQUISITES_NOT_MET, "the machine type does not fit the pool"),),
        )
    condition = (
        unavailable or _ready_nodes(pool, observed)
        if live
        else false(NODE_POOL_READY, Reason.CREATING, "the ComputeClass is being made")
    )
    return Part((_compute_class(pool),), (condition,))


def nodes_usable(part: Part) -> bool:
    """Whether engines may be placed: there is a class to make nodes from, or there are nodes, or will be.

    Where the cloud has none to give now, it is the Pods that make the autoscaler ask again.
    """
    return all(c.status == "True" or c.reason in _COMING for c in part.conditions)


def _compute_class(pool: KVCachePool) -> Manifest:
    nodes = pool.spec.node_pool
    return child(
        "computeclass",
        pool,
        placement.compute_class(pool),
        machine_type=nodes.machine_type,
        spot=nodes.spot,
        accelerator=nodes.accelerator,
        local_ssd_count=_local_ssd_count(pool),
        zones=placement.zones(pool),
    )


def _local_ssd_count(pool: KVCachePool) -> int | None:
    """Disks to ask for: the pool's own number, else what the machine type comes with if the tier needs them."""
    nodes = pool.spec.node_pool
    attached: int | None = table("machine_types")["attached"].get(nodes.machine_type)
    return nodes.local_ssd_count or (attached if pool.spec.tiers.local_ssd else None)


def _ready_nodes(pool: KVCachePool, observed: Observed) -> Condition:
    fits = placement.fitting(pool)
    nodes = [node for node in observed.facts.cluster.nodes if fits(node.labels)]
    ready = sum(node.ready for node in nodes)
    if not nodes:
        return true(
            NODE_POOL_READY,
            Reason.ON_DEMAND,
            "no node yet: GKE makes nodes when a Pod asks for the ComputeClass",
        )
    return true(NODE_POOL_READY, Reason.NODES_READY, f"{ready} of {len(nodes)} nodes ready")


def _existing(pool: KVCachePool, observed: Observed) -> Condition:
    condition = _ready_nodes(pool, observed)
    if condition.reason == Reason.NODES_READY:
        return condition
    wanted = ", ".join(f"{key}={value}" for key, value in placement.node_selector(pool).items())
    zones = placement.zones(pool)
    return false(
        NODE_POOL_READY,
        Reason.NO_MATCHING_NODE,
        f"no node has {wanted}" + (f" in {', '.join(zones)}" if zones else ""),
    )
