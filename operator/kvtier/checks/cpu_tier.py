"""CPUTierFits: the memory of a node is enough for the CPU tiers of its Pods, and GPUs can pin it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kvtier.api.conditions import CPU_TIER_FITS, Condition, false, true, unknown
from kvtier.api.placement import pods_per_node
from kvtier.api.quantities import GIB, gib
from kvtier.api.reasons import Reason
from kvtier.api.sentences import sentences
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.context import Context, ModelView
from kvtier.facts.model import Node, node_names
from kvtier.sizing.host import allocatable_memory, cpu_tier_fault, largest_tier, pinning_fault, pod_memory


@dataclass(frozen=True, order=True)
class _Room:
    """Bytes that the Pods of one node may use. `of` names the node or the machine type."""

    size: int
    of: str


@dataclass(frozen=True)
class _Need:
    """What one Pod needs, in bytes: its CPU tier, and `beside` for all else.

    `by_gpu` is the number of Pods for which a node has GPUs, `wanted` the number of replicas (None without a limit).
    """

    tier: int
    beside: int
    by_gpu: int
    wanted: int | None

    @property
    def most(self) -> int:
        """Pods that may run on one node at a time: during an update, one more than there are replicas."""
        return self.by_gpu if self.wanted is None else min(self.by_gpu, self.wanted + 1)

    def pods(self, room: _Room) -> int:
        """Pods that the scheduler places on such a node, according to their requests."""
        return min(self.most, room.size // (self.tier + self.beside))


def check(context: Context) -> Condition:
    """Every Pod has its own CPU tier, which the GPUs of its engine share."""
    tier, machine = context.pool.spec.tiers.cpu, context.pool.spec.node_pool.machine_type
    if tier is None:
        return true(CPU_TIER_FITS, Reason.NOT_NEEDED, "The pool has no CPU tier.")
    unpinned = _unpinned(context.models, tier.capacity.bytes, context.nodes)
    return context.pool.spec.decisive(unpinned, _fitting(context, tier.capacity.bytes, machine))


def _fitting(context: Context, tier: int, machine: str | None) -> Condition:
    """Whether the Pods of every model fit on a node, each with `tier` bytes."""
    rooms = _rooms(context.nodes, machine)
    needs = {model.spec.name: _need(context.pool, model, tier) for model in context.models}
    for name, need in needs.items():
        fault = _fault(need, rooms)
        if fault is not None:
            return false(CPU_TIER_FITS, Reason.TOO_LARGE, f"Model {name} does not fit: {fault}")
    demands = sentences(*(f"Model {name}: {_demand(need, rooms)}" for name, need in needs.items()))
    if rooms:
        return true(CPU_TIER_FITS, Reason.FITS, demands)
    of = f"machine type {machine}" if machine else "the nodes (nodePool.machineType is not set)"
    return unknown(
        CPU_TIER_FITS,
        Reason.MACHINE_TYPE_UNKNOWN,
        f"The memory of {of} is unknown, and no node of the pool reports it yet. {demands}",
    )


def _unpinned(models: Iterable[ModelView], tier: int, nodes: Iterable[Node]) -> Condition | None:
    """Why GPUs cannot pin a CPU tier of `tier` bytes, or None."""
    confidential = [node for node in nodes if node.confidential]
    for model in models:
        limits = (tier, model.engine.pinned_tier_gib, model.engine.version)
        fault = pinning_fault(*limits, confidential=bool(confidential))
        if fault:
            who = f"Nodes {node_names(confidential)}" if confidential else f"Model {model.spec.name}"
            return false(CPU_TIER_FITS, Reason.NOT_PINNED, f"{who} cannot use the CPU tier: {fault}")
    return None


def _need(pool: KVCachePool, model: ModelView, tier: int) -> _Need:
    whole = pod_memory(model.spec, tier, model.engine.shm_headroom_gib).reserved
    return _Need(tier, whole - tier, pods_per_node(pool, model.spec), model.spec.wanted_replicas())


def _fault(need: _Need, rooms: Sequence[_Room]) -> str | None:
    """Why the Pods of a model do not fit, or None. Nodes too small for any Pod are ignored if a larger one exists."""
    usable = [room for room in rooms if need.pods(room)] or rooms[-1:]
    faults = (
        cpu_tier_fault(max(need.pods(room), 1), need.tier, need.beside, room.size, room.of) for room in usable
    )
    return next((fault for fault in faults if fault), None)


def _demand(need: _Need, rooms: Sequence[_Room]) -> str:
    """What the Pods of one node need, and whether GPUs stay idle because memory is short."""
    room = next((room for room in rooms if need.pods(room)), None)
    pods = need.most if room is None else need.pods(room)
    demand = f"{pods} x {gib(need.tier)} for CPU tiers and {pods} x {gib(need.beside)} for engines"
    if room is None:
        return f"each node needs more than {demand}."
    fits = f"{demand} fit into the {gib(room.size)} for Pods on {room.of}."
    if pods == need.by_gpu or (need.wanted is not None and need.wanted <= pods):
        return fits
    most = largest_tier(need.by_gpu, need.beside, room.size)
    return f"{fits} Its GPUs could host {need.by_gpu} Pods with CPU tiers of {gib(most)} or less."


def _rooms(nodes: Iterable[Node], machine_type: str | None) -> list[_Room]:
    """The sizes of candidate nodes, smallest first; without nodes, of the machine type; empty if both are unknown."""
    by_name = sorted((node for node in nodes if node.memory), key=lambda node: node.name)
    sizes = {node.memory // GIB * GIB: f"node {node.name}" for node in reversed(by_name)}
    computed = allocatable_memory(machine_type)
    if not sizes and computed is not None:
        sizes = {computed // GIB * GIB: f"{machine_type}"}
    return sorted(_Room(size, of) for size, of in sizes.items())
