"""Every derived name is valid where it is used, and unique to its input."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtier.api.names import claim, derive, digest, filesystem, label_value

_LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")

POOL_NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", fullmatch=True)
NAMESPACES = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True)


@given(NAMESPACES, POOL_NAMES, st.sampled_from([20, 40, 52, 63]))
def test_a_derived_name_is_a_dns_label_within_its_limit(namespace: str, name: str, limit: int) -> None:
    derived = derive(namespace, name, limit=limit)
    assert _LABEL.fullmatch(derived)
    assert len(derived) <= limit


@given(
    st.lists(st.lists(POOL_NAMES, min_size=1, max_size=3).map(tuple), unique=True, min_size=2, max_size=20)
)
def test_different_inputs_have_different_names(inputs: list[tuple[str, ...]]) -> None:
    assert len({derive(*parts) for parts in inputs}) == len(inputs)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a", "b-c"), ("a-b", "c")),
        (("a.b",), ("a-b",)),
        (("a", "b"), ("ab",)),
        (("a", ""), ("a",)),
        (("x" * 253,), ("x" * 252,)),
        (("1cache",), ("kv-1cache",)),
        (("cache",), ("CACHE",)),
    ],
)
def test_similar_inputs_have_different_names(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assert derive(*one) != derive(*other)
    assert digest(*one) != digest(*other)


def test_a_long_name_is_cut_at_the_limit() -> None:
    assert len(derive("x" * 253)) == 52
    assert len(derive("x" * 253, limit=63)) == 63


def test_a_derived_name_is_readable_and_never_changes() -> None:
    assert derive("team-a", "chat.cache").startswith("team-a-chat-cache-")
    assert derive("team-a", "chat.cache") == derive("team-a", "chat.cache")


@pytest.mark.parametrize("name", ["1cache", "...", "日本語", ""])
def test_a_name_without_a_leading_letter_gets_one(name: str) -> None:
    assert _LABEL.fullmatch(derive(name))


@given(POOL_NAMES)
def test_a_claim_s_name_is_a_label_of_google_cloud(name: str) -> None:
    # The driver copies it (lustre-csi-driver, utils.go).
    assert re.fullmatch(r"[a-z0-9_-]{1,63}", claim(name))


@given(POOL_NAMES)
def test_a_label_value_is_valid_for_every_pool_name(name: str) -> None:
    assert _LABEL_VALUE.fullmatch(label_value(name))


def test_a_pool_name_that_fits_is_its_label_value() -> None:
    assert label_value("a" * 63) == "a" * 63
    assert label_value("a" * 64) != label_value("a" * 65)


@given(NAMESPACES, POOL_NAMES)
def test_a_file_system_name_is_one_that_lustre_takes(namespace: str, name: str) -> None:
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9]{0,7}", filesystem(namespace, name))


def test_two_pools_with_one_name_in_two_namespaces_have_different_file_system_names() -> None:
    assert filesystem("team-a", "chat") != filesystem("team-b", "chat")
    assert filesystem("a", "b-c") != filesystem("a-b", "c")
