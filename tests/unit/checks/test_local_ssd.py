"""Local SSD of the machine type against what the Pods of a node are promised."""

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.checks.local_ssd import check, pods_per_node
from unit.builders import facts, model, pool
from unit.tables import table
from unit.verdicts import assert_verdict


def _pool(
    capacity: str, machine: str | None, disks: int | None = None, *sizes: int, gpus: int = 8
) -> KVCachePool:
    nodes = {"machineType": machine, "localSSDCount": disks, "accelerator": {"count": gpus}}
    nodes |= {} if machine else {"provisioner": "Existing"}
    models = [model(name=f"m{size}", tensorParallelSize=size) for size in sizes or (8,)]
    return pool(tiers={"localSSD": {"capacity": capacity}}, nodePool=nodes, models=models)


@table(
    "of, verdict",
    {
        "without the tier no disk is needed": (pool(), ("True", "NotNeeded", "")),
        "16 disks of 375 GiB leave 5400 GiB for one Pod": (
            _pool("5400Gi", "a3-highgpu-8g"),
            ("True", "Fits", "1 x 5400Gi of 5400Gi on every node"),
        ),
        "a GiB more is too much, and the message has what fits": (
            _pool("5401Gi", "a3-highgpu-8g"),
            (
                "False",
                "TooLarge",
                "1 x 5401Gi on every node is more than the 5400Gi that 16 Local SSDs leave for",
            ),
        ),
        "Pods that share a node share its disks": (
            _pool("1351Gi", "a3-highgpu-8g", None, 2),
            ("False", "TooLarge", "4 x 1351Gi on every node is more than the 5400Gi"),
        ),
        "the message divides them": (
            _pool("1Ti", "a3-highgpu-8g", None, 1),
            ("False", "TooLarge", "at most 675Gi per Pod"),
        ),
        "a machine type with a fixed number may be told that number": (
            _pool("1Ti", "a3-highgpu-8g", 16),
            ("True", "Fits", ""),
        ),
        "another number is refused": (
            _pool("1Ti", "a3-highgpu-8g", 8),
            (
                "False",
                "FixedDiskCount",
                "a3-highgpu-8g always has 16 Local SSDs: leave nodePool.localSSDCount out",
            ),
        ),
        "a machine type of chosen disks has none unless asked": (
            _pool("300Gi", "g2-standard-48"),
            (
                "False",
                "NoLocalSSD",
                "g2-standard-48 comes without Local SSD: set nodePool.localSSDCount, choose",
            ),
        ),
        "it has the disks that are asked for": (
            _pool("337Gi", "g2-standard-48", 1),
            ("True", "Fits", "of 337Gi"),
        ),
        "a machine type without Local SSD has none even if asked": (
            _pool("300Gi", "a3-ultragpu-8g-nolssd", 8),
            (
                "False",
                "NoLocalSSD",
                "a3-ultragpu-8g-nolssd comes without Local SSD: choose another machine type",
            ),
        ),
        "an unknown machine type cannot be judged": (
            _pool("300Gi", "z9-futuregpu-8g"),
            ("Unknown", "MachineTypeUnknown", "'z9-futuregpu-8g': set nodePool.localSSDCount"),
        ),
        "an unknown machine type with a number is taken at its word": (
            _pool("300Gi", "z9-futuregpu-8g", 2),
            ("True", "Fits", "of 675Gi"),
        ),
        "existing nodes of no named type cannot be judged": (
            _pool("300Gi", None),
            ("Unknown", "MachineTypeUnknown", "set nodePool.localSSDCount"),
        ),
        "a name that only begins like a known family is unknown": (
            _pool("300Gi", "g22-standard-4"),
            ("Unknown", "MachineTypeUnknown", ""),
        ),
    },
)
def test_local_ssd(of: KVCachePool, verdict: tuple[str, str, str]) -> None:
    assert_verdict(check(of, facts()), "LocalSSDSupported", *verdict)


@table(
    "of, pods",
    {
        "a Pod with all GPUs is alone": (_pool("1Ti", "a3-highgpu-8g", None, 8), 1),
        "the smallest model counts": (_pool("1Ti", "a3-highgpu-8g", None, 8, 2), 4),
        "GPUs that are left over make no Pod": (_pool("1Ti", "a3-highgpu-8g", None, 3), 2),
    },
)
def test_pods_per_node(of: KVCachePool, pods: int) -> None:
    assert pods_per_node(of) == pods
