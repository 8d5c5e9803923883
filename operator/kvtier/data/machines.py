"""GPUs and machine types of GKE: their resources, and what is left for Pods, typed."""

from typing import Annotated

from pydantic import Field

from kvtier.data import Row, Table, table


class AcceleratorTable(Table):
    """All of `data/accelerators.yaml`: compute capability times ten, and GB of memory."""

    capability: dict[str, int]
    memory_gb: dict[str, int]
    other_memory_gb: int


class Reserved(Row):
    """The share of memory that GKE reserves between the step before and `below` GiB."""

    below: int | None = None
    share: float


class NodeMemoryTable(Table):
    """All of `data/node_memory.yaml`."""

    memory_gib: dict[str, int]
    reserved: tuple[Reserved, ...]
    eviction_mib: int
    tier_share: float


class MachineTypeTable(Table):
    """All of `data/machine_types.yaml`: Local SSDs of `disk_gib` GiB by machine type.

    `attached`: a fixed number. `without`: never any. `selectable`: families for which users choose the number. GKE
    reserves `reserved_gib` GiB by number of disks. Pods need `beside_gib_per_gpu` GiB besides their cache.
    """

    disk_gib: int
    attached: dict[str, int]
    without: Annotated[frozenset[str], Field(alias="none")]
    selectable: tuple[str, ...]
    filesystem: float
    eviction_share: float
    reserved_gib: dict[int, int]
    beside_gib_per_gpu: Annotated[int, Field(alias="besideGibPerGPU")]


ACCELERATORS = AcceleratorTable.model_validate(table("accelerators"))
MACHINE_TYPES = MachineTypeTable.model_validate(table("machine_types"))
NODE_MEMORY = NodeMemoryTable.model_validate(table("node_memory"))
