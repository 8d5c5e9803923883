"""The directory names of vLLM's file tier, and what they do not distinguish: the reason for fingerprints."""

from collections.abc import Callable
from typing import Any

import pytest

from engine.worker import Worker
from kvtier.api.v1alpha1 import ServedModel
from kvtier.engines.conflicts import file_name_fault
from unit.builders import model, model_cache
from unit.tables import table

pytestmark = pytest.mark.timeout(300)
LONGEST_NAME = 255
TOLD_APART = {
    *("model_name", "dtype", "tokens_per_hash", "blocks_per_file", "kv_cache_groups", "inference_engine"),
    *("tp_size", "pp_size", "pcp_size", "dcp_size"),
    *("parallel_agnostic", "replicated_layout", "canonical_format"),
}


def test_vllm_uses_no_other_settings_for_the_name(vllm: Worker) -> None:
    """Not the revision, weights, quantization, version, attention kernel or memory layout."""
    assert set(vllm.ask("keys.directory_parameters")) == TOLD_APART, (
        "docs/evidence/engines.md says what vLLM leaves out"
    )


def test_two_versions_use_one_directory(workers: Callable[[str], Worker]) -> None:
    names = [workers(version).ask("keys.directory_name", model="a/b") for version in ("0.32", "0.33")]
    assert names[0] == names[1]


@table(
    "change",
    {
        "revision": {"revision": "0e9e39f"},
        "quantization": {"extraArgs": ["--quantization=fp8"]},
        "type of the weights": {"extraArgs": ["--dtype=float16"]},
        "attention kernel": {"extraArgs": ["--attention-backend=FLASHINFER"]},
    },
)
def test_kvtier_distinguishes_what_vllm_does_not(change: dict[str, Any]) -> None:
    prints = {model_cache(ServedModel.model_validate(model(**one))).fingerprint for one in ({}, change)}
    assert len(prints) == 2


def test_the_longest_name_that_kvtier_accepts_is_the_longest_that_fits(vllm: Worker) -> None:
    longest, more = "m" * 239, "m" * 240
    assert [
        file_name_fault(ServedModel.model_validate(model(model=name))) is None for name in (longest, more)
    ] == [
        True,
        False,
    ]
    assert len(vllm.ask("keys.directory_name", model=longest) + "_r0") == LONGEST_NAME
