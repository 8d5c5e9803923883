"""Capacities by tier. The table is the test bed's own: it checks the product's, which comes from the same pages."""

from dataclasses import dataclass

from testbed.google_faults import Object
from testbed.lustre_documents import invalid, number

_DYNAMIC_MODES = ("DEFAULT_CACHE", 2)


@dataclass(frozen=True)
class Tier:
    """Capacities in GiB: ``least`` to ``most``, in steps of ``step`` up to ``threshold``, of ``stride`` above."""

    least: int
    most: int
    step: int
    threshold: int
    stride: int

    def check(self, gib: int, created: int = 0) -> None:
        """Refuse a capacity; one ``created`` at or below the threshold (0: new) cannot outgrow it."""
        step = self.step if gib <= self.threshold else self.stride
        if not self.least <= gib <= self.most:
            raise invalid(f"invalid capacity_gib {gib}: must be between {self.least} and {self.most}")
        if gib % step:
            raise invalid(f"invalid capacity_gib {gib}: must be a multiple of {step}")
        if 0 < created <= self.threshold < gib:
            raise invalid(f"invalid capacity_gib {gib}: this instance cannot grow beyond {self.threshold}")


# MBps per TiB; 0 is the Dynamic tier.
TIERS = {
    1000: Tier(9_000, 10_008_000, 9_000, 1_530_000, 72_000),
    500: Tier(18_000, 20_016_000, 18_000, 3_060_000, 144_000),
    250: Tier(36_000, 40_032_000, 36_000, 6_120_000, 288_000),
    125: Tier(72_000, 12_240_000, 72_000, 12_240_000, 72_000),
    0: Tier(472_000, 84_016_000, 472_000, 84_016_000, 472_000),
}


def tier_of(document: Object) -> Tier:
    """The tier of an instance; no throughput and no Dynamic mode is no tier."""
    throughput = number(document.get("perUnitStorageThroughput", 0), "per_unit_storage_throughput")
    dynamic = (document.get("dynamicTierOptions") or {}).get("mode") in _DYNAMIC_MODES
    if dynamic and throughput:
        raise invalid("per_unit_storage_throughput must not be set when the Dynamic tier is enabled")
    if not dynamic and throughput not in {125, 250, 500, 1000}:
        raise invalid(f"invalid per_unit_storage_throughput {throughput}: must be 125, 250, 500 or 1000")
    return TIERS[throughput]
