"""Sizes are parsed exactly and written the way the API server writes them."""

import math
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kvtier.api.quantities import GIB, canonical, gib, parse, read
from unit.tables import table

SCALES = {
    "": Fraction(1),
    **{unit: Fraction(10) ** (3 * power) for power, unit in enumerate("num", start=-3)},
    **{unit: Fraction(10) ** (3 * power) for power, unit in enumerate("kMGTPE", start=1)},
    **{f"{unit}i": Fraction(1024) ** power for power, unit in enumerate("KMGTPE", start=1)},
}


# What ParseQuantity and AsDec of k8s.io/apimachinery v0.36.3 return, with parts of a byte rounded away from zero.
APIMACHINERY = {
    "0": 0,
    "5.": 5,
    ".5": 1,
    "1.G": 10**9,
    "1.5Gi": 1_610_612_736,
    ".5Gi": 536_870_912,
    "+1Gi": 2**30,
    "-1Gi": -(2**30),
    "-1500m": -2,
    "1500m": 2,
    "100m": 1,
    "1u": 1,
    "1n": 1,
    "0.1n": 1,
    "1e3": 1000,
    "1E3": 1000,
    "1e+3": 1000,
    "1e-3": 1,
    "1.5e3": 1500,
    "1.5e-3": 1,
    "1e-30": 1,
    "9e12": 9 * 10**12,
    "10e12": 10**13,
    "1E13": 10**13,
    "1E": 10**18,
    "5k": 5000,
    "5Ki": 5120,
    "000012Gi": 12 * 2**30,
    "00.10Gi": 107_374_183,
    "0.5Ki": 512,
    "0.0001Ki": 1,
    "1.0000001Mi": 1_048_577,
    "9000Gi": 9000 * 2**30,
    "7Ei": 7 * 2**60,
    "8Ei": 2**63 - 1,
    "9223372036854775807": 2**63 - 1,
    "1e4294967299": 1000,
}


@pytest.mark.parametrize(("text", "size"), APIMACHINERY.items())
def test_every_quantity_of_kubernetes_is_read_as_kubernetes_reads_it(text: str, size: int) -> None:
    assert parse(text) == read(text) == size


MALFORMED = """
. + Gi 1gi 1KI 1e 1ee3 1Ke3 1e3k 1Gib 1mi --1 1.2.3 1_000 0x10 \uff11Gi 1e1.5
"""


@pytest.mark.parametrize("text", ["", " 1Gi", "1Gi ", *MALFORMED.split()])
def test_anything_else_is_refused_and_named_in_the_error(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity") as refusal:
        parse(text)
    assert repr(text) in str(refusal.value)
    assert read(text) == 0


@pytest.mark.parametrize("value", [None, [], {}, 0.0, False])
def test_a_live_object_without_a_quantity_has_none_of_it(value: object) -> None:
    assert read(value) == 0


@table(
    "text, size",
    {
        "an exponent that no number has room for": ("1e999999", 2**63 - 1),
        "the largest exponent": ("1e2147483647", 2**63 - 1),
        "the smallest exponent": ("-1e-2147483648", -1),
        "a million digits": ("9" * 1_000_000 + "Ei", 2**63 - 1),
        "a million digits after the point": ("0." + "0" * 1_000_000 + "1", 1),
        "an exponent of a million zeros": ("1e" + "0" * 1_000_000 + "3", 1000),
        "an exponent of a million digits": ("1e" + "9" * 1_000_000, 0),
        "a million digits, and then no unit": ("1" * 1_000_000 + "!", 0),
    },
)
@pytest.mark.timeout(10)
def test_an_absurd_number_takes_no_time_and_no_memory(text: str, size: int) -> None:
    assert read(text) == size


_DIGITS = st.text("0123456789", max_size=40)
_SUFFIX = st.sampled_from(["", *"numkMGTPE", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"])


@given(st.sampled_from(["", "+", "-"]), _DIGITS, _DIGITS, st.integers(-40, 40) | _SUFFIX)
def test_a_quantity_is_its_exact_value_rounded_away_from_zero(
    sign: str, whole: str, part: str, scale: int | str
) -> None:
    assume(whole or part)
    unit = Fraction(10) ** scale if isinstance(scale, int) else SCALES[scale]
    exact = Fraction(f"{whole or 0}.{part or 0}") * unit
    size = min(math.ceil(exact), 2**63 - 1)
    text = f"{sign}{whole}.{part}" + (f"e{scale}" if isinstance(scale, int) else scale)
    assert parse(text) == (-size if sign == "-" else size)


@table(
    "given, spelled",
    {
        "1024Mi becomes 1Gi": ("1024Mi", "1Gi"),
        "9216000Mi becomes 9000Gi": ("9216000Mi", "9000Gi"),
        "9000Gi stays, because it is not a whole number of Ti": ("9000Gi", "9000Gi"),
        "18432Gi becomes 18Ti": ("18432Gi", "18Ti"),
        "1536Mi stays, because it is not a whole number of Gi": ("1536Mi", "1536Mi"),
        "100G gets a binary unit": ("100G", "97656250Ki"),
        "100M stays, because no binary unit fits": ("100M", "100M"),
        "1000000 becomes 1M": ("1000000", "1M"),
        "1000 becomes 1k": ("1000", "1k"),
        "a size that no unit fits stays a number": ("36607222016", "36607222016"),
        "fewer bytes than a unit stay a number": ("512", "512"),
        "0 stays 0": ("0", "0"),
    },
)
def test_the_canonical_form_is_the_form_of_the_api_server(given: str, spelled: str) -> None:
    assert canonical(parse(given)) == spelled


@given(st.integers(min_value=0, max_value=2**63 - 1))
def test_the_canonical_form_is_the_same_number_of_bytes(size: int) -> None:
    assert parse(canonical(size)) == size


@given(
    st.integers(min_value=0, max_value=9_999), st.sampled_from(["", "k", "M", "G", "Ki", "Mi", "Gi", "Ti"])
)
def test_the_canonical_form_of_a_canonical_form_is_the_same(number: int, unit: str) -> None:
    once = canonical(parse(f"{number}{unit}"))
    assert canonical(parse(once)) == once


@table(
    "size, shown",
    {
        "whole GiB are shown in Gi, never in Ti": (18432 * GIB, "18432Gi"),
        "other sizes are shown in the canonical form": (GIB // 2, "512Mi"),
    },
)
def test_lustre_sizes_are_shown_in_gi(size: int, shown: str) -> None:
    assert gib(size) == shown
