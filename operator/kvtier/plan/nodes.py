"""The nodes: a ComputeClass for which GKE creates GPU nodes with Local SSD, or existing nodes."""

from collections.abc import Sequence
from dataclasses import dataclass

from kvtier.api import placement
from kvtier.api.conditions import NODE_POOL_READY, Condition, false, true
from kvtier.api.kinds import COMPUTE_CLASS
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.checks import NODES, Checks, blockers
from kvtier.context import Context
from kvtier.data.machines import MACHINE_TYPES
from kvtier.facts.model import Node
from kvtier.plan.children import child
from kvtier.plan.model import Manifest, Part
from kvtier.plan.pod_events import capacity_unavailable


@dataclass(frozen=True)
class Nodes:
    """The plan for nodes. `usable`: nodes exist, or GKE creates them for Pods that wait."""

    part: Part
    usable: bool


_NOT_SERVED = false(
    NODE_POOL_READY,
    Reason.COMPUTE_CLASS_NOT_SERVED,
    "The CRD computeclasses.cloud.google.com does not exist. On GKE, upgrade the control plane. On other clusters, set "
    "nodePool.provisioner to Existing.",
)
_MISFIT = false(
    NODE_POOL_READY,
    Reason.PREREQUISITES_NOT_MET,
    "kvtier creates no ComputeClass while a prerequisite of the machine type is not met: see LocalSSDSupported and "
    "CPUTierFits.",
)
_CREATING = false(NODE_POOL_READY, Reason.CREATING, "kvtier is creating the ComputeClass.")


def plan_nodes(context: Context, checks: Checks) -> Nodes:
    """The ComputeClass, and NodePoolReady.

    A ComputeClass that exists is kept, even if the machine type does not fit. Nodes count as usable even if Google
    Cloud has none at the moment, because the autoscaler retries only for Pods that wait.
    """
    pool, nodes = context.pool, context.nodes
    unavailable = capacity_unavailable(pool, context.pod_events)
    if pool.spec.node_pool.provisioner == "Existing":
        condition = unavailable or (_counted(nodes) if nodes else _no_match(pool))
        return Nodes(Part(conditions=(condition,)), usable=bool(unavailable or nodes))
    name = placement.compute_class(pool)
    live, kept = context.children.compute_class(name), ((COMPUTE_CLASS.kind, name),)
    if not context.facts.cluster.compute_class_served:
        return Nodes(Part(conditions=(_NOT_SERVED,), keeps=kept), usable=False)
    if live is None and blockers(checks, NODES, pool.spec):
        return Nodes(Part(conditions=(_MISFIT,), keeps=kept), usable=False)
    condition = (unavailable or _on_demand(nodes)) if live else _CREATING
    return Nodes(Part((_compute_class(pool, name),), (condition,), keeps=kept), usable=True)


def _compute_class(pool: KVCachePool, name: str) -> Manifest:
    """The ComputeClass. It costs nothing until a Pod uses it and GKE creates a node."""
    nodes = pool.spec.node_pool
    return child(
        "computeclass",
        pool,
        name,
        machine_type=nodes.machine_type,
        spot=nodes.spot,
        accelerator=nodes.accelerator,
        local_ssd_count=_local_ssd_count(pool),
        zones=placement.zones(pool),
    )


def _local_ssd_count(pool: KVCachePool) -> int | None:
    """Number of Local SSD disks: the pool's own, else those of the machine type if a tier needs them."""
    nodes = pool.spec.node_pool
    attached = MACHINE_TYPES.attached.get(nodes.machine_type or "")
    return nodes.local_ssd_count or (attached if pool.spec.tiers.local_ssd else None)


def _on_demand(nodes: Sequence[Node]) -> Condition:
    if nodes:
        return _counted(nodes)
    text = "No node exists yet. GKE creates nodes when a Pod uses the ComputeClass."
    return true(NODE_POOL_READY, Reason.ON_DEMAND, text)


def _counted(nodes: Sequence[Node]) -> Condition:
    ready = sum(node.ready for node in nodes)
    return true(NODE_POOL_READY, Reason.NODES_READY, f"{ready} of {len(nodes)} nodes are ready.")


def _no_match(pool: KVCachePool) -> Condition:
    labels = ", ".join(f"{key}={value}" for key, value in placement.node_selector(pool).items())
    zones = placement.zones(pool)
    where = f" in {', '.join(zones)}" if zones else ""
    text = f"No node{where} has the labels {labels}. Create matching nodes, or correct nodePool."
    return false(NODE_POOL_READY, Reason.NO_MATCHING_NODE, text)
