"""What kvtier knows about a model of a pool, and how its cache is divided into blocks."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtier.api.v1alpha1 import ServedModel
from kvtier.data import table as data
from kvtier.data.engines import ENGINES
from kvtier.facts.model import ConfigMaps
from kvtier.sizing.architectures import cached
from kvtier.sizing.geometry import Geometry
from kvtier.sizing.models import Document, known_config, model_document, served_geometry
from unit.builders import model
from unit.sizing.known import config
from unit.tables import table

FLAGS = ENGINES.versions["0.33"].geometry_flags


def _of(**changes: Any) -> Geometry | None:
    served = ServedModel.model_validate(model(**changes))
    return served_geometry(
        served, FLAGS, known_config(served, model_document(served, ConfigMaps(), "team-a"))
    )


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
        "a draft model": {"extraArgs": ["--speculative-config", "{}"]},
        "pipeline stages": {"extraArgs": ["-pp", "2"]},
        "other model settings, key by key": {"extraArgs": ["--hf-overrides.num_hidden_layers=1"]},
        "an empty document, also for a model of the table": {"modelConfigFrom": {"inline": "{}"}},
        "a document that is not JSON": {"modelConfigFrom": {"inline": "{,"}},
        "a document that was not read": {"modelConfigFrom": {"configMapKeyRef": {"name": "m"}}},
    },
)
def test_the_geometry_is_unknown_for(changes: dict[str, Any]) -> None:
    assert _of(**changes) is None


@pytest.mark.parametrize("flag", FLAGS)
def test_the_geometry_is_unknown_with_a_flag_that_changes_it(flag: str) -> None:
    assert _of(extraArgs=[flag, "1"]) is None


def test_the_branch_of_the_table_is_known() -> None:
    assert _of(revision="main") == _of()


def test_other_arguments_change_nothing() -> None:
    assert _of(extraArgs=["--enforce-eager", "--swap-space=4"]) == _of()


def test_a_config_json_of_the_pool_has_priority_over_the_table() -> None:
    document = json.dumps(config("Qwen/Qwen3-32B"))
    found = _of(model="someone/their-own", revision="main", modelConfigFrom={"inline": document})
    assert found is not None
    assert found.tier_token_bytes() == 262_144


def test_blocks_of_a_given_size() -> None:
    small, large = _of(blockSize=16), _of(blockSize=64)
    assert small == _of()
    assert small is not None
    assert large is not None
    assert large.block_bytes == 4 * small.block_bytes
    assert [group.tokens for group in large.groups] == [64]
    assert large.tier_token_bytes() == small.tier_token_bytes()


REFERENCE = {"configMapKeyRef": {"name": "models", "key": "mine.json"}}
WHOLE = "It must be the model's whole config.json."
MINE = "ConfigMap models, key mine.json,"
TOO_LONG = "too deep, or a number too long"
MIB = 1 << 20


def _document(source: dict[str, Any] | None, found: ConfigMaps | None = None) -> Document:
    served = ServedModel.model_validate(model(modelConfigFrom=source))
    return model_document(served, found or ConfigMaps(), "team-a")


def _from_map(text: str) -> Document:
    return _document(REFERENCE, ConfigMaps({"models": {"mine.json": text}}))


@table(
    "document, expected",
    {
        "without modelConfigFrom": (_document(None), Document()),
        "an inline text": (_document({"inline": '{"a": 1}'}), Document({"a": 1})),
        "a ConfigMap": (_from_map('{"a": 1}'), Document({"a": 1})),
        "a ConfigMap that kvtier may not read": (
            _document(REFERENCE, ConfigMaps({"models": None})),
            Document(unread=True),
        ),
        "a ConfigMap that was not read": (_document(REFERENCE), Document(unread=True)),
    },
)
def test_a_document(document: Document, expected: Document) -> None:
    assert document == expected


@table(
    "document, fault",
    {
        "a ConfigMap that does not exist": (
            _document(REFERENCE, ConfigMaps({"models": {}})),
            "ConfigMap models has no key mine.json. Create it: kubectl -n team-a create configmap models "
            "--from-file=mine.json=config.json",
        ),
        "a text that is not JSON": (
            _document({"inline": "model_type: llama"}),
            f"modelConfigFrom.inline is not JSON (Expecting value: line 1 column 1 (char 0)). {WHOLE}",
        ),
        "JSON that is not an object": (_from_map("[1]"), f"{MINE} is JSON, but not an object. {WHOLE}"),
        "an empty key": (
            _from_map(""),
            f"{MINE} is not JSON (Expecting value: line 1 column 1 (char 0)). {WHOLE}",
        ),
        "JSON that is too deep for the parser": (
            _from_map("[" * MIB),
            f"{MINE} is not JSON ({TOO_LONG}). {WHOLE}",
        ),
        "a number of a million digits": (
            _from_map('{"a": ' + "9" * MIB + "}"),
            f"{MINE} is not JSON ({TOO_LONG}). {WHOLE}",
        ),
    },
)
def test_a_fault(document: Document, fault: str) -> None:
    assert document == Document(fault=fault)


@given(st.text(max_size=200))
def test_no_text_raises_an_exception(text: str) -> None:
    assert (_from_map(text).config is None) != (_from_map(text).fault is None)


_ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.sampled_from([0, -1, 1, 10**9, 10**400, "M*-E", "FW", [], {}, ["full_attention"], [[]], {"a": []}]),
    st.floats(),
)


@given(name=st.sampled_from(sorted(data("models")["models"])), values=st.data(), gpus=st.sampled_from([1, 8]))
def test_no_document_raises_an_exception_or_has_an_unrealistic_size(
    name: str, values: st.DataObject, gpus: int
) -> None:
    whole = config(name)
    keys = st.sampled_from([*sorted(set(whole) - {"model_type"}), "text_config", "quantization_config"])
    changed = {**whole, **values.draw(st.dictionaries(keys, _ODD, max_size=3))}
    document = json.dumps(changed)
    served = ServedModel.model_validate(
        model(modelConfigFrom={"inline": document}, tensorParallelSize=gpus, blockSize=64)
    )
    found = served_geometry(served, [], known_config(served, model_document(served, ConfigMaps(), "team-a")))
    assert (found is None) == (cached(changed, "auto", gpus) is None)
    if found is not None:
        assert 0 < found.tier_token_bytes() < 1 << 62
        assert 0 < found.chunk_bytes(1024) < 1 << 62
