"""Local SSDs of a node, and what its Pods need."""

from kvtier.api.quantities import GIB
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.checks.local_ssd import check
from unit.builders import context, facts, model, node, pool
from unit.tables import table
from unit.verdicts import assert_says

A3 = "a3-highgpu-8g"


def _pool(
    capacity: str, machine: str | None = A3, *sizes: int, disks: int | None = None, gpus: int = 8
) -> KVCachePool:
    nodes = {"machineType": machine, "localSSDCount": disks, "accelerator": {"count": gpus}}
    nodes |= {} if machine else {"provisioner": "Existing"}
    models = [model(name=f"m{size}", tensorParallelSize=size) for size in sizes or (8,)]
    return pool(tiers={"localSSD": {"capacity": capacity}}, nodePool=nodes, models=models)


@table(
    "of, verdict",
    {
        "without the tier no disk is needed": (pool(), "True NotNeeded"),
        "16 disks of 375 GiB leave 5254 GiB for cache files, model weights and logs": (
            _pool("5118Gi"),
            "True Fits: 1 x 5118Gi for cache files and 136Gi for model weights and logs fit into the 5254Gi for Pods "
            "on Local SSD (16 x 375Gi).",
        ),
        "one more GiB is too large, and the message contains the limit": (
            _pool("5119Gi"),
            "False TooLarge: 1 x 5119Gi for cache files and 136Gi for model weights and logs do not fit into the "
            "5254Gi "
            "for Pods on Local SSD (16 x 375Gi). Reduce tiers.localSSD.capacity to 5118Gi or less.",
        ),
        "the tiers of Pods on one node are added up": (
            _pool("1280Gi", A3, 2),
            "False TooLarge: 4 x 1280Gi for cache files and 136Gi for",
        ),
        "of several models, the one with most Pods per node counts": (
            _pool("1280Gi", A3, 8, 2),
            "False TooLarge: 4 x 1280Gi",
        ),
        "the limit is per Pod": (_pool("1Ti", A3, 1), "False TooLarge: capacity to 639Gi or less."),
        "localSSDCount may repeat the fixed number of a machine type": (_pool("1Ti", disks=16), "True Fits"),
        "another number is refused": (
            _pool("1Ti", disks=8),
            "False FixedDiskCount: a3-highgpu-8g always has 16 Local SSDs. Remove nodePool.localSSDCount.",
        ),
        "a machine type with optional disks has none without localSSDCount": (
            _pool("300Gi", "g2-standard-48"),
            "False NoLocalSSD: g2-standard-48 has no Local SSD. Set nodePool.localSSDCount, choose",
        ),
        "it has the disks of localSSDCount": (
            _pool("216Gi", "g2-standard-48", 4, disks=1, gpus=4),
            "True Fits: 216Gi for cache files and 68Gi for model weights and logs fit into the 284Gi",
        ),
        "a machine type without Local SSD ignores localSSDCount": (
            _pool("300Gi", "a3-ultragpu-8g-nolssd", disks=8),
            "False NoLocalSSD: a3-ultragpu-8g-nolssd has no Local SSD. Choose another machine type",
        ),
        "the disks of an unknown machine type are unknown": (
            _pool("300Gi", "z9-futuregpu-8g"),
            "Unknown MachineTypeUnknown: machine type z9-futuregpu-8g are unknown. Set nodePool.localSSDCount.",
        ),
        "an unknown machine type has the disks of localSSDCount": (
            _pool("300Gi", "z9-futuregpu-8g", disks=2),
            "True Fits: 594Gi for Pods on Local SSD (2 x 375Gi).",
        ),
        "the disks of existing nodes without a machine type are unknown": (
            _pool("300Gi", None),
            "Unknown MachineTypeUnknown: The Local SSDs of the nodes (no machineType) are unknown. Set "
            "nodePool.localSSDCount.",
        ),
        "a machine type that only starts like a known family is unknown": (
            _pool("300Gi", "g22-standard-4"),
            "Unknown MachineTypeUnknown",
        ),
    },
)
def test_local_ssd(of: KVCachePool, verdict: str) -> None:
    assert_says(check(context(of)), "LocalSSDSupported", verdict)


ALLOCATABLE = 5_642_136_341_201
"""Allocatable bytes of a node with 16 Local SSDs that evicted a Pod with eight ranks of 640 GiB (LMCache#1399)."""


@table(
    "capacity, allocatable, verdict",
    {
        "eight ranks of 640 GiB and their model do not fit": (
            "5120Gi",
            [ALLOCATABLE],
            "False TooLarge: 1 x 5120Gi for cache files and 136Gi for model weights and logs do not fit into the "
            "5254Gi "
            "for Pods on node gpu-1. Reduce tiers.localSSD.capacity to 5118Gi or less.",
        ),
        "eight ranks of 639 GiB fit": (
            "5112Gi",
            [ALLOCATABLE],
            "True Fits: the 5254Gi for Pods on node gpu-1.",
        ),
        "nodes have priority over the table": ("5200Gi", [2 * ALLOCATABLE], "True Fits: 10509Gi"),
        "the smallest node counts": (
            "600Gi",
            [ALLOCATABLE, 700 * GIB],
            "False TooLarge: the 700Gi for Pods on node gpu-2. Reduce tiers.localSSD.capacity to 564Gi",
        ),
        "a node that does not report yet does not count": ("600Gi", [0, ALLOCATABLE], "True Fits: gpu-2"),
        "a node without space for any tier": (
            "1Gi",
            [GIB],
            "False TooLarge: the 1Gi for Pods on node gpu-1. Use nodes with more Local SSD.",
        ),
    },
)
def test_local_ssd_of_nodes(capacity: str, allocatable: list[int], verdict: str) -> None:
    of = _pool(capacity)
    nodes = [node(of, f"gpu-{i}", ephemeral_storage=size) for i, size in enumerate(allocatable, start=1)]
    assert_says(check(context(of, facts=facts(*nodes))), "LocalSSDSupported", verdict)
