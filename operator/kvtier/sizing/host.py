"""Host memory of an engine Pod: the CPU tier lives in /dev/shm, and the kernel charges it to containers.

A page of /dev/shm counts for the container that touches it first. With backend LMCache two containers do: the engine,
which pins the whole tier when it registers with the server, or else what it stores; and the server, what it loads from
a lower tier before the engine has touched the page. Either may come to hold all of it, so both limits have room for the
tier, while the Pod reserves it once, with the engine. See docs/design/lmcache.md.
"""

import math
from dataclasses import dataclass

from kvtier.api.quantities import GIB, gib
from kvtier.api.v1alpha1 import KVCachePool, ServedModel
from kvtier.data import table
from kvtier.data.engines import ENGINES


@dataclass(frozen=True)
class Memory:
    """Bytes. `shm` is the size of /dev/shm, `total` the engine's request and limit, which include it.

    `server` and `server_limit` are the request and limit of the LMCache server, 0 where there is none.
    """

    shm: int
    total: int
    server: int = 0
    server_limit: int = 0

    @property
    def pod(self) -> int:
        """What the Pod reserves on its node."""
        return self.total + self.server


def memory(pool: KVCachePool, model: ServedModel, shm_headroom_gib: int) -> Memory:
    """Memory of one Pod. The engine reserves its limit: a tier that is not reserved is not there when it fills."""
    cpu, lmcache = pool.spec.tiers.cpu, model.engine.lmcache
    tier = cpu.capacity.bytes if cpu else 0
    shm = tier + shm_headroom_gib * GIB
    total = shm + model.resources.memory.bytes
    if lmcache is None:
        return Memory(shm, total)
    return Memory(shm, total, lmcache.memory.bytes, lmcache.memory.bytes + tier)


PERIOD_SECONDS = 10


def startup_failures(pool: KVCachePool, load_seconds: float, pin_seconds_per_gib: float) -> int:
    """failureThreshold of a startup probe with PERIOD_SECONDS: loading what is served, then pinning the CPU tier."""
    tier = pool.spec.tiers.cpu
    pinned = (tier.capacity.bytes / GIB if tier else 0) * pin_seconds_per_gib
    return math.ceil((load_seconds + pinned) / PERIOD_SECONDS)


def weights_seconds(pool: KVCachePool, model: ServedModel) -> float:
    """Time for the model's weights to arrive: they cannot be larger than the memory of the GPUs that hold them.

    Too long a time finds a hanging start late; too short a one would start a large model anew for ever.
    """
    accelerators = table("accelerators")
    each = accelerators["memoryGb"].get(pool.spec.node_pool.accelerator.type, accelerators["otherMemoryGb"])
    return float(model.tensor_parallel_size * each * 1000 / ENGINES.weights_mb_per_second)


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
