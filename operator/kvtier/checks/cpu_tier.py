"""CPUTierFits: the memory of nodes holds the CPU tiers of their Pods, and GPUs can pin it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kvtier.api.conditions import CPU_TIER_FITS, Condition, false, true, unknown
from kvtier.api.placement import pods_per_node
from kvtier.api.quantities import GIB, gib
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.context import Context, ModelView
from kvtier.facts.model import Node, node_names
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


def check(context: Context) -> Condition:
    """Every Pod has a tier of its own, which the GPUs of its engine share."""
    tier, machine = context.pool.spec.tiers.cpu, context.pool.spec.node_pool.machine_type
    if tier is None:
        return true(CPU_TIER_FITS, Reason.NOT_NEEDED, "the pool has no CPU tier")
    unpinned = _unpinned(context.models, tier.capacity.bytes, context.nodes)
    if unpinned is not None:
        return false(CPU_TIER_FITS, Reason.NOT_PINNED, unpinned)
    rooms = _rooms(context.nodes, machine)
    needs = {model.spec.name: _need(context.pool, model, tier.capacity.bytes) for model in context.models}
    for name, need in needs.items():
        fault = _fault(need, rooms)
        if fault is not None:
            return false(CPU_TIER_FITS, Reason.TOO_LARGE, f"model {name}: {fault}")
    demands = "; ".join(f"model {name}: {_demand(need, rooms)}" for name, need in needs.items())
    if rooms:
        return true(CPU_TIER_FITS, Reason.FITS, demands)
    return unknown(
        CPU_TIER_FITS,
        Reason.MACHINE_TYPE_UNKNOWN,
        f"kvtier does not know the memory of machine type {machine!r}, and no node of the pool tells it yet. {demands}",
    )


def _unpinned(models: Iterable[ModelView], tier: int, nodes: Iterable[Node]) -> str | None:
    """Why GPUs cannot pin a CPU tier of `tier` bytes, or None."""
    confidential = [node for node in nodes if node.confidential]
    for model in models:
        limits = (tier, model.engine.pinned_tier_gib, model.engine.version)
        fault = pinning_fault(*limits, confidential=bool(confidential))
        if fault:
            return f"{node_names(confidential) or f'model {model.spec.name}'}: {fault}"
    return None


def _need(pool: KVCachePool, model: ModelView, tier: int) -> _Need:
    whole = pod_memory(model.spec, tier, model.engine.shm_headroom_gib).reserved
    return _Need(tier, whole - tier, pods_per_node(pool, model.spec), model.spec.wanted_replicas())


def _fault(need: _Need, rooms: Sequence[_Room]) -> str | None:
    """A node that no Pod fits on gets none, and does no harm as long as there are others."""
    usable = [room for room in rooms if need.pods(room)] or rooms[-1:]
    faults = (
        cpu_tier_fault(max(need.pods(room), 1), need.tier, need.beside, room.size, room.whose)
        for room in usable
    )
    return next((fault for fault in faults if fault), None)


def _demand(need: _Need, rooms: Sequence[_Room]) -> str:
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


def _rooms(nodes: Iterable[Node], machine_type: str | None) -> list[_Room]:
    """The sizes of candidate nodes, smallest first, or else that of the machine type; none where nothing is known."""
    by_name = sorted((node for node in nodes if node.memory), key=lambda node: node.name)
    sizes = {node.memory // GIB * GIB: f"node {node.name} has for Pods" for node in reversed(by_name)}
    computed = allocatable_memory(machine_type)
    if not sizes and computed is not None:
        sizes = {computed // GIB * GIB: f"GKE leaves to Pods on {machine_type}"}
    return sorted(_Room(size, whose) for size, whose in sizes.items())
