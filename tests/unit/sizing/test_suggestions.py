"""How far vLLM's limits may rise."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtier.api.quantities import GIB
from kvtier.sizing.suggestions import from_dtype, from_memory
from unit.sizing.known import known

LARGE = "meta-llama/Llama-3.3-70B-Instruct"


def test_8_bits_hold_twice_as_many_sequences_in_the_same_memory() -> None:
    found = from_dtype(known(LARGE, gpus=8), known(LARGE, "fp8", 8), "fp8", seqs=128, batched=8192)
    assert found is not None
    assert (found.max_num_seqs, found.max_num_batched_tokens) == (256, 8192)
    assert found.why == (
        "Per token and GPU, kvCacheDtype fp8 takes 20480 bytes and auto takes 40960. 256 sequences with fp8 fit in the "
        "memory of 128 with auto. maxNumBatchedTokens 8192 can stay."
    )


def test_scales_are_counted() -> None:
    found = from_dtype(
        known(LARGE, gpus=8), known(LARGE, "int8_per_token_head", 8), "int8_per_token_head", 128, 8192
    )
    assert found is not None
    assert found.max_num_seqs == 248


def test_a_step_needs_a_token_for_each_sequence() -> None:
    found = from_dtype(known(LARGE, gpus=8), known(LARGE, "fp8", 8), "fp8", seqs=128, batched=200)
    assert found is not None
    assert found.max_num_batched_tokens == 256
    assert "must rise from 200 to 256" in found.why


def test_max_num_batched_tokens_is_not_mentioned_if_it_is_not_set() -> None:
    found = from_dtype(known(LARGE, gpus=8), known(LARGE, "fp8", 8), "fp8", seqs=128, batched=None)
    assert found is not None
    assert found.max_num_batched_tokens is None
    assert found.why.endswith("256 sequences with fp8 fit in the memory of 128 with auto.")


@pytest.mark.parametrize("model", ["openai/gpt-oss-120b", "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"])
def test_nothing_is_suggested_if_part_of_the_cache_does_not_get_smaller(model: str) -> None:
    assert from_dtype(known(model, gpus=2), known(model, "fp8", gpus=2), "fp8", 128, 8192) is None


def test_nothing_is_suggested_for_the_same_type() -> None:
    assert from_dtype(known(LARGE, gpus=8), known(LARGE, "bfloat16", 8), "bfloat16", 128, 8192) is None


def test_memory_holds_sequences_of_full_length() -> None:
    found = from_memory(known(LARGE, gpus=8), 50 * GIB, context=32768, seqs=16, batched=8192)
    assert found is not None
    assert found.max_num_seqs == 40
    assert found.why == (
        "50.0Gi of cache per GPU hold 40 sequences of 32768 tokens at 1.25Gi each. maxNumSeqs may rise from 16 to 40. "
        "maxNumBatchedTokens 8192 can stay."
    )


def test_limits_do_not_rise_if_memory_is_full() -> None:
    assert from_memory(known(LARGE, gpus=8), 50 * GIB, context=32768, seqs=40, batched=8192) is None


@given(memory=st.integers(1, 1 << 40), context=st.integers(1, 1 << 20), seqs=st.integers(1, 1024))
def test_a_suggestion_fits(memory: int, context: int, seqs: int) -> None:
    of = known("openai/gpt-oss-120b", gpus=2)
    found = from_memory(of, memory, context, seqs, batched=8192)
    assert found is None or found.max_num_seqs * of.sequence_bytes(context, 16384) <= memory
