"""Supported engines, and settings that conflict."""

from dataclasses import replace
from typing import Any

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.checks.engine import check
from unit.builders import context, model, pool
from unit.tables import table
from unit.verdicts import assert_says

LMCACHE = {"backend": "LMCache", "image": "vllm/vllm-openai:v0.32.0", "lmcache": {"version": "0.5.6"}}

FROM_CONFIG_MAP = {"configMapKeyRef": {"name": "settings", "key": "layout"}}


def _pool(tiers: Any = None, **changes: Any) -> KVCachePool:
    return pool(tiers=tiers or {}, models=[model(**changes)])


@table(
    "of, verdict",
    {
        "the default": (_pool(), "True Supported: The pool uses supported versions: vLLM 0.33."),
        "each version is named once": (
            pool(models=[model(), model(name="b"), model(name="c", engine=LMCACHE)]),
            "True Supported: The pool uses supported versions: vLLM 0.32 with LMCache 0.5.6, vLLM 0.33.",
        ),
        "LMCache and a model with several groups of layers": (
            _pool(engine=LMCACHE, model="openai/gpt-oss-120b"),
            "False PairNotSupported: Model llama cannot be served: LMCache cannot cache a model with ",
        ),
        "LMCache and an unknown model": (
            _pool(engine=LMCACHE, model="my/own"),
            "True Supported: Model llama: LMCache caches only models with one group of layers.",
        ),
        "a setting that conflicts": (
            _pool(extraArgs=["-pp", "2"]),
            "False ConflictingSettings: Model llama cannot be served: -pp 2 in extraArgs conflicts with "
            "tensorParallelSize",
        ),
        "a setting that conflicts only with a CPU tier": (
            _pool({"cpu": None, "lustre": None}, extraArgs=["--use-replayssm"]),
            "True Supported",
        ),
        "a model name that is too long for a file name": (
            _pool(model="m" * 300),
            "False NameNotUsable: Model llama cannot be served: Native names cache files after the model.",
        ),
        "a model name that LMCache cannot use": (
            _pool(engine=LMCACHE, model="a@b"),
            "False NameNotUsable: Model llama cannot be served: LMCache does not support @ in the name",
        ),
        "whole prompts that do not fit into one step": (
            _pool(extraArgs=["--no-enable-chunked-prefill"], maxNumBatchedTokens=2048, maxModelLen=8192),
            "False ConflictingSettings: a prompt of that length does not fit into one step",
        ),
        "a variable of the cache layout whose value is unknown": (
            _pool(env=[{"name": "VLLM_KV_CACHE_LAYOUT", "valueFrom": FROM_CONFIG_MAP}]),
            "False ConflictingSettings: VLLM_KV_CACHE_LAYOUT in env changes the bytes of cached blocks",
        ),
        "a version that kvtier does not know": (
            _pool(engine={"image": "vllm/vllm-openai:v0.34.1"}),
            "False Untested: Model llama uses vLLM 0.34. kvtier is tested with vLLM 0.32 and 0.33. kvtier read this "
            "version in the tag of engine.image. If the image has another vLLM, set engine.version. Use a "
            "tested version. Another one gets the arguments of vLLM 0.33 and a cache directory of its own.",
        ),
        "a version that is older than all that kvtier knows": (
            _pool(engine={"version": "0.20.1"}),
            "False Untested: Model llama uses vLLM 0.20. kvtier is tested with vLLM 0.32 and 0.33. An older vLLM may "
            "lack arguments and fixes that kvtier relies on. Use a tested version. Another one gets the arguments of "
            "vLLM 0.32 and",
        ),
        "a release candidate of a known version": (
            _pool(engine={"version": "0.33.0rc1"}),
            "False Untested: Model llama uses vLLM 0.33.0rc1.",
        ),
        "a patch of a known version": (
            _pool(engine={"version": "v0.33.2"}),
            "True Supported: The pool uses supported versions: vLLM 0.33.",
        ),
        "a version that kvtier does not know, with LMCache": (
            _pool(engine={**LMCACHE, "image": "vllm/vllm-openai:v0.34.0"}),
            "False PairNotSupported: Model llama cannot be served: vLLM 0.34 with LMCache 0.5.6 is not tested.",
        ),
        "an image with the version of LMCache as its tag": (
            _pool(engine={**LMCACHE, "image": "lmcache/vllm-openai:v0.5.6"}),
            "False PairNotSupported: If the image has another vLLM, set engine.version.",
        ),
        "such an image with a version of vLLM": (
            _pool(engine={**LMCACHE, "image": "lmcache/vllm-openai:v0.5.6", "version": "0.33"}),
            "True Supported: The pool uses supported versions: vLLM 0.33 with LMCache 0.5.6.",
        ),
        "an image tag that contradicts the version": (
            _pool(engine={"image": "vllm/vllm-openai:v0.34.0", "version": "0.33"}),
            "True Supported: Model llama: engine.version says vLLM 0.33, but the tag of engine.image says 0.34.",
        ),
        "warnings about a version that kvtier does not know": (
            _pool({"objectStorage": {"bucket": "blocks"}}, engine={"version": "0.34"}),
            "False Untested: directory of its own. objectStorage requires the nixl package in the image.",
        ),
        "a long model name without file tiers": (_pool({"lustre": None}, model="m" * 300), "True Supported"),
        "a bucket needs a package that kvtier cannot check": (
            _pool({"objectStorage": {"bucket": "blocks"}}),
            "True Supported: objectStorage requires the nixl package in the image. Without it, vLLM exits.",
        ),
    },
)
def test_engine(of: KVCachePool, verdict: str) -> None:
    assert_says(check(context(of)), "EngineSupported", verdict)


def test_a_version_that_loops_on_deleted_files_has_a_warning() -> None:
    look = context(_pool())
    (view,) = look.models
    unsafe = view.engine.model_copy(update={"version": "0.25", "eviction_safe": False})
    vars(look)["models"] = (replace(view, engine=unsafe),)
    assert_says(check(look), "EngineSupported", "True Supported: In vLLM 0.25, a request may hang")
