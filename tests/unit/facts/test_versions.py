"""GKE versions are parsed and ordered by number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtier.data import table as data
from kvtier.facts import versions
from kvtier.facts.versions import GKEVersion, parse
from unit.tables import table


@table(
    "text, version",
    {
        "the API server's version": ("v1.35.6-gke.1049000", (1, 35, 6, 1049000)),
        "the GKE API's version, without v": ("1.35.6-gke.1049000", (1, 35, 6, 1049000)),
        "space around it is ignored": (" v1.35.6-gke.1049000\n", (1, 35, 6, 1049000)),
        "build 0": ("1.33.0-gke.0", (1, 33, 0, 0)),
        "a two-digit patch": ("v1.33.12-gke.7", (1, 33, 12, 7)),
        "numbers beyond 64 bits": ("v1.33.2-gke.99999999999999999999", (1, 33, 2, 99999999999999999999)),
    },
)
def test_a_gke_version_is_parsed(text: str, version: tuple[int, int, int, int]) -> None:
    assert parse(text) == GKEVersion(*version)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "v",
        "34+",
        "v1.36.3",
        "1.35",
        "v1.33.2+k0s",
        "v1.33.2-eks-1",
        "v1.33.2-gke",
        "v1.33.2-gke.",
        "v1.33.2-gke.1.2",
        "v1.33.2-gke.1049000-dirty",
        "v1.33.2-alpha.1-gke.1",
        "vv1.33.2-gke.1",
        "1.-2.3-gke.1",
        "v1.33.٢-gke.1",
        "v1.33.2-gke." + "9" * 5000,
    ],
)
def test_other_text_is_not_a_gke_version(text: str) -> None:
    assert parse(text) is None


@table(
    "older, newer",
    {
        "builds are numbers": ("1.33.2-gke.999", "1.33.2-gke.1111000"),
        "patches are numbers": ("1.33.9-gke.0", "1.33.10-gke.0"),
        "minors are numbers": ("1.9.0-gke.0", "1.33.0-gke.0"),
        "a patch has priority over a build": ("1.33.2-gke.9999999", "1.33.3-gke.1"),
        "a minor has priority over a patch": ("1.33.99-gke.1", "1.34.0-gke.1"),
        "a major has priority over a minor": ("1.99.0-gke.1", "2.0.0-gke.1"),
    },
)
def test_versions_are_ordered_by_number(older: str, newer: str) -> None:
    first, second = parse(older), parse(newer)
    assert first is not None
    assert second is not None
    assert first < second


@given(st.tuples(*[st.integers(min_value=0, max_value=10**9)] * 4))
def test_a_version_is_written_in_the_form_in_which_it_is_parsed(numbers: tuple[int, int, int, int]) -> None:
    assert parse(str(GKEVersion(*numbers))) == GKEVersion(*numbers)


@pytest.mark.parametrize("name", data("gke_versions")["gates"])
def test_every_gate_of_the_table_is_a_version(name: str) -> None:
    assert versions.gate(name) > GKEVersion(1, 30, 0, 0)


@pytest.mark.parametrize("name", data("gke_versions")["defects"])
def test_every_defect_ends_after_it_begins(name: str) -> None:
    broken, fixed = versions.defect(name)
    assert broken < fixed
