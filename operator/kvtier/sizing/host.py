"""Memory and start-up time of an engine Pod, and the CPU tiers that fit on its node."""

import math
from dataclasses import dataclass

from kvtier.api.quantities import GIB, gib
from kvtier.api.v1alpha1 import ServedModel
from kvtier.data.engines import ENGINES
from kvtier.data.machines import ACCELERATORS, NODE_MEMORY

PERIOD_SECONDS = 10
"""periodSeconds of the startup probes."""
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
        """Sum of the memory requests of the Pod."""
        return self.engine + self.server


def pod_memory(model: ServedModel, cpu_tier: int, shm_headroom_gib: int) -> PodMemory:
    """Memory of one Pod with a CPU tier of `cpu_tier` bytes.

    The CPU tier is in /dev/shm. The engine's request equals its limit, so that the memory is still free when the tier
    fills. Linux charges a page of /dev/shm to the container that touches it first. With backend LMCache, two containers
    touch pages: the engine pins the whole tier when it registers with the server, or touches what it stores; the server
    touches what it loads from a lower tier. Either container may be charged for the whole tier, so both limits include
    it. The Pod requests it only once, for the engine. See docs/explanation/lmcache.md.
    """
    lmcache = model.engine.lmcache
    shm = cpu_tier + shm_headroom_gib * GIB
    engine = shm + model.resources.memory.bytes
    if lmcache is None:
        return PodMemory(shm, engine)
    return PodMemory(shm, engine, lmcache.memory.bytes, lmcache.memory.bytes + cpu_tier)


def startup_failures(load_seconds: float, cpu_tier: int, pin_seconds_per_gib: float) -> int:
    """failureThreshold of a startup probe: enough time to load the model and to pin the CPU tier (in bytes)."""
    return math.ceil((load_seconds + cpu_tier / GIB * pin_seconds_per_gib) / PERIOD_SECONDS)


def weights_seconds(accelerator: str, gpus: int) -> float:
    """Seconds to load a model's weights, which are at most as large as the memory of the GPUs.

    If this is too long, a hanging start is found late. If it is too short, a large model restarts again and again.
    """
    each = ACCELERATORS.memory_gb.get(accelerator, ACCELERATORS.other_memory_gb)
    return gpus * each * 1000 / ENGINES.weights_mb_per_second


def allocatable_memory(machine_type: str | None) -> int | None:
    """Bytes that GKE leaves for Pods (DaemonSets included) on a machine type, None for an unknown one."""
    size = NODE_MEMORY.memory_gib.get(machine_type or "")
    return None if size is None else int((size - _reserved(size)) * GIB) - NODE_MEMORY.eviction_mib * _MIB


def _reserved(size: int) -> float:
    """GiB that GKE reserves of `size` GiB, step by step."""
    total, floor = 0.0, 0
    for step in NODE_MEMORY.reserved:
        top = min(step.below or size, size)
        total += max(top - floor, 0) * step.share
        floor = max(floor, top)
    return total


def cpu_tier_fault(pods: int, tier: int, beside: int, allocatable: int, where: str) -> str | None:
    """Why `pods` Pods with `tier` bytes of CPU tier and `beside` bytes for all else do not fit on a node, or None.

    `allocatable`: bytes that the Pods of the node may use. `where`: the node or machine type, such as `node gpu-1`.
    """
    allowed = (allocatable - pods * beside) * NODE_MEMORY.tier_share
    if pods * tier <= allowed:
        return None
    whole, most = gib(max(int(allowed), 0) // GIB * GIB), largest_tier(pods, beside, allocatable)
    remedy = "Use nodes with more memory"
    if most:
        remedy = f"Reduce tiers.cpu.capacity to {gib(most)} or less"
    return (
        f"CPU tiers need {pods} x {gib(tier)}, but {where} allows {whole}: {NODE_MEMORY.tier_share:.0%} of "
        f"({gib(allocatable)} - {pods} x {gib(beside)} for engines). {remedy}."
    )


def largest_tier(pods: int, beside: int, allocatable: int) -> int:
    """Largest CPU tier, in bytes of whole GiB, for each of `pods` Pods on a node."""
    left = max(allocatable - pods * beside, 0)
    return int(left * NODE_MEMORY.tier_share) // pods // GIB * GIB


def pinning_fault(tier: int, limit_gib: int | None, version: str, confidential: bool) -> str | None:
    """Why GPUs cannot pin a CPU tier of `tier` bytes, or None. The engine would fail, or copy slowly."""
    if confidential:
        return (
            "confidential nodes do not let GPUs pin host memory, so vLLM does not start with a CPU tier. "
            "Use other nodes, or remove tiers.cpu."
        )
    if limit_gib is not None and tier >= limit_gib * GIB:
        return (
            f"vLLM {version} cannot pin a CPU tier of {limit_gib}Gi or more, and tiers.cpu.capacity is {gib(tier)}. "
            "Reduce it, or use a later version."
        )
    return None
