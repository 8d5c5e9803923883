"""Engines that were seen to work, and settings that cannot."""

from typing import Any

from kvtier.api.v1alpha1 import KVCachePool, ServedModel
from kvtier.checks.engine import check, engine_notes
from kvtier.data.engines import ENGINES
from unit.builders import context, model, pool
from unit.tables import table
from unit.verdicts import assert_says

LMCACHE = {"backend": "LMCache", "image": "vllm/vllm-openai:v0.32.0", "lmcache": {"version": "0.5.6"}}


def _pool(tiers: Any = None, **changes: Any) -> KVCachePool:
    return pool(tiers=tiers or {}, models=[model(**changes)])


@table(
    "of, verdict",
    {
        "the default": (_pool(), "True Supported: kvtier knows vLLM 0.33"),
        "versions are named once": (
            pool(models=[model(), model(name="b"), model(name="c", engine=LMCACHE)]),
            "True Supported: kvtier knows vLLM 0.32 with LMCache 0.5.6, vLLM 0.33",
        ),
        "LMCache and a model with several groups of layers": (
            _pool(engine=LMCACHE, model="openai/gpt-oss-120b"),
            "False PairNotSupported: model llama: LMCache cannot cache a model with ",
        ),
        "LMCache and a model that nothing is known of": (
            _pool(engine=LMCACHE, model="my/own"),
            "True Supported: model llama: LMCache takes models with one group of layers only",
        ),
        "a setting that cannot work": (
            _pool(extraArgs=["-pp", "2"]),
            "False ConflictingSettings: model llama: -pp 2 of extraArgs does not go together with tensorParallelSize",
        ),
        "a setting that only a tier forbids": (
            _pool({"cpu": None, "lustre": None}, extraArgs=["--use-replayssm"]),
            "True Supported",
        ),
        "a model whose text is too long for a file's name": (
            _pool(model="m" * 300),
            "False NameNotUsable: model llama: Native names cache files after the model",
        ),
        "a long text where there are no files": (_pool({"lustre": None}, model="m" * 300), "True Supported"),
        "a bucket needs what cannot be seen": (
            _pool({"objectStorage": {"bucket": "blocks"}}),
            "True Supported: objectStorage needs the nixl package in the image, which kvtier cannot see",
        ),
    },
)
def test_engine(of: KVCachePool, verdict: str) -> None:
    assert_says(check(context(of)), "EngineSupported", verdict)


def test_a_version_that_loops_on_lost_files_says_so() -> None:
    unsafe = ENGINES.versions["0.32"].model_copy(update={"version": "0.25", "eviction_safe": False})
    (note,) = engine_notes(ServedModel.model_validate(model()), unsafe, 1)
    assert "a request may loop in vLLM 0.25" in note
