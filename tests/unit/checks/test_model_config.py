"""The config.json of a model, and the bytes per token."""

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
        "a model of the table": (pool(), "True Known: Model llama takes 131072 bytes per token."),
        "an unknown model": (
            _pool(model="my/own"),
            "True NotKnown: The size of model llama per token is unknown, because kvtier does not know my/own. Set "
            "modelConfigFrom.",
        ),
        "a document of a known architecture": (_inline(LLAMA), "True Known: 8192 bytes per token"),
        "a document of an unknown architecture": (
            _inline('{"model_type": "unheard-of"}'),
            "True NotKnown: per token is unknown, because kvtier cannot calculate it for kvCacheDtype auto with "
            "tensorParallelSize 8.",
        ),
        "another revision of a model of the table": (
            _pool(revision="v2"),
            "True NotKnown: does not know meta-llama/Llama-3.1-8B-Instruct at revision v2. Set modelConfigFrom",
        ),
        "arguments that change the cache": (
            _pool(extraArgs=["-sc", "{}"]),
            "True NotKnown: per token is unknown, because -sc in extraArgs may change what is cached.",
        ),
        "a kvCacheDtype of unknown size": (
            _pool(kvCacheDtype="turboquant_k8v4"),
            "True NotKnown: cannot calculate it for kvCacheDtype turboquant_k8v4 with tensorParallelSize 8.",
        ),
        "a text that is not JSON": (
            _inline("model_type: llama"),
            "False NotUsable: Model llama has no usable config.json: modelConfigFrom.inline is not JSON",
        ),
        "JSON that is not an object": (_inline("[1]"), "False NotUsable: is JSON, but not an object."),
        "several models": (
            pool(models=[model(), model(name="own", model="my/own")]),
            "True NotKnown: 131072 bytes per token. The size of model own per token is unknown",
        ),
    },
)
def test_model_config(of: KVCachePool, verdict: str) -> None:
    assert_says(check(context(of)), "ModelConfigValid", verdict)


@table(
    "seen, verdict",
    {
        "a document of a known architecture": (
            {"configs": {"config.json": LLAMA}},
            "True Known: 8192 bytes per token",
        ),
        "a missing ConfigMap, and the message contains the command to create it": (
            {"configs": {}},
            "False NotUsable: Model llama has no usable config.json: ConfigMap configs has no key config.json. Create "
            "it: kubectl -n team-a "
            "create configmap configs --from-file=config.json=config.json",
        ),
        "a ConfigMap that kvtier may not read": (
            {"configs": None},
            "Unknown NotReadable: The ConfigMap of model llama could not be read. Grant kvtier get on configmaps.",
        ),
        "a ConfigMap that was not read": ({}, "Unknown NotReadable"),
    },
)
def test_model_config_in_a_config_map(seen: Any, verdict: str) -> None:
    of = _pool(modelConfigFrom={"configMapKeyRef": {"name": "configs"}})
    known = replace(facts(), config_maps=ConfigMaps(seen))
    assert_says(check(context(of, facts=known)), "ModelConfigValid", verdict)
