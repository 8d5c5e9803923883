"""The engine table."""

import pytest

from kvtier.api.v1alpha1 import ServedModel
from kvtier.api.v1alpha1.engine import VERSIONS
from kvtier.engines.versions import facts, facts_of
from unit.builders import model


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_that_can_be_chosen_is_known(version: str) -> None:
    known = facts(ServedModel.model_validate(model(engine={"image": "mine:latest", "version": version})))
    assert known == facts_of(version)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_has_all_its_facts(version: str) -> None:
    known = facts_of(version)
    assert known.version == version
    assert "auto" in known.kv_cache_dtypes
    assert set(known.fs_tier) == {"localSSD", "lustre"}
    assert min(known.block_size, known.blocks_per_chunk, known.startup_seconds) > 0
    assert {"fs", "obj"} <= set(known.secondary_tiers)
    assert set(known.layout_flags) & set(known.geometry_flags)
    assert all(name.startswith("VLLM_") for name in known.layout_variables)
    assert known.eviction_safe


def test_both_known_versions_pin_piece_by_piece_and_take_a_lost_block_for_a_miss() -> None:
    both = [facts_of(version) for version in ("0.32", "0.33")]
    assert [(one.pinned_tier_gib, one.eviction_safe) for one in both] == [(None, True), (None, True)]


def test_the_parser_of_0_32_refuses_types_itself() -> None:
    assert facts_of("0.32").dtype_choices
    assert not facts_of("0.33").dtype_choices


def test_an_unknown_version_is_refused_with_those_that_are_supported() -> None:
    with pytest.raises(ValueError) as refused:
        facts_of("0.21")
    assert str(refused.value) == "kvtier does not know the flags of vLLM 0.21: supported are 0.33, 0.32"
