"""How far a model's limits may rise, and how many tokens of the largest model tiers hold."""

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
        "what fp8 would allow, and its cost": (LARGE, H100, f"{FP8} fp8 costs some accuracy."),
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
        "how maxNumBatchedTokens changes": (
            LARGE | {"maxNumBatchedTokens": 128},
            H100,
            f"{FP8} maxNumBatchedTokens must rise from 128 to 256, at least one per sequence. fp8 costs some accuracy.",
        ),
        "nothing without maxNumSeqs": (LARGE | {"maxNumSeqs": None}, H100, None),
        "nothing for GPUs without fp8": (LARGE, A100, None),
        "nothing for an unknown model": (LARGE | {"model": "a/b"}, H100, None),
        "nothing for an unknown model with another type": (
            LARGE | {"model": "a/b", "kvCacheDtype": "fp8"},
            H100,
            None,
        ),
        "nothing for the type of auto": (LARGE | {"kvCacheDtype": "bfloat16"}, H100, None),
        "nothing for a model with windows": (
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
        "unknown with an unknown model": ([SMALL, UNKNOWN], None),
        "unknown without a known model": ([UNKNOWN], None),
    },
)
def test_a_tier_of_100_gib_holds(models: list[Any], tokens: int | None) -> None:
    assert _tokens(pool(models=models), name="cpu", capacity="100Gi") == tokens


@pytest.mark.parametrize("name", ["cpu", "localSSD", "lustre"])
def test_the_tokens_of_a_tier_follow_its_capacity(name: str) -> None:
    assert _tokens(pool(models=[LARGEST]), name=name, capacity="18000Gi") == 18000 * 1024**3 // 327_680
    assert _tokens(pool(models=[LARGEST]), name=name) is None


@pytest.mark.parametrize("name", ["objectStorage", "cloudStorage"])
def test_a_bucket_has_no_tokens(name: str) -> None:
    assert _tokens(pool(models=[LARGEST]), name=name, capacity="18000Gi") is None


def test_a_pool_without_models_has_no_tokens() -> None:
    (found,) = with_tokens([TierStatus(name="cpu", phase="Configured", capacity="1Gi")], [])
    assert found.tokens is None
