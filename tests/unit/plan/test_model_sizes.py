"""How far a model's limits may rise, and what tiers hold in tokens of the model that takes most."""

from typing import Any

import pytest

from kvtier.api.v1alpha1 import KVCachePool, TierStatus
from kvtier.plan.model_sizes import suggestion, with_tokens
from unit.builders import context, model, pool
from unit.tables import table

LARGE = {"model": "meta-llama/Llama-3.3-70B-Instruct", "maxNumSeqs": 128}
FP8 = (
    "Per token and GPU, kvCacheDtype fp8 takes 20480 bytes and auto takes 40960. 256 sequences with fp8 fit in the "
    "memory of 128 with auto."
)
INT4 = (
    "Per token and GPU, kvCacheDtype int4_per_token_head takes 10880 bytes and auto takes 40960. 481 sequences with "
    "int4_per_token_head fit in the memory of 128 with auto."
)
H100, A100 = "nvidia-h100-80gb", "nvidia-tesla-a100"


@table(
    "changes, accelerator, text",
    {
        "what fp8 would allow, and that it has a price": (LARGE, H100, f"{FP8} fp8 costs some accuracy."),
        "what fp8 allows": (
            LARGE | {"kvCacheDtype": "fp8"},
            H100,
            f"{FP8} If maxNumSeqs 128 fits with auto, it may rise to 256.",
        ),
        "what 4 bits allow, with their scales": (
            LARGE | {"kvCacheDtype": "int4_per_token_head"},
            H100,
            f"{INT4} If maxNumSeqs 128 fits with auto, it may rise to 481.",
        ),
        "what becomes of the tokens of a step": (
            LARGE | {"maxNumBatchedTokens": 128},
            H100,
            f"{FP8} maxNumBatchedTokens must rise from 128 to 256, at least one per sequence. fp8 costs some accuracy.",
        ),
        "nothing without a number to begin with": (LARGE | {"maxNumSeqs": None}, H100, None),
        "nothing of a type that its GPUs do not take": (LARGE, A100, None),
        "nothing of a model that is not known": (LARGE | {"model": "a/b"}, H100, None),
        "nothing of one with another type either": (
            LARGE | {"model": "a/b", "kvCacheDtype": "fp8"},
            H100,
            None,
        ),
        "nothing for the type that auto is": (LARGE | {"kvCacheDtype": "bfloat16"}, H100, None),
        "nothing of a model whose windows do not grow": (
            LARGE | {"model": "openai/gpt-oss-120b"},
            H100,
            None,
        ),
    },
)
def test_the_suggestion_says(changes: dict[str, Any], accelerator: str, text: str | None) -> None:
    (seen,) = context(pool(models=[model(**changes)])).models
    assert suggestion(seen, accelerator) == text


SMALL = model(name="small", model="meta-llama/Llama-3.1-8B-Instruct")
LARGEST = model(name="large", model="meta-llama/Llama-3.3-70B-Instruct")
UNKNOWN = model(name="unknown", model="a/b")


def _tokens(of: KVCachePool, **tier: Any) -> int | None:
    (found,) = with_tokens([TierStatus(phase="Bound", **tier)], context(of).models)
    return found.tokens


@table(
    "models, tokens",
    {
        "of one model": ([SMALL], 819_200),
        "of the model with the most bytes per token": ([SMALL, LARGEST], 327_680),
        "not of models of which one is not known": ([SMALL, UNKNOWN], None),
        "of no model": ([UNKNOWN], None),
    },
)
def test_a_tier_of_100_gib_holds(models: list[Any], tokens: int | None) -> None:
    assert _tokens(pool(models=models), name="cpu", capacity="100Gi") == tokens


@pytest.mark.parametrize("name", ["cpu", "localSSD", "lustre"])
def test_every_tier_of_blocks_is_counted_by_what_exists(name: str) -> None:
    assert _tokens(pool(models=[LARGEST]), name=name, capacity="18000Gi") == 18000 * 1024**3 // 327_680
    assert _tokens(pool(models=[LARGEST]), name=name) is None


@pytest.mark.parametrize("name", ["objectStorage", "cloudStorage"])
def test_a_bucket_is_not_counted(name: str) -> None:
    assert _tokens(pool(models=[LARGEST]), name=name, capacity="18000Gi") is None


def test_a_pool_without_models_is_not_counted() -> None:
    (found,) = with_tokens([TierStatus(name="cpu", phase="Configured", capacity="1Gi")], [])
    assert found.tokens is None
