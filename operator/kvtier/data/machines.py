"""GPUs and machine types of GKE: what they have, and what is left of it for Pods, typed."""

from kvtier.data import Row, Table, table


class AcceleratorTable(Table):
    """All of `data/accelerators.yaml`: compute capability times ten, and GB of memory."""

    capability: dict[str, int]
    memory_gb: dict[str, int]
    other_memory_gb: int


class Reserved(Row):
    """The share that GKE keeps of the memory below `below` GiB, and above the step before."""

    below: int | None = None
    share: float


class NodeMemoryTable(Table):
    """All of `data/node_memory.yaml`."""

    memory_gib: dict[str, int]
    reserved: tuple[Reserved, ...]
    eviction_mib: int
    tier_share: float


ACCELERATORS = AcceleratorTable.model_validate(table("accelerators"))
NODE_MEMORY = NodeMemoryTable.model_validate(table("node_memory"))
