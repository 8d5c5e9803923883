"""Settings with which an engine does not start or gives wrong results."""

from typing import Any

import pytest

from kvtier.api.v1alpha1 import ServedModel
from kvtier.engines.conflicts import file_name_fault, groups_fault, pair_fault, setting_conflict
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
        "pipeline stages, short flag": (["-pp", "2"], "-pp 2"),
        "pipeline stages, with underscores": (
            ["--pipeline_parallel_size", "2"],
            "--pipeline-parallel-size 2",
        ),
        "pipeline stages, abbreviated": (["--pipeline", "4"], "--pipeline 4"),
        "replicas inside a Pod": (["-dp=2"], "-dp 2"),
        "several nodes, value attached": (["-n2"], "-n 2"),
        "a flag among others": (["--enforce-eager", "--nnodes", "2", "--seed=1"], "--nnodes 2"),
        "no HTTP server": (["--headless"], "--headless"),
        "a socket instead of a port": (["--uds=/tmp/s"], "--uds"),
        "a server with TLS": (["--ssl-keyfile", "/k", "--ssl-certfile", "/c"], "--ssl-keyfile"),
        "a cache that connectors do not support": (["--use-replayssm"], "--use-replayssm"),
    },
)
def test_a_flag_that_conflicts(arguments: list[str], seen: str) -> None:
    assert (_with(*arguments) or "").startswith(f"{seen} in extraArgs conflicts with ")


@table(
    "arguments",
    {
        "one pipeline stage": ["-pp", "1"],
        "a value that is not a number": ["-pp", "two"],
        "a flag without its value": ["--pipeline-parallel-size"],
        "decode context parallelism": ["-dcp", "2"],
        "a value that looks like a flag": ["--reasoning-parser", "headless"],
        "the opposite flag": ["--no-use-replayssm"],
    },
)
def test_a_flag_without_conflict(arguments: list[str]) -> None:
    assert _with(*arguments) is None


def test_a_conflict_with_the_cpu_tier_needs_a_cpu_tier() -> None:
    assert _conflict(tiered=False, extraArgs=["--use-replayssm"], env=EXPANDABLE) is None
    assert _conflict(tiered=False, extraArgs=["-pp=2"]) is not None


def test_expandable_segments_conflict_with_the_cpu_tier() -> None:
    found = _conflict(env=EXPANDABLE) or ""
    assert found.startswith(
        "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64,expandable_segments:True in env conflicts with tiers.cpu"
    )


@pytest.mark.parametrize("flag", ["--enable-cumem-allocator", "--enable_sleep_mode", "--enable-cumem"])
def test_expandable_segments_are_allowed_with_a_separate_allocator_for_the_cache(flag: str) -> None:
    assert _with(flag, env=EXPANDABLE) is None


def test_other_settings_of_the_allocator_are_allowed() -> None:
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
        "an abbreviated flag": (["--no-enable-chunked"], 2048, 8192, False),
        "a step that is long enough": (["--no-enable-chunked-prefill"], 8192, 8192, True),
        "chunked prefill": ([], 2048, 8192, True),
        "the last switch counts": (
            ["--no-enable-chunked-prefill", "--enable-chunked-prefill"],
            2048,
            8192,
            True,
        ),
        "a step of vLLM's default size": (["--no-enable-chunked-prefill"], None, 8192, True),
        "a length from the model": (["--no-enable-chunked-prefill"], 2048, None, True),
    },
)
def test_whole_prompts_fit_into_a_step(
    arguments: list[str], batched: int | None, longest: int | None, fits: bool
) -> None:
    found = _with(*arguments, maxNumBatchedTokens=batched, maxModelLen=longest)
    assert (found is None) is fits
    assert fits or "maxNumBatchedTokens 2048 and maxModelLen 8192" in str(found)


def test_a_variable_that_decides_the_directory_must_have_a_value() -> None:
    layout = {"name": "VLLM_KV_CACHE_LAYOUT"}
    hidden = {"valueFrom": {"configMapKeyRef": {"name": "settings", "key": "layout"}}}
    assert "VLLM_KV_CACHE_LAYOUT in env changes the bytes" in (_conflict(env=[layout | hidden]) or "")
    assert _conflict(env=[layout | {"value": "HND"}]) is None


LMCACHE = {"backend": "LMCache", "lmcache": {"version": "0.5.6"}}


@table(
    "name, engine, words",
    {
        "a name of Hugging Face": ("meta-llama/Llama-3.1-8B-Instruct", {}, None),
        "the longest for vLLM": ("m" * 239, {}, None),
        "one byte too many for vLLM": ("m" * 240, {}, "takes 240 bytes, but at most 239 fit"),
        "bytes are counted, not letters": ("ä" * 120, {}, "takes 240 bytes"),
        "the longest for LMCache": ("m" * 168, LMCACHE, None),
        "one byte too many for LMCache": ("m" * 169, LMCACHE, "takes 169 bytes, but at most 168 fit"),
        "LMCache writes a slash as five bytes": ("/".join(["m" * 80] * 3), LMCACHE, "takes 250 bytes"),
        "an @ with vLLM": ("a@b", {}, None),
        "an @ with LMCache, which uses it as a separator": ("a@b", LMCACHE, "does not support @ in the name"),
    },
)
def test_a_model_name_in_the_names_of_its_files(name: str, engine: dict[str, Any], words: str | None) -> None:
    fault = file_name_fault(ServedModel.model_validate(model(model=name, engine=engine)))
    assert (fault is None) is (words is None)
    assert (words or "") in (fault or "")


@table(
    "vllm, fault",
    {
        "a supported pair": ("0.32", None),
        "an untested pair": (
            "0.21",
            "vLLM 0.21 with LMCache 0.5.6 is not tested. kvtier supports vLLM 0.32 with LMCache 0.5.6, vLLM 0.33 with "
            "LMCache 0.5.6.",
        ),
    },
)
def test_lmcache_with_vllm(vllm: str, fault: str | None) -> None:
    assert pair_fault(vllm, "0.5.6") == fault


@table(
    "groups, fault",
    {
        "one kind of attention": (1, None),
        "an unknown model": (None, None),
        "a model that mixes kinds of attention": (
            2,
            "LMCache cannot cache a model with 2 groups of layers. Use engine.backend Native.",
        ),
    },
)
def test_lmcache_with_groups(groups: int | None, fault: str | None) -> None:
    assert groups_fault(groups) == fault
