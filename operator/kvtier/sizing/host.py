"""Memory and start-up time of an engine Pod, and which CPU tiers its node has room for."""

import math
from dataclasses import dataclass

from kvtier.api.quantities import GIB, gib
from kvtier.api.v1alpha1 import ServedModel
from kvtier.data.engines import ENGINES
from kvtier.data.machines import ACCELERATORS, NODE_MEMORY

PERIOD_SECONDS = 10
"""Of the startup probes."""
_MIB = 1 << 20


@dataclass(frozen=True)
class PodMemory:
    """Bytes. `shm` is the size of /dev/shm, `engine` the engine's request and limit, which include it.

    `server` and `server_limit` are the request and limit of the LMCache server, 0 where there is none.
    """

    shm: int
    engine: int
    server: int = 0
    server_limit: int = 0

    @property
    def reserved(self) -> int:
        """What the Pod reserves on its node."""
        return self.engine + self.server


def pod_memory(model: ServedModel, cpu_tier: int, shm_headroom_gib: int) -> PodMemory:
    """Memory of one Pod with a CPU tier of so many bytes.

    The CPU tier lives in /dev/shm, and the engine reserves its limit: a tier that is not reserved is not there when it
    fills. A page of /dev/shm counts for the container that touches it first. With backend LMCache two containers do:
    the engine, which pins the whole tier when it registers with the server, or else what it stores; and the server,
    what it loads from a lower tier before the engine has touched the page. Either may come to hold all of it, so both
    limits have room for the tier, while the Pod reserves it once, with the engine. See docs/explanation/lmcache.md.
    """
    lmcache = model.engine.lmcache
    shm = cpu_tier + shm_headroom_gib * GIB
    engine = shm + model.resources.memory.bytes
    if lmcache is None:
        return PodMemory(shm, engine)
    return PodMemory(shm, engine, lmcache.memory.bytes, lmcache.memory.bytes + cpu_tier)


def startup_failures(load_seconds: float, cpu_tier: int, pin_seconds_per_gib: float) -> int:
    """failureThreshold of a startup probe: time to load what is served, then to pin the CPU tier of so many bytes."""
    return math.ceil((load_seconds + cpu_tier / GIB * pin_seconds_per_gib) / PERIOD_SECONDS)


def weights_seconds(accelerator: str, gpus: int) -> float:
    """Time for a model's weights to arrive: they cannot be larger than the memory of the GPUs that hold them.

    Too long a time finds a hanging start late; too short a one would restart a large model for ever.
    """
    each = ACCELERATORS.memory_gb.get(accelerator, ACCELERATORS.other_memory_gb)
    return gpus * each * 1000 / ENGINES.weights_mb_per_second


def allocatable_memory(machine_type: str | None) -> int | None:
    """Bytes that GKE leaves to Pods on a machine, or None where its memory is not known. DaemonSets come out of it."""
    size = NODE_MEMORY.memory_gib.get(machine_type or "")
    return None if size is None else int((size - _reserved(size)) * GIB) - NODE_MEMORY.eviction_mib * _MIB


def _reserved(size: int) -> float:
    """GiB that GKE keeps of `size` GiB, step by step."""
    total, floor = 0.0, 0
    for step in NODE_MEMORY.reserved:
        top = min(step.below or size, size)
        total += max(top - floor, 0) * step.share
        floor = max(floor, top)
    return total


def cpu_tier_fault(pods: int, tier: int, beside: int, allocatable: int, whose: str) -> str | None:
    """Why `pods` Pods with `tier` bytes of CPU tier and `beside` bytes for all else cannot share a node, or None.

    `allocatable` is what the node's Pods may use, by the word of `whose`, such as `node gpu-1 has for Pods`.
    """
    if pods * tier <= (allocatable - pods * beside) * NODE_MEMORY.tier_share:
        return None
    most = largest_tier(pods, beside, allocatable)
    return (
        f"{pods} x {gib(tier)} of CPU tier on every node are too much beside {pods} x {gib(beside)} for the engines: "
        f"{whose} {gib(allocatable)}, of whose rest tiers may take {NODE_MEMORY.tier_share:.0%}, so at most "
        f"{gib(most)} per Pod"
    )


def largest_tier(pods: int, beside: int, allocatable: int) -> int:
    """Bytes of CPU tier, in whole GiB, that each of `pods` Pods on a node may have at most."""
    left = max(allocatable - pods * beside, 0)
    return int(left * NODE_MEMORY.tier_share) // pods // GIB * GIB


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
