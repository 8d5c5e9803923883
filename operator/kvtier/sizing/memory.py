"""Host memory of an engine Pod: the CPU tier lives in /dev/shm, and the kernel charges it to containers.

A page of /dev/shm counts for the container that touches it first. With backend LMCache two containers do: the engine,
which pins the whole tier when it registers with the server, or else what it stores; and the server, what it loads from
a lower tier before the engine has touched the page. Either may come to hold all of it, so both limits have room for the
tier, while the Pod reserves it once, with the engine. See docs/design/lmcache.md.
"""

from dataclasses import dataclass

from kvtier.api.quantities import GIB
from kvtier.api.v1alpha1 import KVCachePool, ServedModel


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
