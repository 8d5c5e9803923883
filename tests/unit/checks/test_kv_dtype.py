"""kvCacheDtype with vLLM, GPU and model."""

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


FINE = "True Supported: kvtier knows no incompatibility of kvCacheDtype with"
NO = "False NotSupported: Model llama cannot be served: "


@table(
    "of, verdict",
    {
        "auto": (_pool("auto", T4), "True NotNeeded"),
        "a supported type": (_pool("fp8"), FINE),
        "a type of a later version": (
            _pool("octave_k3v4", engine={"image": "vllm/vllm-openai:v0.32.0"}),
            NO + "vLLM 0.32 does not support kvCacheDtype octave_k3v4. It supports auto, float16, bfloat16",
        ),
        "a type for other hardware": (
            _pool("fp8_inc"),
            NO + "kvCacheDtype fp8_inc is for Intel Gaudi, not for nvidia-h100-80gb. Remove it.",
        ),
        "a GPU that is too old": (
            _pool("fp8", T4),
            NO
            + "kvCacheDtype fp8 needs a GPU of compute capability 8.0 or later, but nvidia-tesla-t4 has 7.5.",
        ),
        "a GPU that only one kernel supports": (
            _pool("fp8", A100),
            "True Supported: Model llama: on nvidia-tesla-a100 (8.0) fp8 needs FlashInfer in the image",
        ),
        "a model with latent attention": (
            _pool("fp8_e5m2", model=DEEPSEEK),
            NO + "kvCacheDtype fp8_e5m2 has no kernel for latent attention (MLA) on NVIDIA GPUs. Use fp8.",
        ),
        "a model with latent attention disabled in env": (
            _pool("fp8_e5m2", model=DEEPSEEK, env=[{"name": "VLLM_MLA_DISABLE", "value": "1"}]),
            FINE,
        ),
        "a type for latent attention, and a model without": (
            _pool("fp8_ds_mla"),
            NO
            + "kvCacheDtype fp8_ds_mla is for latent attention (MLA), which this model does not use. Remove it.",
        ),
        "another 16-bit type than the model's": (
            _pool("float16"),
            NO + "kvCacheDtype float16 is not the type of the model, which is bfloat16. Remove it.",
        ),
        "a model that is served in another type": (_pool("float16", extraArgs=["--dtype=half"]), FINE),
        "an 8-bit checkpoint": (
            _quantized("fp8_e5m2", quant_method="fp8"),
            NO + "kvCacheDtype fp8_e5m2 does not work with checkpoints",
        ),
        "a checkpoint with only quantized weights": (
            _quantized("fp8_e5m2", quant_method="compressed-tensors", kv_cache_scheme=None),
            FINE,
        ),
        "an unknown model passes with a note": (
            _pool("fp8", model="my/own"),
            "True Supported: Model llama: its config.json is unknown. Only the version of vLLM and the GPU were "
            "checked.",
        ),
        "an unknown revision of a known model passes with a note": (
            _pool("fp8", revision="v2"),
            "True Supported: its config.json is unknown",
        ),
        "an unknown GPU passes": (_pool("fp8", "nvidia-next"), FINE),
        "a refused model is found among others": (
            pool(models=[model(), model(name="other", kvCacheDtype="fp8_ds_mla")]),
            "False NotSupported: Model other cannot be served: ",
        ),
    },
)
def test_kv_dtype(of: KVCachePool, verdict: str) -> None:
    assert_says(check(context(of)), "KVCacheDtypeSupported", verdict)


def test_a_config_json_in_a_config_map_is_used() -> None:
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
def test_an_unexpected_document_does_not_break_the_check(text: str) -> None:
    of = _pool("fp8_e5m2", modelConfigFrom={"inline": text})
    assert check(context(of)).status == "True"
