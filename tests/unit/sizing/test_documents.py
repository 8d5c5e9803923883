"""What a pool says a model's config.json is: anything may stand there."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kvtier.api.v1alpha1 import ServedModel
from kvtier.data import table as data
from kvtier.facts.model import ConfigMaps
from kvtier.sizing.models import Document, cached, config_of, model_document, served_geometry
from unit.builders import model
from unit.tables import table

REFERENCE = {"configMapKeyRef": {"name": "models", "key": "mine.json"}}
WHOLE = "put the model's whole config.json there"
MIB = 1 << 20


def _document(source: dict[str, Any] | None, found: ConfigMaps | None = None) -> Document:
    served = ServedModel.model_validate(model(modelConfigFrom=source))
    return model_document(served, found or ConfigMaps())


def _from_map(text: str) -> Document:
    return _document(REFERENCE, ConfigMaps({"models": {"mine.json": text}}))


@table(
    "document, expected",
    {
        "nothing is given": (_document(None), Document()),
        "a text": (_document({"inline": '{"a": 1}'}), Document({"a": 1})),
        "a ConfigMap": (_from_map('{"a": 1}'), Document({"a": 1})),
        "a ConfigMap that may not be read": (
            _document(REFERENCE, ConfigMaps({"models": None})),
            Document(unread=True),
        ),
        "a ConfigMap that nobody has asked for": (_document(REFERENCE), Document(unread=True)),
        "a ConfigMap that is not there": (
            _document(REFERENCE, ConfigMaps({"models": {}})),
            Document(
                fault="there is no ConfigMap models with a key mine.json in the pool's namespace: kubectl create "
                "configmap models --from-file=mine.json=config.json"
            ),
        ),
        "a text that is no JSON": (
            _document({"inline": "model_type: llama"}),
            Document(
                fault="modelConfigFrom.inline is not JSON (Expecting value: line 1 column 1 (char 0)): "
                + WHOLE
            ),
        ),
        "JSON that is no object": (
            _from_map("[1]"),
            Document(fault="key mine.json of ConfigMap models is JSON, but no object: " + WHOLE),
        ),
        "an empty key": (
            _from_map(""),
            Document(
                fault="key mine.json of ConfigMap models is not JSON (Expecting value: line 1 column 1 (char 0)): "
                + WHOLE
            ),
        ),
        "JSON that is deeper than any parser goes": (
            _from_map("[" * MIB),
            Document(
                fault="key mine.json of ConfigMap models is not JSON (too deep, or a number too long): "
                + WHOLE
            ),
        ),
        "a number of a million digits": (
            _from_map('{"a": ' + "9" * MIB + "}"),
            Document(
                fault="key mine.json of ConfigMap models is not JSON (too deep, or a number too long): "
                + WHOLE
            ),
        ),
    },
)
def test_what_becomes_of(document: Document, expected: Document) -> None:
    assert document == expected


@given(st.text(max_size=200))
def test_no_text_is_an_exception(text: str) -> None:
    assert (_from_map(text).config is None) != (_from_map(text).fault is None)


_ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.sampled_from([0, -1, 1, 10**9, 10**400, "M*-E", "FW", [], {}, ["full_attention"], [[]], {"a": []}]),
    st.floats(),
)


@given(name=st.sampled_from(sorted(data("models")["models"])), values=st.data(), gpus=st.sampled_from([1, 8]))
def test_no_document_is_an_exception_or_has_a_size_beyond_all_models(
    name: str, values: st.DataObject, gpus: int
) -> None:
    config = config_of(name)
    assert config is not None
    keys = st.sampled_from([*sorted(set(config) - {"model_type"}), "text_config", "quantization_config"])
    changed = {**config, **values.draw(st.dictionaries(keys, _ODD, max_size=3))}
    document = json.dumps(changed)
    served = ServedModel.model_validate(
        model(modelConfigFrom={"inline": document}, tensorParallelSize=gpus, blockSize=64)
    )
    found = served_geometry(served, [], model_document(served, ConfigMaps()))
    assert (found is None) == (cached(changed, "auto", gpus) is None)
    if found is not None:
        assert 0 < found.tier_token_bytes() < 1 << 62
        assert 0 < found.chunk_bytes(1024) < 1 << 62
