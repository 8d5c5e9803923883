"""CPUTierFits: the memory of nodes holds the CPU tiers of their Pods, and GPUs can pin it."""

from collections.abc import Sequence
from dataclasses import dataclass

from kvtier.api.conditions import CPU_TIER_FITS, Condition, false, true, unknown
from kvtier.api.quantities import GIB, gib
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool, ServedModel
from kvtier.checks.candidates import candidates, names, pods_per_node
from kvtier.engines import versions
from kvtier.facts.model import Facts
from kvtier.sizing.host import allocatable_memory, cpu_tier_fault, largest_tier, pinning_fault, pod_memory


@dataclass(frozen=True, order=True)
class _Room:
    """Bytes that the Pods of a node may use, and who says so."""

    size: int
    whose: str


@dataclass(frozen=True)
class _Need:
    """Bytes of one Pod, as CPU tier and for all else; Pods that a node's GPUs allow, and that there may be."""

    tier: int
    beside: int
    by_gpu: int
    wanted: int | None

    @property
    def most(self) -> int:
        """Pods that may meet on a node: an update may bring one more than there are replicas."""
        return self.by_gpu if self.wanted is None else min(self.by_gpu, self.wanted + 1)

    def pods(self, room: _Room) -> int:
        """Pods that the scheduler lets on such a node: it counts what they reserve."""
        return min(self.most, room.size // (self.tier + self.beside))


def check(pool: KVCachePool, facts: Facts) -> Condition:
    """Every Pod has a tier of its own, which the GPUs of its engine share."""
    if pool.spec.tiers.cpu is None:
        return true(CPU_TIER_FITS, Reason.NOT_NEEDED, "the pool has no CPU tier")
    unpinned = _unpinned(pool, facts)
    if unpinned is not None:
        return false(CPU_TIER_FITS, Reason.NOT_PINNED, unpinned)
    rooms = _rooms(pool, facts)
    told = []
    for model in pool.spec.models:
        need = _need(pool, model)
        fault = _fault(need, rooms)
        if fault is not None:
            return false(CPU_TIER_FITS, Reason.TOO_LARGE, f"model {model.name}: {fault}")
        told.append(f"model {model.name}: {_told(need, rooms)}")
    if rooms:
        return true(CPU_TIER_FITS, Reason.FITS, "; ".join(told))
    return unknown(
        CPU_TIER_FITS,
        Reason.MACHINE_TYPE_UNKNOWN,
        f"kvtier does not know the memory of machine type {pool.spec.node_pool.machine_type!r}, and no node of the "
        f"pool tells it yet. {'; '.join(told)}",
    )


def _unpinned(pool: KVCachePool, facts: Facts) -> str | None:
    confidential = [node for node in candidates(pool, facts) if node.confidential]
    for model in pool.spec.models:
        engine = versions.facts(model)
        limits = (pool.spec.tiers.cpu_bytes, engine.pinned_tier_gib, engine.version)
        fault = pinning_fault(*limits, confidential=bool(confidential))
        if fault:
            return f"{names(confidential)}: {fault}" if confidential else f"model {model.name}: {fault}"
    return None


def _need(pool: KVCachePool, model: ServedModel) -> _Need:
    tier = pool.spec.tiers.cpu_bytes
    whole = pod_memory(model, tier, versions.facts(model).shm_headroom_gib).reserved
    return _Need(tier, whole - tier, pods_per_node(pool, model), model.wanted_replicas())


def _fault(need: _Need, rooms: Sequence[_Room]) -> str | None:
    """A node that no Pod fits on gets none, and does no harm as long as there are others."""
    usable = [room for room in rooms if need.pods(room)] or rooms[-1:]
    faults = (
        cpu_tier_fault(max(need.pods(room), 1), need.tier, need.beside, room.size, room.whose)
        for room in usable
    )
    return next((fault for fault in faults if fault), None)


def _told(need: _Need, rooms: Sequence[_Room]) -> str:
    """What a node's Pods need, and whether its GPUs lie idle because its memory does not go round."""
    room = next((room for room in rooms if need.pods(room)), None)
    pods = need.most if room is None else need.pods(room)
    demand = f"{pods} x {gib(need.tier)} of CPU tier and {pods} x {gib(need.beside)} beside it"
    if room is None:
        return f"a node has to have more than {demand}"
    fits = f"{demand} fit into the {gib(room.size)} that {room.whose}"
    if pods == need.by_gpu or (need.wanted is not None and need.wanted <= pods):
        return fits
    most = largest_tier(need.by_gpu, need.beside, room.size)
    return f"{fits}, but its GPUs would do for {need.by_gpu} Pods, with tiers of at most {gib(most)}"


def _rooms(pool: KVCachePool, facts: Facts) -> list[_Room]:
    """The sizes of candidate nodes, smallest first, or else that of the machine type; none where nothing is known."""
    told = sorted((node for node in candidates(pool, facts) if node.memory), key=lambda node: node.name)
    sizes = {node.memory // GIB * GIB: f"node {node.name} has for Pods" for node in reversed(told)}
    machine = pool.spec.node_pool.machine_type
    computed = allocatable_memory(machine)
    if not sizes and computed is not None:
        sizes = {computed // GIB * GIB: f"GKE leaves to Pods on {machine}"}
    return sorted(_Room(size, whose) for size, whose in sizes.items())
