"""Sizes are parsed exactly and written the way the API server writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtier.api.quantities import GIB, canonical, gib, parse
from unit.tables import table


@table(
    "text, size",
    {
        "a number alone is bytes": ("1000", 1000),
        "Gi counts in powers of two": ("9000Gi", 9000 * 2**30),
        "G counts in powers of ten": ("9000G", 9000 * 10**9),
        "k is a small letter": ("5k", 5000),
        "Ki has a capital letter": ("5Ki", 5120),
        "Ei is the largest unit": ("2Ei", 2 * 2**60),
        "0 is 0 bytes": ("0", 0),
    },
)
def test_a_quantity_is_parsed_to_bytes(text: str, size: int) -> None:
    assert parse(text) == size


@pytest.mark.parametrize(
    "text", ["", "Gi", "1.5Gi", "-1Gi", " 1Gi", "1Gi ", "1gi", "1KI", "1e3", "100m", "1Gib"]
)
def test_anything_else_is_refused_and_named_in_the_error(text: str) -> None:
    with pytest.raises(ValueError, match="is not a whole number with a unit") as refusal:
        parse(text)
    assert repr(text) in str(refusal.value)


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
