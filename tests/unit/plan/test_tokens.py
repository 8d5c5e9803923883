"""What tiers hold, in tokens of the model that takes most."""

from typing import Any

import pytest

from kvtier.api.v1alpha1 import KVCachePool, TierStatus
from kvtier.facts.model import Facts
from kvtier.plan.model_sizes import with_tokens
from unit.builders import model, pool
from unit.tables import table

SMALL = model(name="small", model="meta-llama/Llama-3.1-8B-Instruct")
LARGE = model(name="large", model="meta-llama/Llama-3.3-70B-Instruct")
UNKNOWN = model(name="unknown", model="a/b")


def _tokens(of: KVCachePool, **tier: Any) -> int | None:
    (found,) = with_tokens(of, [TierStatus(phase="Bound", **tier)], Facts())
    return found.tokens


@table(
    "models, tokens",
    {
        "of one model": ([SMALL], 819_200),
        "of the model with the most bytes per token": ([SMALL, LARGE], 327_680),
        "not of models of which one is not known": ([SMALL, UNKNOWN], None),
        "of no model": ([UNKNOWN], None),
    },
)
def test_a_tier_of_100_gib_holds(models: list[Any], tokens: int | None) -> None:
    assert _tokens(pool(models=models), name="cpu", capacity="100Gi") == tokens


@pytest.mark.parametrize("name", ["cpu", "localSSD", "lustre"])
def test_every_tier_of_blocks_is_counted_by_what_exists(name: str) -> None:
    assert _tokens(pool(models=[LARGE]), name=name, capacity="18000Gi") == 18000 * 1024**3 // 327_680
    assert _tokens(pool(models=[LARGE]), name=name) is None


@pytest.mark.parametrize("name", ["objectStorage", "cloudStorage"])
def test_a_bucket_is_not_counted(name: str) -> None:
    assert _tokens(pool(models=[LARGE]), name=name, capacity="18000Gi") is None


def test_a_pool_of_which_nothing_can_be_read_is_not_counted() -> None:
    of = pool()
    bare = of.model_copy(update={"spec": of.spec.model_copy(update={"models": []})})
    assert _tokens(bare, name="cpu", capacity="1Gi") is None
