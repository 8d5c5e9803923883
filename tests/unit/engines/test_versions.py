"""The engine table."""

import pytest

from kvtier.api.v1alpha1 import ServedModel
from kvtier.api.v1alpha1.engine import VERSIONS
from kvtier.engines.versions import facts
from unit.builders import model


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_has_all_its_facts(version: str) -> None:
    known = facts(ServedModel.model_validate(model(engine={"image": "mine:latest", "version": version})))
    assert known.version == version
    assert "auto" in known.kv_cache_dtypes
    assert set(known.fs_tier) == {"localSSD", "lustre"}
    assert min(known.block_size, known.blocks_per_chunk, known.startup_seconds) > 0
