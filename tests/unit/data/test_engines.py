"""The tables about engines."""

import pytest

from kvtier.api.v1alpha1.engine import VERSIONS
from kvtier.data import table as data
from kvtier.data.engines import ENGINES, LMCACHE


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_has_usable_facts(version: str) -> None:
    known = ENGINES.versions[version]
    assert known.version == version
    assert "auto" in known.kv_cache_dtypes
    assert set(known.file_tier.settings) == {"localSSD", "lustre"}
    assert min(known.block_size, known.blocks_per_chunk, known.startup_seconds) > 0
    assert known.geometry_flags
    assert (known.pinned_tier_gib, known.eviction_safe) == (None, True)


def test_every_conflict_is_of_a_flag_or_of_a_variable() -> None:
    kinds = [
        (bool(row.flags), bool(row.variable), bool(row.against), bool(row.remedy))
        for row in ENGINES.conflicts
    ]
    assert set(kinds) == {(True, False, True, True), (False, True, True, True)}


def test_lmcache_is_paired_only_with_known_versions_of_vllm() -> None:
    assert {pair.vllm for pair in LMCACHE.pairs} == set(VERSIONS)
    assert {pair.lmcache for pair in LMCACHE.pairs} == set(LMCACHE.versions)


def test_only_types_of_a_known_version_have_rules() -> None:
    known = {dtype for version in ENGINES.versions.values() for dtype in version.kv_cache_dtypes}
    rules = data("kv_dtypes")
    assert {*rules["dtypes"], *rules["gpus"], *rules["otherMakers"], *rules["forLatents"]} <= known
