"""LocalSSDSupported: the machine type has the Local SSD that the pool's Pods are promised."""

from dataclasses import dataclass

from kvtier.api.conditions import LOCAL_SSD_SUPPORTED, Condition, false, true, unknown
from kvtier.api.quantities import GIB, gib
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.data import table
from kvtier.facts.model import Facts


@dataclass(frozen=True)
class _Disks:
    """Local SSDs of a node: how many, and whether the machine type fixes that number."""

    count: int
    fixed: bool


def check(pool: KVCachePool, facts: Facts) -> Condition:
    """Pods of one node share its disks, so their capacities add up."""
    tier, nodes = pool.spec.tiers.local_ssd, pool.spec.node_pool
    if tier is None:
        return true(LOCAL_SSD_SUPPORTED, "NotNeeded", "the pool has no Local SSD tier")
    disks = _disks(nodes.machine_type, nodes.local_ssd_count)
    if disks is None:
        return unknown(
            LOCAL_SSD_SUPPORTED,
            "MachineTypeUnknown",
            f"kvtier has no Local SSD figures for machine type {nodes.machine_type!r}: set nodePool.localSSDCount",
        )
    if disks.count == 0:
        remedy = "choose" if disks.fixed else "set nodePool.localSSDCount, choose"
        return false(
            LOCAL_SSD_SUPPORTED,
            "NoLocalSSD",
            f"{nodes.machine_type} comes without Local SSD: {remedy} another machine type, or remove tiers.localSSD",
        )
    if disks.fixed and nodes.local_ssd_count not in (None, disks.count):
        return false(
            LOCAL_SSD_SUPPORTED,
            "FixedDiskCount",
            f"{nodes.machine_type} always has {disks.count} Local SSDs: leave nodePool.localSSDCount out",
        )
    return _room(pool, disks.count)


def pods_per_node(pool: KVCachePool) -> int:
    """Most Pods of the pool that one node can hold, by GPUs."""
    smallest = min(model.tensor_parallel_size for model in pool.spec.models)
    return pool.spec.node_pool.accelerator.count // smallest


def _room(pool: KVCachePool, disks: int) -> Condition:
    machine, tier = table("machine_types"), pool.spec.tiers.local_ssd
    assert tier is not None
    usable = int(disks * machine["diskGib"] * machine["usable"]) * GIB
    pods = pods_per_node(pool)
    if pods * tier.capacity.bytes > usable:
        return false(
            LOCAL_SSD_SUPPORTED,
            "TooLarge",
            f"{pods} x {tier.capacity} on every node is more than the {gib(usable)} that {disks} Local SSDs leave "
            f"for them: at most {gib(usable // pods // GIB * GIB)} per Pod",
        )
    return true(LOCAL_SSD_SUPPORTED, "Fits", f"{pods} x {tier.capacity} of {gib(usable)} on every node")


def _disks(machine_type: str | None, asked: int | None) -> _Disks | None:
    """Disks of a node, or None when nothing is known about the machine type."""
    machines = table("machine_types")
    if machine_type in machines["attached"]:
        return _Disks(machines["attached"][machine_type], fixed=True)
    if machine_type in machines["none"]:
        return _Disks(0, fixed=True)
    if asked is not None:
        return _Disks(asked, fixed=False)
    selectable = machine_type and machine_type.startswith(
        tuple(f"{family}-" for family in machines["selectable"])
    )
    return _Disks(0, fixed=False) if selectable else None
