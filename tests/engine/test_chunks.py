"""Chunks of vLLM, from the specification that its connector builds at start, compared with kvtier's numbers."""

import json
from itertools import product
from typing import Any

import pytest

from engine import kubelet
from engine.architectures import DEEPSEEK_V3, GEMMA_27B, LLAMA_8B, LLAMA_70B, QWEN_32B, Config
from engine.rendering import deployments
from engine.worker import Worker
from kvtier.api.quantities import GIB
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.data import table as data
from unit.builders import context, model, pool
from unit.sizing.test_geometry import VLLM, config_named
from unit.tables import table

pytestmark = pytest.mark.timeout(600)
FLAG = "--kv-transfer-config="
CAPACITY = "100Gi"
TIER = 100 * GIB
MODELS = {"llama-8b": LLAMA_8B, "llama-70b": LLAMA_70B, "qwen": QWEN_32B, "gemma": GEMMA_27B}
DTYPES = ("auto", "fp8", "int8_per_token_head", "int4_per_token_head")
CUTS: list[dict[str, Any]] = [
    {},
    {"blockSize": 32},
    {"blocksPerChunk": 5},
    {"blockSize": 64, "blocksPerChunk": 1},
]
# Rows of unit/sizing/vllm_0_33.yaml that vLLM cannot build here, by the start of their names, and what is missing.
NOT_HERE = {
    "MiniMaxAI/": "fields that the table of models leaves out",
    "XiaomiMiMo/": "fields that the table of models leaves out",
    "moonshotai/": "code that comes with the model",
    "deepseek-ai/DeepSeek-V3.2": "a GPU with sparse attention",
    "zai-org/GLM-5": "a GPU with sparse attention",
    "nvidia/NVIDIA-Nemotron-3": "a GPU for experts without gates",
    "openai/gpt-oss-120b-8": "a GPU for experts that so many ranks share",
    "openai/gpt-oss-20b-4": "a GPU for experts that so many ranks share",
    "Qwen/Qwen3.5": "a Hopper GPU, by which blocks of states are aligned",
    "qwen3-next-shaped": "a Hopper GPU, by which blocks of states are aligned",
    "meta-llama/Llama-4": "the other half of the model",
    "Qwen/Qwen3-VL": "the other half of the model",
}
ROWS = {
    name: row
    for row in VLLM["cases"]
    if not (name := "{model}-{gpus}-{dtype}-{block}".format(**row)).startswith(tuple(NOT_HERE))
}


def _cut(real: Worker, config: Config, transfer: dict[str, Any], **of: Any) -> dict[str, Any]:
    found: dict[str, Any] = real.ask("offloading.answer", config=config, transfer=transfer, **of)
    return found


def _transfer(**extra: Any) -> dict[str, Any]:
    given = {"cpu_bytes_to_use": TIER, **extra}
    return {"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": given}


@table("row", ROWS)
def test_the_expected_numbers_of_the_tests_of_sizing(real: Worker, row: dict[str, Any]) -> None:
    """unit/sizing/test_geometry.py compares kvtier's arithmetic with these rows, without an engine."""
    of = {"kv_cache_dtype": row["dtype"], "tensor_parallel_size": row["gpus"], "block_size": row["block"]}
    found = _cut(real, config_named(row["model"]), _transfer(blocks_per_chunk=1), **of)
    assert found["refused"] is None
    assert found["chunk_bytes"] == _whole_pages(row["blockBytes"] * row["copies"])
    groups = [tokens for _, _, tokens, number in row["groups"] for _ in range(number)]
    assert sorted(found["tokens"]) == sorted(groups)


def _whole_pages(size: int) -> int:
    return -(-size // 4096) * 4096


def _pool(real: Worker, config: Config, **changes: Any) -> KVCachePool:
    """A pool with the model of a config.json."""
    fixed = {"engine": {"version": real.version}, "modelConfigFrom": {"inline": json.dumps(config)}}
    return pool(models=[model(**fixed, **changes)], tiers={"cpu": {"capacity": CAPACITY}})


def _rendered(real: Worker, of: KVCachePool, config: Config) -> dict[str, Any]:
    """The chunks that vLLM creates for the rendered argument."""
    ((served, deployment),) = deployments(of)
    (given,) = [one for one in kubelet.started(deployment).arguments if one.startswith(FLAG)]
    return _cut(
        real,
        config,
        json.loads(given.removeprefix(FLAG)),
        kv_cache_dtype=served.kv_cache_dtype,
        tensor_parallel_size=served.tensor_parallel_size,
        block_size=served.block_size,
    )


@table("config", MODELS)
def test_the_chunks_in_the_status(real: Worker, config: Config) -> None:
    """Sizes, tokens and numbers of chunks, with alternating block sizes."""
    for turn, (dtype, ranks) in enumerate(product(DTYPES, (1, 8))):
        cut = CUTS[turn % len(CUTS)]
        of = _pool(real, config, kvCacheDtype=dtype, tensorParallelSize=ranks, **cut)
        found, said = _rendered(real, of, config), context(of).models[0].chunk
        assert found["refused"] is None
        assert said.size
        assert (found["chunk_bytes"], max(found["tokens"])) == (said.size, said.tokens), (dtype, ranks, cut)
        assert found["chunks"] == TIER // said.size


@table("config", {**MODELS, "a latent": DEEPSEEK_V3})
def test_files_on_lustre_are_large_unless_chunks_would_have_too_many_tokens(
    real: Worker, config: Config
) -> None:
    limits = data("engines")["chunk"]
    for dtype, ranks in (("auto", 1), ("fp8", 8)):
        found = _rendered(real, _pool(real, config, kvCacheDtype=dtype, tensorParallelSize=ranks), config)
        assert max(found["tokens"]) <= limits["mostTokens"]
        large = found["chunk_bytes"] >= limits["fileMib"] << 20
        assert large or 2 * max(found["tokens"]) > limits["mostTokens"], found


@table(
    "extra, words",
    {
        "a chunk of no blocks": ({"blocks_per_chunk": 0}, "must be greater than 0"),
        "a negative number of blocks": ({"blocks_per_chunk": -1}, "must be greater than 0"),
        "two keys for the same setting": ({"blocks_per_chunk": 16, "block_size": 256}, "Specify only one"),
        "a fraction of a block": ({"block_size": 24}, "must be a multiple"),
        "no memory": ({"cpu_bytes_to_use": 0, "blocks_per_chunk": 16}, "cpu_bytes_to_use must be specified"),
        "another specification": ({"spec_name": "Tiers", "blocks_per_chunk": 16}, "Unsupported spec"),
    },
)
def test_vllm_refuses(real: Worker, extra: dict[str, Any], words: str) -> None:
    """Controls."""
    of = {"kv_cache_dtype": "auto", "tensor_parallel_size": 1, "block_size": None}
    assert words in _cut(real, LLAMA_8B, _transfer(**extra), **of)["refused"]


@table(
    "changes",
    {
        "another element type": {"kvCacheDtype": "fp8"},
        "another size of blocks": {"blockSize": 32, "blocksPerChunk": 16},
        "another number of blocks": {"blocksPerChunk": 17},
    },
)
def test_a_wrong_size_is_noticed(vllm: Worker, changes: dict[str, Any]) -> None:
    """Controls: with these settings, vLLM's numbers differ from those of kvtier for the pool without them."""
    said = context(_pool(vllm, LLAMA_8B)).models[0].chunk
    found = _rendered(vllm, _pool(vllm, LLAMA_8B, **changes), LLAMA_8B)
    assert (found["chunk_bytes"], max(found["tokens"])) != (said.size, said.tokens)


def test_vllm_accepts_a_tier_that_is_smaller_than_a_chunk(vllm: Worker) -> None:
    """vLLM starts without space for a single chunk, so kvtier must report it."""
    of = {"kv_cache_dtype": "auto", "tensor_parallel_size": 1, "block_size": None}
    found = _cut(vllm, LLAMA_70B, _transfer(cpu_bytes_to_use=GIB >> 6, blocks_per_chunk=16), **of)
    assert (found["refused"], found["chunks"]) == (None, 0)
