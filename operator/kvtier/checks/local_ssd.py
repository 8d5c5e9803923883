"""LocalSSDSupported: the machine type has the Local SSD that the pool's Pods are promised."""

from collections.abc import Iterable
from dataclasses import dataclass

from kvtier.api.conditions import LOCAL_SSD_SUPPORTED, Condition, false, true, unknown
from kvtier.api.fields import Quantity
from kvtier.api.placement import pods_per_node
from kvtier.api.quantities import GIB, gib
from kvtier.api.reasons import Reason
from kvtier.context import Context
from kvtier.data.machines import MACHINE_TYPES
from kvtier.facts.model import Node


@dataclass(frozen=True)
class _Disks:
    """Local SSDs of a node: how many, and whether the machine type fixes that number."""

    count: int
    fixed: bool


def check(context: Context) -> Condition:
    """Pods of one node share its disks, so their capacities add up."""
    tier, nodes = context.pool.spec.tiers.local_ssd, context.pool.spec.node_pool
    if tier is None:
        return true(LOCAL_SSD_SUPPORTED, Reason.NOT_NEEDED, "the pool has no Local SSD tier")
    disks = _disks(nodes.machine_type, nodes.local_ssd_count)
    if disks is None:
        return unknown(
            LOCAL_SSD_SUPPORTED,
            Reason.MACHINE_TYPE_UNKNOWN,
            f"kvtier has no Local SSD figures for machine type {nodes.machine_type!r}: set nodePool.localSSDCount",
        )
    if disks.count == 0:
        remedy = "choose" if disks.fixed else "set nodePool.localSSDCount, choose"
        return false(
            LOCAL_SSD_SUPPORTED,
            Reason.NO_LOCAL_SSD,
            f"{nodes.machine_type} comes without Local SSD: {remedy} another machine type, or remove tiers.localSSD",
        )
    if disks.fixed and nodes.local_ssd_count not in (None, disks.count):
        return false(
            LOCAL_SSD_SUPPORTED,
            Reason.FIXED_DISK_COUNT,
            f"{nodes.machine_type} always has {disks.count} Local SSDs: leave nodePool.localSSDCount out",
        )
    pods = max(pods_per_node(context.pool, model) for model in context.pool.spec.models)
    return _fit(tier.capacity, pods, nodes.accelerator.count, *_allocatable(context.nodes, disks.count))


def _fit(capacity: Quantity, pods: int, gpus: int, allocatable: int, whose: str) -> Condition:
    """An emptyDir is charged with all that its Pods hold on the node's disks, and its Pods are evicted for it."""
    beside = MACHINE_TYPES.beside_gib_per_gpu * gpus * GIB
    wants = f"{pods} x {capacity} and {gib(beside)} beside it (model weights, logs)"
    if pods * capacity.bytes + beside > allocatable:
        most = max(allocatable - beside, 0) // pods // GIB * GIB
        return false(
            LOCAL_SSD_SUPPORTED,
            Reason.TOO_LARGE,
            f"{wants} are more than the {gib(allocatable)} that {whose}: at most {gib(most)} per Pod",
        )
    return true(LOCAL_SSD_SUPPORTED, Reason.FITS, f"{wants} fit into the {gib(allocatable)} that {whose}")


def _allocatable(nodes: Iterable[Node], disks: int) -> tuple[int, str]:
    """Bytes that the Pods of a node may use, and who says so: the smallest candidate, or else the machine type."""
    reporting = [node for node in nodes if node.ephemeral_storage]
    if reporting:
        smallest = min(reporting, key=lambda node: (node.ephemeral_storage, node.name))
        return smallest.ephemeral_storage // GIB * GIB, f"node {smallest.name} has for Pods"
    return _computed(disks), f"GKE leaves of {disks} Local SSDs for Pods"


def _computed(disks: int) -> int:
    capacity = disks * MACHINE_TYPES.disk_gib * MACHINE_TYPES.filesystem
    reserved = MACHINE_TYPES.reserved_gib
    kept = reserved.get(disks, max(reserved.values()))
    return int(capacity * (1 - MACHINE_TYPES.eviction_share) - kept) * GIB


def _disks(machine_type: str | None, asked: int | None) -> _Disks | None:
    """Disks of a node, or None when nothing is known about the machine type."""
    name = machine_type or ""
    if name in MACHINE_TYPES.attached:
        return _Disks(MACHINE_TYPES.attached[name], fixed=True)
    if name in MACHINE_TYPES.without:
        return _Disks(0, fixed=True)
    if asked is not None:
        return _Disks(asked, fixed=False)
    selectable = name.startswith(tuple(f"{family}-" for family in MACHINE_TYPES.selectable))
    return _Disks(0, fixed=False) if selectable else None
