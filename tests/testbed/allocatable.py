"""What GKE leaves of a node for Pods, by its published reservation rules."""

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
