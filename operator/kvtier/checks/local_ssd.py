"""LocalSSDSupported: the machine type has enough Local SSD for the pool's Pods."""

from collections.abc import Iterable
from dataclasses import dataclass

from kvtier.api.conditions import LOCAL_SSD_SUPPORTED, Condition, false, true, unknown
from kvtier.api.fields import Quantity
from kvtier.api.placement import pods_per_node
from kvtier.api.quantities import GIB, gib
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import NodePool
from kvtier.context import Context
from kvtier.data.machines import MACHINE_TYPES
from kvtier.facts.model import Node


@dataclass(frozen=True)
class _Disks:
    """Local SSDs of a node: how many, and whether the machine type fixes that number."""

    count: int
    fixed: bool


def check(context: Context) -> Condition:
    """Adds up the capacities of the Pods of one node, which share its disks."""
    tier, nodes = context.pool.spec.tiers.local_ssd, context.pool.spec.node_pool
    if tier is None:
        return true(LOCAL_SSD_SUPPORTED, Reason.NOT_NEEDED, "The pool has no Local SSD tier.")
    disks = _disks(nodes.machine_type, nodes.local_ssd_count)
    if disks is None:
        of = f"machine type {nodes.machine_type}" if nodes.machine_type else "the nodes (no machineType)"
        return unknown(
            LOCAL_SSD_SUPPORTED,
            Reason.MACHINE_TYPE_UNKNOWN,
            f"The Local SSDs of {of} are unknown. Set nodePool.localSSDCount.",
        )
    pods = max(pods_per_node(context.pool, model) for model in context.pool.spec.models)
    room = _allocatable(context.nodes, nodes.local_ssd_count or disks.count)
    fit = _fit(tier.capacity, pods, nodes.accelerator.count, *room) if room else None
    return context.pool.spec.decisive(_other_count(nodes, disks), fit)


def _other_count(nodes: NodePool, disks: _Disks) -> Condition | None:
    """Why the machine type cannot have the disks that the pool needs, or None."""
    if disks.count == 0:
        remedy = "Choose another machine type, or remove tiers.localSSD"
        if not disks.fixed:
            remedy = "Set nodePool.localSSDCount, choose another machine type, or remove tiers.localSSD"
        message = f"{nodes.machine_type} has no Local SSD. {remedy}."
        return false(LOCAL_SSD_SUPPORTED, Reason.NO_LOCAL_SSD, message)
    if disks.fixed and nodes.local_ssd_count not in (None, disks.count):
        message = f"{nodes.machine_type} always has {disks.count} Local SSDs. Remove nodePool.localSSDCount."
        return false(LOCAL_SSD_SUPPORTED, Reason.FIXED_DISK_COUNT, message)
    return None


def _fit(capacity: Quantity, pods: int, gpus: int, allocatable: int, where: str) -> Condition:
    """Whether the cache files and all other files of a node's Pods fit, else the kubelet would evict Pods."""
    beside = MACHINE_TYPES.beside_gib_per_gpu * gpus * GIB
    wants = f"{pods} x {capacity} for cache files and {gib(beside)} for model weights and logs"
    if pods * capacity.bytes + beside > allocatable:
        most = max(allocatable - beside, 0) // pods // GIB * GIB
        remedy = (
            f"Reduce tiers.localSSD.capacity to {gib(most)} or less"
            if most
            else "Use nodes with more Local SSD"
        )
        return false(
            LOCAL_SSD_SUPPORTED,
            Reason.TOO_LARGE,
            f"{wants} do not fit into the {gib(allocatable)} for Pods on {where}. {remedy}.",
        )
    return true(
        LOCAL_SSD_SUPPORTED, Reason.FITS, f"{wants} fit into the {gib(allocatable)} for Pods on {where}."
    )


def _allocatable(nodes: Iterable[Node], disks: int) -> tuple[int, str] | None:
    """Bytes for the Pods of a node, and where: on the smallest candidate, or else on `disks`; None without disks."""
    reporting = [node for node in nodes if node.ephemeral_storage]
    if reporting:
        smallest = min(reporting, key=lambda node: (node.ephemeral_storage, node.name))
        return smallest.ephemeral_storage // GIB * GIB, f"node {smallest.name}"
    return (_computed(disks), f"Local SSD ({disks} x {MACHINE_TYPES.disk_gib}Gi)") if disks else None


def _computed(disks: int) -> int:
    capacity = disks * MACHINE_TYPES.disk_gib * MACHINE_TYPES.filesystem
    reserved = MACHINE_TYPES.reserved_gib
    kept = reserved.get(disks, max(reserved.values()))
    return int(capacity * (1 - MACHINE_TYPES.eviction_share) - kept) * GIB


def _disks(machine_type: str | None, asked: int | None) -> _Disks | None:
    """Disks of a node, or None for an unknown machine type."""
    name = machine_type or ""
    if name in MACHINE_TYPES.attached:
        return _Disks(MACHINE_TYPES.attached[name], fixed=True)
    if name in MACHINE_TYPES.without:
        return _Disks(0, fixed=True)
    if asked is not None:
        return _Disks(asked, fixed=False)
    selectable = name.startswith(tuple(f"{family}-" for family in MACHINE_TYPES.selectable))
    return _Disks(0, fixed=False) if selectable else None
