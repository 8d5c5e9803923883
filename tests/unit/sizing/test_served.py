"""The geometry of a model as a pool serves it."""

from typing import Any

import pytest

from kvtier.api.v1alpha1 import ServedModel
from kvtier.data import table as data
from kvtier.sizing.geometry import Geometry
from kvtier.sizing.models import config_of
from kvtier.sizing.served import served_geometry
from unit.builders import model
from unit.tables import table

FLAGS: list[str] = data("engines")["versions"]["0.33"]["geometryFlags"]


def _of(config: dict[str, Any] | None = None, **changes: Any) -> Geometry | None:
    return served_geometry(ServedModel.model_validate(model(**changes)), FLAGS, config)


def test_a_known_model_on_its_gpus() -> None:
    found = _of(kvCacheDtype="fp8")
    assert found is not None
    assert found.hbm_token_bytes() == 65536 // 8
    assert found.tier_token_bytes() == 65536


@table(
    "changes",
    {
        "a model that is not in the table": {"model": "someone/their-own"},
        "a revision, which may be another model": {"revision": "main"},
        "layers of a draft model": {"extraArgs": ["--speculative-config", "{}"]},
        "stages": {"extraArgs": ["-pp", "2"]},
        "other model settings, key by key": {"extraArgs": ["--hf-overrides.num_hidden_layers=1"]},
        "a block size of one's own": {"extraArgs": ["--block_size=32"]},
    },
)
def test_it_is_not_told_for(changes: dict[str, Any]) -> None:
    assert _of(**changes) is None


@pytest.mark.parametrize("flag", FLAGS)
def test_no_flag_that_changes_it_is_overlooked(flag: str) -> None:
    assert _of(extraArgs=[flag, "1"]) is None


def test_other_arguments_change_nothing() -> None:
    assert _of(extraArgs=["--enforce-eager", "--swap-space=4"]) == _of()


def test_a_config_at_hand_goes_before_the_table() -> None:
    config = config_of("Qwen/Qwen3-32B")
    assert config is not None
    found = _of(config, model="someone/their-own", revision="main")
    assert found is not None
    assert found.tier_token_bytes() == 262_144
