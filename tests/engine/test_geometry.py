"""Bytes per token in the KV cache, from vLLM's own classes: the reference for kvtier's arithmetic."""

from collections import Counter
from typing import Any

import pytest

from engine.architectures import DEEPSEEK_V3, GEMMA_27B, JAMBA, LLAMA_8B, LLAMA_70B, QWEN_32B, Config
from engine.worker import Worker
from unit.tables import table

pytestmark = pytest.mark.timeout(600)


def _groups(real: Worker, config: Config, dtype: str = "auto", ranks: int = 1) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = real.ask(
        "geometry.answer", config=config, kv_cache_dtype=dtype, tensor_parallel_size=ranks
    )
    return found


@table(
    "config, dtype, ranks, token_bytes",
    {
        "Llama 3.1 8B": (LLAMA_8B, "auto", 1, 131_072),
        "Llama 3.3 70B": (LLAMA_70B, "auto", 1, 327_680),
        "Llama 3.3 70B with fp8": (LLAMA_70B, "fp8", 1, 163_840),
        "the other fp8 type has the same size": (LLAMA_70B, "fp8_e5m2", 1, 163_840),
        "Qwen3 32B": (QWEN_32B, "auto", 1, 262_144),
        "ranks share the heads": (LLAMA_70B, "auto", 8, 40_960),
        "a head is not divided: ranks beyond the number of heads hold copies": (
            LLAMA_70B,
            "auto",
            16,
            40_960,
        ),
        "a latent": (DEEPSEEK_V3, "auto", 1, 70_272),
        "a latent is not divided either": (DEEPSEEK_V3, "auto", 8, 70_272),
        "a latent with fp8": (DEEPSEEK_V3, "fp8", 1, 61 * 576),
        "a latent with scales": (DEEPSEEK_V3, "fp8_ds_mla", 1, 61 * 656),
        "a latent of 4 bits": (DEEPSEEK_V3, "nvfp4_ds_mla", 1, 61 * 352),
        "4 bits with a scale for 16 elements": (LLAMA_8B, "nvfp4", 1, 32 * 8 * 2 * (64 + 8)),
        "8 bits with scales per token and head": (LLAMA_8B, "int8_per_token_head", 1, 32 * 8 * (2 * 128 + 8)),
        "fp8 with scales per token and head": (LLAMA_8B, "fp8_per_token_head", 1, 32 * 8 * (2 * 128 + 8)),
        "4 bits with scales per token and head": (LLAMA_8B, "int4_per_token_head", 1, 32 * 8 * (128 + 8)),
    },
)
def test_bytes_of_a_token(real: Worker, config: Config, dtype: str, ranks: int, token_bytes: int) -> None:
    (group,) = _groups(real, config, dtype, ranks)
    assert group["layers"] * group["token_bytes"] == token_bytes
    assert group["page_bytes"] == group["block_size"] * group["token_bytes"], "nothing is padded"
    assert group["block_size"] == 16


def test_layers_with_a_window_are_separate_groups(real: Worker) -> None:
    groups = _groups(real, GEMMA_27B)
    layers = Counter[tuple[str, int | None]]()
    for group in groups:
        layers[group["kind"], group["window"]] += group["layers"]
    assert layers == {("sliding_window", 1024): 52, ("full_attention", None): 10}
    assert {group["token_bytes"] for group in groups} == {2 * 16 * 128 * 2}
    assert max(group["layers"] for group in groups) == 10


@pytest.mark.parametrize(("dtype", "token_bytes", "block_size"), [("auto", 4096, 144), ("fp8", 2048, 288)])
def test_pages_of_a_model_with_states_are_as_large_as_its_states(
    real: Worker, dtype: str, token_bytes: int, block_size: int
) -> None:
    """So a smaller element type gives longer blocks of attention, but states do not get smaller (vllm#55196)."""
    groups = _groups(real, JAMBA, dtype)
    kinds = {group["kind"]: group for group in groups}
    states, attention = kinds["mamba"], kinds["full_attention"]
    assert Counter(group["kind"] for group in groups) == {"mamba": 7, "full_attention": 1}
    assert {group["layers"] for group in groups} == {4}
    assert states["state_bytes"] == 8192 * 3 * 2 + 8192 * 16 * 4
    assert attention["token_bytes"] == token_bytes
    assert len({group["page_bytes"] for group in groups}) == 1
    assert attention["block_size"] == block_size
    assert attention["page_bytes"] == block_size * token_bytes >= states["state_bytes"]
