"""Capacities of Managed Lustre by tier, compared with the published numbers, which are copied here."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtier.api.quantities import GIB
from kvtier.data.lustre_limits import LUSTRE, Limits, limits, tiers
from unit.tables import table

# docs.cloud.google.com/managed-lustre/docs/performance-tiers and .../increase-capacity (GiB), .../performance
# (IOPS per TiB), as published on the date of the table: min, max, step, threshold, step above it, reads, writes.
PUBLISHED: dict[int | str, tuple[int | None, ...]] = {
    1000: (9_000, 10_008_000, 9_000, 1_530_000, 72_000, 5_800, 5_600),
    500: (18_000, 20_016_000, 18_000, 3_060_000, 144_000, 2_900, 2_800),
    250: (36_000, 40_032_000, 36_000, 6_120_000, 288_000, 1_450, 1_400),
    125: (72_000, 12_240_000, 72_000, 12_240_000, 72_000, 725, 700),
    "Dynamic": (472_000, 84_016_000, 472_000, 84_016_000, 472_000, None, None),
}
EVERY_TIER = pytest.mark.parametrize("tier", PUBLISHED)


def test_the_table_contains_the_published_numbers() -> None:
    assert {tier: tuple(row.model_dump().values()) for tier, row in LUSTRE.tiers.items()} == PUBLISHED
    assert LUSTRE.dynamic_throughput == 25
    assert LUSTRE.metadata.model_dump(by_alias=True) == {
        "perThroughputGBps": 72,
        "stat": 410_000,
        "create": 115_000,
        "delete": 95_000,
    }


@EVERY_TIER
def test_sizes_are_multiples_of_the_step_between_the_limits(tier: int | str) -> None:
    limit = limits(tier)
    allowed = (limit.min, limit.min + limit.step, limit.threshold, limit.max)
    refused = (0, limit.min - limit.step, limit.min + 1, limit.max + limit.step_above)
    assert [limit.allows(gib * GIB) for gib in (*allowed, *refused)] == [True] * 4 + [False] * 4
    assert not limit.allows(limit.min * GIB + 1)


@pytest.mark.parametrize("tier", [250, 500, 1000])
def test_above_the_threshold_only_the_larger_step_is_valid(tier: int) -> None:
    limit = limits(tier)
    first = (limit.threshold // limit.step_above + 1) * limit.step_above
    assert limit.allows(first * GIB)
    assert not limit.allows((limit.threshold + limit.step) * GIB)
    assert not limit.allows((first + limit.step) * GIB)


@table(
    "tier, size, nearest",
    {
        "below the smallest, only the smallest is near": (1000, 1 * GIB, [9000]),
        "above the largest, only the largest is near": (1000, 20_000_000 * GIB, [10008000]),
        "between two sizes both are near": (1000, 10_000 * GIB, [9000, 18000]),
        "one byte more than a size is between two sizes": (1000, 9000 * GIB + 1, [9000, 18000]),
        "just above the threshold, the threshold is near": (1000, 1_530_001 * GIB, [1_530_000, 1_584_000]),
        "far above the threshold, steps are larger": (1000, 1_600_000 * GIB, [1_584_000, 1_656_000]),
        "the last size below the threshold": (1000, 1_529_999 * GIB, [1_521_000, 1_530_000]),
        "another tier has another threshold": (500, 3_060_001 * GIB, [3_060_000, 3_168_000]),
    },
)
def test_nearest(tier: int, size: int, nearest: list[int]) -> None:
    assert limits(tier).nearest(size) == nearest


@given(st.sampled_from(tiers()), st.integers(min_value=1, max_value=13_000_000))
def test_nearest_sizes_are_valid_with_no_valid_size_between(tier: int | str, gib: int) -> None:
    limit = limits(tier)
    near = limit.nearest(gib * GIB)
    assert all(limit.allows(size * GIB) for size in near)
    assert _valid_around(limit, gib) == near


def _valid_around(limit: Limits, gib: int) -> list[int]:
    """The valid sizes next to `gib`, found by a search in steps that divide every valid size."""
    down = range(gib - gib % limit.step, limit.min - 1, -limit.step)
    up = range(gib - gib % limit.step + limit.step, limit.max + 1, limit.step)
    below = next((size for size in down if limit.allows(size * GIB)), None)
    above = next((size for size in up if limit.allows(size * GIB)), None)
    return [size for size in (below, above) if size is not None]


@given(st.sampled_from(tiers()), st.integers(1, 10**8))
def test_a_ceiling_is_a_size_that_an_instance_can_have(tier: int | str, gib: int) -> None:
    limit = limits(tier)
    assert limit.allows(limit.ceiling(gib) * GIB)
    assert limit.ceiling(limit.ceiling(gib)) == limit.ceiling(gib)
