"""Local SSD of the machine type against what the Pods of a node are promised."""

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
        "16 disks of 375 GiB leave 5254 GiB to Pods, whose models need some of it": (
            _pool("5118Gi"),
            "True Fits: 1 x 5118Gi and 136Gi beside it (model weights, logs) fit into the 5254Gi that GKE",
        ),
        "a GiB more is too much, and the message has what fits": (
            _pool("5119Gi"),
            "False TooLarge: 1 x 5119Gi and 136Gi beside it (model weights, logs) are more than the 5254Gi that GKE "
            "leaves of 16 Local SSDs for Pods: at most 5118Gi per Pod",
        ),
        "Pods that share a node share its disks": (
            _pool("1280Gi", A3, 2),
            "False TooLarge: 4 x 1280Gi and 136Gi beside it",
        ),
        "of several models, the smallest Pods count": (
            _pool("1280Gi", A3, 8, 2),
            "False TooLarge: 4 x 1280Gi",
        ),
        "the message divides them": (_pool("1Ti", A3, 1), "False TooLarge: at most 639Gi per Pod"),
        "a machine type with a fixed number may be told that number": (_pool("1Ti", disks=16), "True Fits"),
        "another number is refused": (
            _pool("1Ti", disks=8),
            "False FixedDiskCount: a3-highgpu-8g always has 16 Local SSDs: leave nodePool.localSSDCount out",
        ),
        "a machine type of chosen disks has none unless asked": (
            _pool("300Gi", "g2-standard-48"),
            "False NoLocalSSD: g2-standard-48 comes without Local SSD: set nodePool.localSSDCount, choose",
        ),
        "it has the disks that are asked for": (
            _pool("216Gi", "g2-standard-48", 4, disks=1, gpus=4),
            "True Fits: 216Gi and 68Gi beside it (model weights, logs) fit into the 284Gi",
        ),
        "a machine type without Local SSD has none even if asked": (
            _pool("300Gi", "a3-ultragpu-8g-nolssd", disks=8),
            "False NoLocalSSD: a3-ultragpu-8g-nolssd comes without Local SSD: choose another machine type",
        ),
        "an unknown machine type cannot be judged": (
            _pool("300Gi", "z9-futuregpu-8g"),
            "Unknown MachineTypeUnknown: 'z9-futuregpu-8g': set nodePool.localSSDCount",
        ),
        "an unknown machine type with a number is taken at its word": (
            _pool("300Gi", "z9-futuregpu-8g", disks=2),
            "True Fits: 594Gi that GKE leaves of 2 Local SSDs",
        ),
        "existing nodes of no named type cannot be judged": (
            _pool("300Gi", None),
            "Unknown MachineTypeUnknown: set nodePool.localSSDCount",
        ),
        "a name that only begins like a known family is unknown": (
            _pool("300Gi", "g22-standard-4"),
            "Unknown MachineTypeUnknown",
        ),
    },
)
def test_local_ssd(of: KVCachePool, verdict: str) -> None:
    assert_says(check(context(of)), "LocalSSDSupported", verdict)


ALLOCATABLE = 5_642_136_341_201
"""Bytes that a node with 16 Local SSDs had for Pods where eight ranks of 640 GiB each were evicted (LMCache#1399)."""


@table(
    "capacity, allocatable, verdict",
    {
        "eight ranks of 640 GiB and their model do not fit": (
            "5120Gi",
            [ALLOCATABLE],
            "False TooLarge: 1 x 5120Gi and 136Gi beside it (model weights, logs) are more than the 5254Gi that node "
            "gpu-1 has for Pods: at most 5118Gi per Pod",
        ),
        "eight ranks of 639 GiB do": ("5112Gi", [ALLOCATABLE], "True Fits: the 5254Gi that node gpu-1 has"),
        "nodes know better than the table": ("5200Gi", [2 * ALLOCATABLE], "True Fits: 10509Gi"),
        "the smallest node counts": (
            "600Gi",
            [ALLOCATABLE, 700 * GIB],
            "False TooLarge: the 700Gi that node gpu-2 has for Pods: at most 564Gi",
        ),
        "a node that does not report yet does not count": ("600Gi", [0, ALLOCATABLE], "True Fits: gpu-2"),
        "a node without room leaves nothing": ("1Gi", [GIB], "False TooLarge: at most 0Gi per Pod"),
    },
)
def test_local_ssd_of_nodes(capacity: str, allocatable: list[int], verdict: str) -> None:
    of = _pool(capacity)
    nodes = [node(of, f"gpu-{i}", ephemeral_storage=size) for i, size in enumerate(allocatable, start=1)]
    assert_says(check(context(of, facts=facts(*nodes))), "LocalSSDSupported", verdict)
