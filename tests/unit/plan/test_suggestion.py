"""What the type of a cache means for the number of sequences."""

from typing import Any

from kvtier.facts.model import Facts
from kvtier.plan.model_sizes import suggestion
from unit.builders import model, pool
from unit.tables import table

LARGE = {"model": "meta-llama/Llama-3.3-70B-Instruct", "maxNumSeqs": 128}
FP8 = (
    "kvCacheDtype fp8 takes 20480 bytes per token and GPU where auto takes 40960, so 256 sequences fit where 128 of "
    "auto do"
)
INT4 = (
    "kvCacheDtype int4_per_token_head takes 10880 bytes per token and GPU where auto takes 40960, so 481 sequences "
    "fit where 128 of auto do"
)
A100 = {"accelerator": {"type": "nvidia-tesla-a100"}}


@table(
    "changes, nodes, text",
    {
        "what fp8 would allow, and that it has a price": (LARGE, {}, f"{FP8}; fp8 costs some accuracy"),
        "what fp8 allows": (
            LARGE | {"kvCacheDtype": "fp8"},
            {},
            f"{FP8}: if maxNumSeqs 128 is what auto held, it may rise to 256",
        ),
        "what 4 bits allow, with their scales": (
            LARGE | {"kvCacheDtype": "int4_per_token_head"},
            {},
            f"{INT4}: if maxNumSeqs 128 is what auto held, it may rise to 481",
        ),
        "what becomes of the tokens of a step": (
            LARGE | {"maxNumBatchedTokens": 128},
            {},
            f"{FP8}; maxNumBatchedTokens must rise from 128 to 256, at least one for each sequence; fp8 costs some "
            "accuracy",
        ),
        "nothing without a number to begin with": (LARGE | {"maxNumSeqs": None}, {}, None),
        "nothing of a type that its GPUs do not take": (LARGE, A100, None),
        "nothing of a model that is not known": (LARGE | {"model": "a/b"}, {}, None),
        "nothing for the type that auto is": (LARGE | {"kvCacheDtype": "bfloat16"}, {}, None),
        "nothing of a model whose windows do not grow": (LARGE | {"model": "openai/gpt-oss-120b"}, {}, None),
    },
)
def test_it_says(changes: dict[str, Any], nodes: dict[str, Any], text: str | None) -> None:
    of = pool(models=[model(**changes)], nodePool=nodes)
    assert suggestion(of, of.spec.models[0], Facts()) == text
