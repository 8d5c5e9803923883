"""What of a model an engine would not start with, or would get wrong."""

from typing import Any

import pytest

from kvtier.api.v1alpha1 import ServedModel
from kvtier.engines.conflicts import file_name_fault, lmcache_fault, setting_conflict
from unit.builders import model
from unit.tables import table

EXPANDABLE = [{"name": "PYTORCH_CUDA_ALLOC_CONF", "value": "max_split_size_mb:64,expandable_segments:True"}]


def _conflict(tiered: bool = True, **changes: Any) -> str | None:
    return setting_conflict(ServedModel.model_validate(model(**changes)), tiered)


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


LMCACHE = {"backend": "LMCache", "lmcache": {"version": "0.5.6"}}


@table(
    "name, engine, words",
    {
        "a name of Hugging Face": ("meta-llama/Llama-3.1-8B-Instruct", {}, None),
        "the longest for vLLM": ("m" * 239, {}, None),
        "one byte too many for vLLM": ("m" * 240, {}, "takes 240 bytes there where 239 fit"),
        "bytes count, not letters": ("ä" * 120, {}, "takes 240 bytes"),
        "the longest for LMCache": ("m" * 168, LMCACHE, None),
        "one byte too many for LMCache": ("m" * 169, LMCACHE, "takes 169 bytes there where 168 fit"),
        "LMCache writes a slash as five bytes": ("/".join(["m" * 80] * 3), LMCACHE, "takes 250 bytes"),
        "an @, which vLLM takes": ("a@b", {}, None),
        "an @, which ends a part of LMCache's keys": ("a@b", LMCACHE, "does not take a model with @"),
    },
)
def test_a_model_s_text_in_the_names_of_its_files(
    name: str, engine: dict[str, Any], words: str | None
) -> None:
    fault = file_name_fault(ServedModel.model_validate(model(model=name, engine=engine)))
    assert (fault is None) is (words is None)
    assert (words or "") in (fault or "")


@table(
    "vllm, groups, says",
    {
        "a pair that was seen to work": ("0.32", 1, None),
        "a model of which nothing is known": ("0.32", None, None),
        "a model that mixes kinds of attention": (
            "0.32",
            2,
            "LMCache cannot cache a model with 2 groups of layers: use engine.backend Native",
        ),
        "a pair that was not tried, with those that were": (
            "0.21",
            1,
            "vLLM 0.21 with LMCache 0.5.6 was not seen to give right tokens: supported are vLLM 0.32 with LMCache "
            "0.5.6, vLLM 0.33 with LMCache 0.5.6",
        ),
    },
)
def test_lmcache_with(vllm: str, groups: int | None, says: str | None) -> None:
    assert lmcache_fault(vllm, "0.5.6", groups) == says
