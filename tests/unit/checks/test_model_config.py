"""What a model's config.json is worth to kvtier."""

from dataclasses import replace
from typing import Any

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.checks.model_config import check
from kvtier.facts.model import ConfigMaps
from unit.builders import context, facts, model, pool
from unit.tables import table
from unit.verdicts import assert_says

LLAMA = (
    '{"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 1024, "num_attention_heads": 8, '
    '"num_key_value_heads": 8, "dtype": "bfloat16"}'
)


def _pool(**changes: Any) -> KVCachePool:
    return pool(models=[model(**changes)])


def _inline(text: str) -> KVCachePool:
    return _pool(model="my/own", modelConfigFrom={"inline": text})


@table(
    "of, verdict",
    {
        "a model of the table": (pool(), "True Known: model llama: 131072 bytes per token"),
        "a model that is not": (
            _pool(model="my/own"),
            "True NotKnown: model llama: no numbers, as kvtier does not know my/own: give modelConfigFrom",
        ),
        "a document that it understands": (_inline(LLAMA), "True Known: 8192 bytes per token"),
        "a document that it does not": (
            _inline('{"model_type": "unheard-of"}'),
            "True NotKnown: no numbers, as kvtier does not know how such a model is cached as auto on 8 GPUs",
        ),
        "a revision of a model of the table": (
            _pool(revision="v2"),
            "True NotKnown: does not know meta-llama/Llama-3.1-8B-Instruct at revision v2: give modelConfigFrom",
        ),
        "arguments that make it another one": (
            _pool(extraArgs=["-sc", "{}"]),
            "True NotKnown: no numbers, as -sc of extraArgs may change what is cached",
        ),
        "a type of the cache that is not counted": (
            _pool(kvCacheDtype="turboquant_k8v4"),
            "True NotKnown: how such a model is cached as turboquant_k8v4 on 8 GPUs",
        ),
        "a text that is no document": (
            _inline("model_type: llama"),
            "False NotUsable: model llama: modelConfigFrom.inline is not JSON",
        ),
        "a document of another shape": (_inline("[1]"), "False NotUsable: is JSON, but no object"),
        "of several models, every one": (
            pool(models=[model(), model(name="own", model="my/own")]),
            "True NotKnown: 131072 bytes per token; model own: no numbers",
        ),
    },
)
def test_model_config(of: KVCachePool, verdict: str) -> None:
    assert_says(check(context(of)), "ModelConfigValid", verdict)


@table(
    "seen, verdict",
    {
        "a document that it understands": (
            {"configs": {"config.json": LLAMA}},
            "True Known: 8192 bytes per token",
        ),
        "a ConfigMap that is not there: the message creates it": (
            {"configs": {}},
            "False NotUsable: model llama: there is no ConfigMap configs with a key config.json in the pool's "
            "namespace: kubectl",
        ),
        "a ConfigMap that may not be read": (
            {"configs": None},
            "Unknown NotReadable: model llama: its ConfigMap could not be read: grant kvtier get on configmaps",
        ),
        "a ConfigMap that was not looked at": ({}, "Unknown NotReadable"),
    },
)
def test_model_config_in_a_config_map(seen: Any, verdict: str) -> None:
    of = _pool(modelConfigFrom={"configMapKeyRef": {"name": "configs"}})
    known = replace(facts(), config_maps=ConfigMaps(seen))
    assert_says(check(context(of, facts=known)), "ModelConfigValid", verdict)
