"""Settings of users against what kvtier renders."""

from typing import Any

import pytest

from kvtier.api.v1alpha1 import ServedModel
from kvtier.data import table as data
from kvtier.engines.conflicts import conflict
from unit.builders import model
from unit.tables import table

EXPANDABLE = [{"name": "PYTORCH_CUDA_ALLOC_CONF", "value": "max_split_size_mb:64,expandable_segments:True"}]


def _conflict(tiered: bool = True, **changes: Any) -> str | None:
    return conflict(ServedModel.model_validate(model(**changes)), tiered)


def _with(*arguments: str, **changes: Any) -> str | None:
    return _conflict(extraArgs=list(arguments), **changes)


@table(
    "arguments, seen",
    {
        "pipeline stages": (["--pipeline-parallel-size=2"], "--pipeline-parallel-size 2"),
        "pipeline stages, in short": (["-pp", "2"], "-pp 2"),
        "pipeline stages, underscored": (["--pipeline_parallel_size", "2"], "--pipeline-parallel-size 2"),
        "pipeline stages, cut short": (["--pipeline", "4"], "--pipeline 4"),
        "replicas inside a Pod": (["-dp=2"], "-dp 2"),
        "several nodes, attached": (["-n2"], "-n 2"),
        "among others": (["--enforce-eager", "--nnodes", "2", "--seed=1"], "--nnodes 2"),
        "no server": (["--headless"], "--headless"),
        "a socket in place of a port": (["--uds=/tmp/s"], "--uds"),
        "a server that speaks TLS": (["--ssl-keyfile", "/k", "--ssl-certfile", "/c"], "--ssl-keyfile"),
        "a cache that connectors do not know": (["--use-replayssm"], "--use-replayssm"),
    },
)
def test_a_flag_that_cannot_stay(arguments: list[str], seen: str) -> None:
    assert (_with(*arguments) or "").startswith(f"{seen} of extraArgs does not go together with ")


@table(
    "arguments",
    {
        "one pipeline stage": ["-pp", "1"],
        "a number that is none": ["-pp", "two"],
        "a flag without its value": ["--pipeline-parallel-size"],
        "GPUs that share the tokens of a sequence": ["-dcp", "2"],
        "a value that looks like a flag's name": ["--reasoning-parser", "headless"],
        "the opposite": ["--no-use-replayssm"],
    },
)
def test_a_flag_that_can(arguments: list[str]) -> None:
    assert _with(*arguments) is None


def test_what_only_a_tier_forbids_is_allowed_without() -> None:
    assert _conflict(tiered=False, extraArgs=["--use-replayssm"], env=EXPANDABLE) is None
    assert _conflict(tiered=False, extraArgs=["-pp=2"]) is not None


def test_memory_that_moves_is_refused_beside_a_tier() -> None:
    told = _conflict(env=EXPANDABLE) or ""
    assert told.startswith(
        "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64,expandable_segments:True of env does not go"
    )
    assert "tiers.cpu" in told


@pytest.mark.parametrize("flag", ["--enable-cumem-allocator", "--enable_sleep_mode", "--enable-cumem"])
def test_it_is_not_where_the_cache_is_kept_apart(flag: str) -> None:
    assert _with(flag, env=EXPANDABLE) is None


def test_other_settings_of_the_allocator_are_the_user_s() -> None:
    assert _conflict(env=[{"name": "PYTORCH_CUDA_ALLOC_CONF", "value": "expandable_segments:False"}]) is None


@table(
    "arguments, batched, longest, fits",
    {
        "a step that is too short for the longest prompt": (
            ["--no-enable-chunked-prefill"],
            2048,
            8192,
            False,
        ),
        "cut short": (["--no-enable-chunked"], 2048, 8192, False),
        "a step that is long enough": (["--no-enable-chunked-prefill"], 8192, 8192, True),
        "a prompt that may be cut": ([], 2048, 8192, True),
        "the last switch counts": (
            ["--no-enable-chunked-prefill", "--enable-chunked-prefill"],
            2048,
            8192,
            True,
        ),
        "a step that vLLM chooses itself": (["--no-enable-chunked-prefill"], None, 8192, True),
        "a length that the model decides": (["--no-enable-chunked-prefill"], 2048, None, True),
    },
)
def test_whole_prompts_fit_into_a_step(
    arguments: list[str], batched: int | None, longest: int | None, fits: bool
) -> None:
    told = _with(*arguments, maxNumBatchedTokens=batched, maxModelLen=longest)
    assert (told is None) is fits
    assert fits or "maxNumBatchedTokens 2048 and maxModelLen 8192" in str(told)


def test_what_decides_the_directory_has_to_be_seen() -> None:
    layout = {"name": "VLLM_KV_CACHE_LAYOUT"}
    hidden = {"valueFrom": {"configMapKeyRef": {"name": "settings", "key": "layout"}}}
    assert "VLLM_KV_CACHE_LAYOUT of env changes the bytes" in (_conflict(env=[layout | hidden]) or "")
    assert _conflict(env=[layout | {"value": "HND"}]) is None


def test_every_conflict_names_both_sides_and_a_way_out() -> None:
    for row in data("engines")["conflicts"]:
        assert row["with"]
        assert row["remedy"]
        assert ("flags" in row) != ("variable" in row)
