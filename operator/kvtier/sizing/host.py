"""Whether CPU tiers fit into the memory of a node. A tier that does not takes the whole node down with it."""

from kvtier.api.quantities import GIB, gib
from kvtier.data import table

_MIB = 1 << 20


def allocatable_memory(machine_type: str | None) -> int | None:
    """Bytes that GKE leaves to Pods on a machine, or None where its memory is not known. DaemonSets come out of it."""
    memory = table("node_memory")
    size = memory["memoryGib"].get(machine_type)
    return None if size is None else int((size - _reserved(size)) * GIB) - memory["evictionMib"] * _MIB


def cpu_tier_fault(pods: int, tier: int, beside: int, allocatable: int, whose: str) -> str | None:
    """Why `pods` Pods with `tier` bytes of CPU tier and `beside` bytes for all else cannot share a node, or None.

    `allocatable` is what the node's Pods may use, by the word of `whose`, such as `node gpu-1 has for Pods`.
    """
    if pods * tier <= (allocatable - pods * beside) * table("node_memory")["tierShare"]:
        return None
    most = largest_tier(pods, beside, allocatable)
    share = f"{table('node_memory')['tierShare']:.0%}"
    return (
        f"{pods} x {gib(tier)} of CPU tier on every node are too much beside {pods} x {gib(beside)} for the engines: "
        f"{whose} {gib(allocatable)}, of whose rest tiers may take {share}, so at most {gib(most)} per Pod"
    )


def largest_tier(pods: int, beside: int, allocatable: int) -> int:
    """Bytes of CPU tier, in whole GiB, that each of `pods` Pods on a node may have at most."""
    left = max(allocatable - pods * beside, 0)
    return int(left * table("node_memory")["tierShare"]) // pods // GIB * GIB


def pinning_fault(tier: int, limit_gib: int | None, version: str, confidential: bool) -> str | None:
    """Why a CPU tier of `tier` bytes cannot be pinned, so that the engine fails or copies slowly, or None."""
    if confidential:
        return (
            "confidential nodes do not let GPUs pin host memory, so vLLM does not start with a CPU tier: "
            "use other nodes, or remove tiers.cpu"
        )
    if limit_gib is not None and tier >= limit_gib * GIB:
        return (
            f"vLLM {version} pins the CPU tier as a whole, which fails from {limit_gib}Gi on: "
            f"{gib(tier)} is too large, take less or a later version"
        )
    return None


def _reserved(size: int) -> float:
    """GiB that GKE keeps of `size` GiB, step by step."""
    total, floor = 0.0, 0
    for step in table("node_memory")["reserved"]:
        top = min(step.get("below", size), size)
        total += max(top - floor, 0) * step["share"]
        floor = max(floor, top)
    return total
