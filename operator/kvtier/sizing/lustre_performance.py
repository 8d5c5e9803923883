"""Expected performance of a Managed Lustre instance, from its performance tier and its capacity.

The published numbers are "approximate maximum values", valid below 90 % full. Source:
docs.cloud.google.com/managed-lustre/docs/performance (`data/lustre_tiers.yaml`).
"""

from dataclasses import dataclass

from kvtier.api.quantities import GIB
from kvtier.data.lustre_limits import DYNAMIC, LUSTRE, limits

_TIB = 1024 * GIB
_UNITS = ((999_950, 1_000_000, "TB/s"), (1_000, 1_000, "GB/s"))
"""Smallest MB/s for a unit, MB/s per unit, and its name. 999,950 MB/s would be rounded to 1000.0 GB/s."""


@dataclass(frozen=True)
class MetadataRates:
    """Operations on files per second."""

    stat: int
    create: int
    delete: int


def throughput(tier: int | str, size: int) -> int:
    """MB/s (10^6 bytes) of an instance of `size` bytes: the tier's MBps per TiB times its TiB, rounded down.

    The Dynamic tier has 25 MBps per TiB in total, for its cache and the storage behind it.
    """
    per_tib = LUSTRE.dynamic_throughput if tier == DYNAMIC else int(tier)
    return per_tib * size // _TIB


def iops(tier: int | str, size: int) -> tuple[int, int] | None:
    """Read and write operations per second, which grow with the capacity; None where none are published."""
    row = limits(tier)
    if row.read_iops is None or row.write_iops is None:
        return None
    return row.read_iops * size // _TIB, row.write_iops * size // _TIB


def metadata_rates(tier: int | str, size: int) -> MetadataRates | None:
    """Metadata operations per second, which grow in steps of 72 GBps of throughput.

    None below the first whole step, for which nothing is published.
    """
    each = LUSTRE.metadata
    steps = throughput(tier, size) // (each.throughput * 1000)
    return MetadataRates(steps * each.stat, steps * each.create, steps * each.delete) if steps else None


def rate(megabytes: int) -> str:
    """A throughput in MB/s in a readable unit: `8.8 GB/s`."""
    for least, one, unit in _UNITS:
        if megabytes >= least:
            return f"{megabytes / one:.1f} {unit}"
    return f"{megabytes} MB/s"
