"""Expected performance of Managed Lustre."""

from hypothesis import given
from hypothesis import strategies as st

from kvtier.api.quantities import GIB
from kvtier.data.lustre_limits import tiers
from kvtier.sizing.lustre_performance import MetadataRates, iops, metadata_rates, rate, throughput
from unit.tables import table


@table(
    "tier, gib, megabytes",
    {
        "the smallest of 1000": (1000, 9_000, 8_789),
        "the largest of 1000, published as up to 10 TBps": (1000, 10_008_000, 9_773_437),
        "a whole number of TiB": (500, 18_432, 9_000),
        "the smallest of 125": (125, 72_000, 8_789),
        "the smallest of the Dynamic tier": ("Dynamic", 472_000, 11_523),
        "nothing": (1000, 0, 0),
    },
)
def test_throughput(tier: int | str, gib: int, megabytes: int) -> None:
    assert throughput(tier, gib * GIB) == megabytes


@table(
    "tier, gib, expected",
    {
        "they grow with every TiB": (1000, 10_240, (58_000, 56_000)),
        "less in a slower tier": (125, 102_400, (72_500, 70_000)),
        "a size that is not a whole TiB": (1000, 9_000, (50_976, 49_218)),
        "none are published for the Dynamic tier": ("Dynamic", 472_000, None),
    },
)
def test_iops(tier: int | str, gib: int, expected: tuple[int, int] | None) -> None:
    assert iops(tier, gib * GIB) == expected


@table(
    "gib, expected",
    {
        "nothing is published below 72 GBps": (72_000, None),
        "a whole step": (81_000, MetadataRates(410_000, 115_000, 95_000)),
        "nearly two steps": (144_000, MetadataRates(410_000, 115_000, 95_000)),
        "two steps": (153_000, MetadataRates(820_000, 230_000, 190_000)),
    },
)
def test_metadata_rates(gib: int, expected: MetadataRates | None) -> None:
    assert metadata_rates(1000, gib * GIB) == expected


@table(
    "megabytes, text",
    {
        "little": (999, "999 MB/s"),
        "a thousand": (1_000, "1.0 GB/s"),
        "the smallest instance": (8_789, "8.8 GB/s"),
        "hundreds": (281_250, "281.2 GB/s"),
        "just below the next unit": (999_949, "999.9 GB/s"),
        "a value that would be rounded to a thousand": (999_950, "1.0 TB/s"),
        "a lot": (9_773_437, "9.8 TB/s"),
        "nothing": (0, "0 MB/s"),
    },
)
def test_rate(megabytes: int, text: str) -> None:
    assert rate(megabytes) == text


@given(st.sampled_from(tiers()), st.integers(0, 10**8), st.integers(0, 10**6))
def test_more_capacity_never_delivers_less(tier: int | str, gib: int, more: int) -> None:
    small, large = gib * GIB, (gib + more) * GIB
    assert throughput(tier, small) <= throughput(tier, large)
    assert (iops(tier, small) or (0, 0)) <= (iops(tier, large) or (0, 0))
    few, many = metadata_rates(tier, small), metadata_rates(tier, large)
    assert few is None or (many is not None and few.stat <= many.stat)
