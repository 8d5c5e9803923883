"""Capacities of Managed Lustre, tier by tier, against the table of published limits."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from kvtier.api.quantities import GIB
from kvtier.data import table as data
from kvtier.data.lustre_limits import Limits, limits
from unit.builders import pool
from unit.tables import table

TIERS: dict[Any, dict[str, int]] = data("lustre_tiers")["tiers"]
EVERY_TIER = pytest.mark.parametrize("tier", TIERS)


@EVERY_TIER
def test_limits_are_those_of_the_table(tier: Any) -> None:
    row, limit = TIERS[tier], limits(tier)
    assert limit.allows(row["min"] * GIB)
    assert limit.allows(row["max"] * GIB)
    assert limit.allows(row["threshold"] * GIB)
    assert limit.allows((row["min"] + row["step"]) * GIB)
    assert not limit.allows((row["min"] - row["step"]) * GIB)
    assert not limit.allows((row["max"] + row["stepAbove"]) * GIB)
    assert not limit.allows((row["min"] + 1) * GIB)
    assert not limit.allows(row["min"] * GIB + 1)
    assert not limit.allows(0)


@pytest.mark.parametrize("tier", [tier for tier, row in TIERS.items() if row["threshold"] < row["max"]])
def test_above_the_threshold_only_the_larger_step_counts(tier: int) -> None:
    row, limit = TIERS[tier], limits(tier)
    first = (row["threshold"] // row["stepAbove"] + 1) * row["stepAbove"]
    assert limit.allows(first * GIB)
    assert not limit.allows((row["threshold"] + row["step"]) * GIB)
    assert not limit.allows((first + row["step"]) * GIB)


@table(
    "tier, size, nearest",
    {
        "below the smallest there is only the smallest": (1000, 1 * GIB, [9000]),
        "above the largest there is only the largest": (1000, 20_000_000 * GIB, [10008000]),
        "between two sizes both are near": (1000, 10_000 * GIB, [9000, 18000]),
        "a byte more than a size counts as between": (1000, 9000 * GIB + 1, [9000, 18000]),
        "just above the threshold, the threshold is near": (1000, 1_530_001 * GIB, [1_530_000, 1_584_000]),
        "far above it steps are larger": (1000, 1_600_000 * GIB, [1_584_000, 1_656_000]),
        "the last size below the threshold": (1000, 1_529_999 * GIB, [1_521_000, 1_530_000]),
        "another tier has another threshold": (500, 3_060_001 * GIB, [3_060_000, 3_168_000]),
    },
)
def test_nearest(tier: int, size: int, nearest: list[int]) -> None:
    assert limits(tier).nearest(size) == nearest


@given(st.sampled_from(list(TIERS)), st.integers(min_value=1, max_value=13_000_000))
def test_nearest_sizes_are_valid_and_nothing_valid_lies_between(tier: int, gib: int) -> None:
    limit = limits(tier)
    near = limit.nearest(gib * GIB)
    assert all(limit.allows(size * GIB) for size in near)
    assert _valid_around(limit, gib) == near


def _valid_around(limit: Limits, gib: int) -> list[int]:
    """The valid sizes next to `gib`, found by walking away from it in steps that every size is made of."""
    down = range(gib - gib % limit.step, limit.min - 1, -limit.step)
    up = range(gib - gib % limit.step + limit.step, limit.max + 1, limit.step)
    below = next((size for size in down if limit.allows(size * GIB)), None)
    above = next((size for size in up if limit.allows(size * GIB)), None)
    return [size for size in (below, above) if size is not None]


@table(
    "field, value",
    {
        "a network needs its full name": ("network", "default"),
        "a network is global": ("network", "projects/p1/regions/us-central1/networks/default"),
        "a zone is no region": ("zone", "us-central1"),
        "a throughput is one of four": ("throughputPerTiB", 750),
        "a file system name begins with a letter": ("filesystem", "1cache"),
        "a file system name has at most 8 characters": ("filesystem", "ninechars"),
        "a file system name has letters and digits only": ("filesystem", "kv-cache"),
        "a capacity is a whole number": ("capacity", "9000.5Gi"),
        "a capacity has a unit": ("capacity", "9000"),
        "a capacity is positive": ("capacity", "0Gi"),
    },
)
def test_a_value_of_the_wrong_shape_is_refused(field: str, value: Any) -> None:
    with pytest.raises(ValidationError) as refusal:
        pool(tiers={"lustre": {field: value}})
    assert {problem["loc"][:4] for problem in refusal.value.errors()} == {("spec", "tiers", "lustre", field)}
