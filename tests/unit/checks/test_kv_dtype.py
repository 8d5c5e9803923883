"""Types of the cache against engine, GPU and model."""

import json
from dataclasses import replace
from typing import Any

import pytest

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.checks.kv_dtype import check
from kvtier.facts.model import ConfigMaps
from unit.builders import context, facts, model, pool
from unit.tables import table
from unit.verdicts import assert_says

H100, A100, T4 = "nvidia-h100-80gb", "nvidia-tesla-a100", "nvidia-tesla-t4"
LLAMA = {
    "model_type": "llama",
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "dtype": "bfloat16",
}
DEEPSEEK = "deepseek-ai/DeepSeek-V3"


def _pool(dtype: str, accelerator: str = H100, **changes: Any) -> KVCachePool:
    served = model(kvCacheDtype=dtype, **changes)
    return pool(nodePool={"accelerator": {"type": accelerator}}, models=[served])


def _quantized(dtype: str, **how: Any) -> KVCachePool:
    return _pool(dtype, modelConfigFrom={"inline": json.dumps({**LLAMA, "quantization_config": how})})


FINE = "True Supported: nothing is known against it on"
NO = "False NotSupported: model llama: "


@table(
    "of, verdict",
    {
        "a type that is left out": (_pool("auto", T4), "True NotNeeded"),
        "a type that fits": (_pool("fp8"), FINE),
        "a type of a later version": (
            _pool("octave_k3v4", engine={"image": "vllm/vllm-openai:v0.32.0"}),
            NO + "vLLM 0.32 does not know kvCacheDtype octave_k3v4: it knows auto, float16, bfloat16",
        ),
        "a type of another maker": (
            _pool("fp8_inc"),
            NO
            + "kvCacheDtype fp8_inc is for Intel Gaudi, and nvidia-h100-80gb is not one: leave the type out",
        ),
        "a GPU that is too old": (
            _pool("fp8", T4),
            NO
            + "kvCacheDtype fp8 needs a GPU of compute capability 8.0 or later, which nvidia-tesla-t4 (7.5)",
        ),
        "a GPU that only one kernel serves": (
            _pool("fp8", A100),
            "True Supported: model llama: on nvidia-tesla-a100 (8.0) fp8 needs FlashInfer in the image",
        ),
        "a model with latent attention": (
            _pool("fp8_e5m2", model=DEEPSEEK),
            NO
            + "kvCacheDtype fp8_e5m2: no kernel for latent attention (MLA) on NVIDIA GPUs takes it: use fp8",
        ),
        "a latent that users have vLLM treat as none": (
            _pool("fp8_e5m2", model=DEEPSEEK, env=[{"name": "VLLM_MLA_DISABLE", "value": "1"}]),
            FINE,
        ),
        "a record of a latent, for a model without": (
            _pool("fp8_ds_mla"),
            NO
            + "kvCacheDtype fp8_ds_mla is a format of latent attention (MLA), which this model does not have",
        ),
        "another type of 16 bits than the model's": (
            _pool("float16"),
            NO + "kvCacheDtype float16 must be the type of the model, which is bfloat16: leave it out",
        ),
        "a model that users serve in another type": (_pool("float16", extraArgs=["--dtype=half"]), FINE),
        "a checkpoint in 8 bits": (
            _quantized("fp8_e5m2", quant_method="fp8"),
            NO + "kvCacheDtype fp8_e5m2 is not for checkpoints",
        ),
        "a checkpoint of which the weights alone are quantized": (
            _quantized("fp8_e5m2", quant_method="compressed-tensors", kv_cache_scheme=None),
            FINE,
        ),
        "a model that nothing is known of passes, and the message says so": (
            _pool("fp8", model="my/own"),
            "True Supported: model llama: its config.json is not known, so only engine and GPU were looked at",
        ),
        "so does a revision of a known one": (
            _pool("fp8", revision="v2"),
            "True Supported: is not known",
        ),
        "so does a GPU that nothing is known of": (_pool("fp8", "nvidia-next"), FINE),
        "a model of another type does not hide one that is refused": (
            pool(models=[model(), model(name="other", kvCacheDtype="fp8_ds_mla")]),
            "False NotSupported: model other: ",
        ),
    },
)
def test_kv_dtype(of: KVCachePool, verdict: str) -> None:
    assert_says(check(context(of)), "KVCacheDtypeSupported", verdict)


def test_a_document_in_a_config_map_counts() -> None:
    of = _pool("fp8_e5m2", model="my/own", modelConfigFrom={"configMapKeyRef": {"name": "configs"}})
    config = {**LLAMA, "quantization_config": {"quant_method": "fp8"}}
    seen = replace(facts(), config_maps=ConfigMaps({"configs": {"config.json": json.dumps(config)}}))
    assert_says(check(context(of, facts=seen)), "KVCacheDtypeSupported", NO + "kvCacheDtype fp8_e5m2")


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "no json",
        '{"model_type": ["llama"]}',
        '{"model_type": "llama", "quantization_config": 5, "dtype": {}}',
        '{"text_config": {"model_type": null}, "quantization_config": {"quant_method": ["fp8"]}}',
    ],
)
def test_whatever_stands_in_a_document_it_is_judged(text: str) -> None:
    of = _pool("fp8_e5m2", modelConfigFrom={"inline": text})
    assert check(context(of)).status == "True"
