"""Host memory of an engine Pod: the CPU tier lives in /dev/shm, which the kernel charges to the container."""

from dataclasses import dataclass

from kvtier.api.quantities import GIB
from kvtier.api.v1alpha1 import KVCachePool, ServedModel


@dataclass(frozen=True)
class Memory:
    """Bytes: the size of /dev/shm, and the container's request and limit, which include it."""

    shm: int
    total: int


def memory(pool: KVCachePool, model: ServedModel, shm_headroom_gib: int) -> Memory:
    """Memory of one Pod. Request equals limit: a tier that is not reserved is not there when it fills."""
    tier = pool.spec.tiers.cpu
    shm = (tier.capacity.bytes if tier else 0) + shm_headroom_gib * GIB
    return Memory(shm=shm, total=shm + model.resources.memory.bytes)
