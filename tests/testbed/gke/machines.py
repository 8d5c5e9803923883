"""Compute Engine machine types of the simulated cluster, and their resources for Pods on GKE."""

from dataclasses import dataclass

LOCAL_SSD_GIB = 375
_H100, _H100_MEGA, _H200 = "nvidia-h100-80gb", "nvidia-h100-mega-80gb", "nvidia-h200-141gb"
_MIB_PER_GIB = 1024
# (up to so many GiB or CPUs, share reserved)
_MEMORY_STEPS = ((4, 0.25), (8, 0.20), (16, 0.10), (128, 0.06), (float("inf"), 0.02))
_CPU_STEPS = ((1, 0.06), (2, 0.01), (4, 0.005), (float("inf"), 0.0025))
_EVICTION_MIB = 100
_BOOT_DISK_GIB = 100
_BOOT_DISK_ALLOCATABLE_GIB = 47
_SSD_RESERVED_GIB = {1: 50, 2: 75}
_SSD_RESERVED_MOST_GIB = 100
_SSD_EVICTION_SHARE = 0.10


@dataclass(frozen=True)
class Machine:
    """The resources of a machine type. ``local_ssds`` are always attached to it."""

    name: str
    cpus: int
    memory_gib: int
    gpu_type: str = ""
    gpus: int = 0
    local_ssds: int = 0

    @property
    def family(self) -> str:
        """The machine family, such as a3."""
        return self.name.partition("-")[0]


MACHINES = {
    machine.name: machine
    for machine in (
        Machine("e2-standard-4", 4, 16),
        Machine("n2-standard-8", 8, 32),
        Machine("c3-standard-8-lssd", 8, 32, local_ssds=2),
        Machine("g2-standard-12", 12, 48, "nvidia-l4", 1),
        Machine("g2-standard-24", 24, 96, "nvidia-l4", 2),
        Machine("g2-standard-48", 48, 192, "nvidia-l4", 4),
        Machine("a2-highgpu-1g", 12, 85, "nvidia-tesla-a100", 1),
        Machine("a2-highgpu-8g", 96, 680, "nvidia-tesla-a100", 8),
        Machine("a2-ultragpu-1g", 12, 170, "nvidia-a100-80gb", 1, 1),
        Machine("a2-ultragpu-8g", 96, 1360, "nvidia-a100-80gb", 8, 8),
        Machine("a3-highgpu-1g", 26, 234, _H100, 1, 2),
        Machine("a3-highgpu-2g", 52, 468, _H100, 2, 4),
        Machine("a3-highgpu-4g", 104, 936, _H100, 4, 8),
        Machine("a3-highgpu-8g", 208, 1872, _H100, 8, 16),
        Machine("a3-megagpu-8g", 208, 1872, _H100_MEGA, 8, 16),
        Machine("a3-ultragpu-8g", 224, 2952, _H200, 8, 32),
        Machine("a4-highgpu-8g", 224, 3968, "nvidia-b200", 8, 32),
    )
}


def memory_mib(capacity_gib: int) -> int:
    """Allocatable memory."""
    reserved = _stepped(capacity_gib, _MEMORY_STEPS) * _MIB_PER_GIB
    return capacity_gib * _MIB_PER_GIB - int(reserved) - _EVICTION_MIB


def cpu_millis(cpus: int) -> int:
    """Allocatable CPU."""
    return cpus * 1000 - round(_stepped(cpus, _CPU_STEPS) * 1000)


def ephemeral_gib(local_ssds: int, ssd_gib: int) -> tuple[int, int]:
    """Capacity and allocatable ephemeral storage: on the Local SSDs if there are any."""
    if not local_ssds:
        return _BOOT_DISK_GIB, _BOOT_DISK_ALLOCATABLE_GIB
    capacity = local_ssds * ssd_gib
    reserved = _SSD_RESERVED_GIB.get(local_ssds, _SSD_RESERVED_MOST_GIB)
    return capacity, int(capacity * (1 - _SSD_EVICTION_SHARE)) - reserved


def _stepped(amount: float, steps: tuple[tuple[float, float], ...]) -> float:
    reserved, below = 0.0, 0.0
    for limit, share in steps:
        reserved += max(0.0, min(amount, limit) - below) * share
        below = limit
    return reserved
