"""The geometry of a model as a pool serves it."""

import json
from typing import Any

import pytest

from kvtier.api.v1alpha1 import ServedModel
from kvtier.data import table as data
from kvtier.facts.model import ConfigMaps
from kvtier.sizing.geometry import Geometry
from kvtier.sizing.models import config_of, model_document, served_geometry
from unit.builders import model
from unit.tables import table

FLAGS: list[str] = data("engines")["versions"]["0.33"]["geometryFlags"]


def _of(**changes: Any) -> Geometry | None:
    served = ServedModel.model_validate(model(**changes))
    return served_geometry(served, FLAGS, model_document(served, ConfigMaps()))


def test_a_known_model_on_its_gpus() -> None:
    found = _of(kvCacheDtype="fp8")
    assert found is not None
    assert found.hbm_token_bytes() == 65536 // 8
    assert found.tier_token_bytes() == 65536


@table(
    "changes",
    {
        "a model that is not in the table": {"model": "someone/their-own"},
        "a revision, which may be another model": {"revision": "v2"},
        "layers of a draft model": {"extraArgs": ["--speculative-config", "{}"]},
        "stages": {"extraArgs": ["-pp", "2"]},
        "other model settings, key by key": {"extraArgs": ["--hf-overrides.num_hidden_layers=1"]},
        "a document that says nothing, even of a model that is in the table": {
            "modelConfigFrom": {"inline": "{}"}
        },
        "a document that is none": {"modelConfigFrom": {"inline": "{,"}},
        "a document that is out of reach": {"modelConfigFrom": {"configMapKeyRef": {"name": "m"}}},
    },
)
def test_it_is_not_told_for(changes: dict[str, Any]) -> None:
    assert _of(**changes) is None


@pytest.mark.parametrize("flag", FLAGS)
def test_no_flag_that_changes_it_is_overlooked(flag: str) -> None:
    assert _of(extraArgs=[flag, "1"]) is None


def test_the_branch_that_the_table_was_read_from_is_known() -> None:
    assert _of(revision="main") == _of()


def test_other_arguments_change_nothing() -> None:
    assert _of(extraArgs=["--enforce-eager", "--swap-space=4"]) == _of()


def test_a_config_at_hand_goes_before_the_table() -> None:
    config = json.dumps(config_of("Qwen/Qwen3-32B"))
    found = _of(model="someone/their-own", revision="main", modelConfigFrom={"inline": config})
    assert found is not None
    assert found.tier_token_bytes() == 262_144


def test_blocks_of_the_user_s_size() -> None:
    small, large = _of(blockSize=16), _of(blockSize=64)
    assert small == _of()
    assert small is not None
    assert large is not None
    assert large.block_bytes == 4 * small.block_bytes
    assert [group.tokens for group in large.groups] == [64]
    assert large.tier_token_bytes() == small.tier_token_bytes()
