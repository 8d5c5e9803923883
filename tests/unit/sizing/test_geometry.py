"""How a cache is divided into blocks: compared with vLLM's own classes, and by arithmetic."""

from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kvtier.sizing.architectures import Cached, Config, Layers
from kvtier.sizing.geometry import Geometry, Group, geometry
from unit.sizing.known import config, cut, known

VLLM = yaml.safe_load(Path(__file__).with_name("vllm_0_33.yaml").read_text(encoding="utf-8"))
LETTERS = {"W": "sliding_attention", "F": "full_attention"}


def config_named(name: str) -> Config:
    """The config.json of a model of the table, or of the expected values of vLLM."""
    inline = VLLM["configs"].get(name)
    if inline is None:
        return config(name)
    types = {"layer_types": [LETTERS[letter] for letter in inline["letters"]]} if "letters" in inline else {}
    return {**inline, **types}


@pytest.mark.parametrize(
    "case", VLLM["cases"], ids=lambda case: "{model}-{gpus}-{dtype}-{block}".format(**case)
)
def test_it_is_what_vllm_computes(case: dict[str, Any]) -> None:
    found = cut(config_named(case["model"]), case["dtype"], case["gpus"], case["block"])
    assert found.block_bytes == case["blockBytes"]
    assert found.copies == case["copies"]
    groups = Counter((group.kind, group.layers, group.tokens) for group in found.groups)
    assert groups == {(kind, layers, tokens): number for kind, layers, tokens, number in case["groups"]}


@pytest.mark.parametrize(
    ("model", "dtype", "gpus", "tokens", "size"),
    [
        ("meta-llama/Meta-Llama-3.1-8B", "auto", 1, 65536, 8589934592),
        ("openai/gpt-oss-120b", "auto", 2, 4096, 151289856),
        ("openai/gpt-oss-120b", "auto", 2, 65536, 1512603648),
        ("google/gemma-4-26B-A4B", "auto", 4, 1000, 62750720),
        ("google/gemma-4-26B-A4B", "auto", 4, 65536, 1563197440),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "auto", 8, 65536, 855638016),
        ("deepseek-ai/DeepSeek-V3", "auto", 8, 65536, 4605345792),
        ("Qwen/Qwen3.5-35B-A3B", "auto", 1, 1000, 222822400),
        ("Qwen/Qwen3.5-35B-A3B", "auto", 1, 65536, 1559756800),
        ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "auto", 2, 65536, 283312128),
        ("XiaomiMiMo/MiMo-V2-Flash", "auto", 4, 8192, 519966720),
    ],
)
def test_a_sequence_takes_the_memory_that_vllm_computes(
    model: str, dtype: str, gpus: int, tokens: int, size: int
) -> None:
    """_max_memory_usage_bytes_from_groups with 16384 tokens in flight."""
    assert known(model, dtype, gpus).sequence_bytes(tokens, 16384) == size


@pytest.mark.parametrize(
    ("model", "dtype", "size"),
    [
        ("meta-llama/Llama-3.3-70B-Instruct", "auto", 327_680),
        ("meta-llama/Llama-3.3-70B-Instruct", "fp8", 163_840),
        ("Qwen/Qwen3-32B", "auto", 262_144),
        ("meta-llama/Llama-3.1-8B-Instruct", "auto", 131_072),
        ("deepseek-ai/DeepSeek-V3", "auto", 70_272),
    ],
)
def test_bytes_per_token_of_well_known_models(model: str, dtype: str, size: int) -> None:
    found = known(model, dtype, gpus=1)
    assert found.hbm_token_bytes() == found.tier_token_bytes() == size


def test_repeated_heads_are_kept_once_for_every_gpu() -> None:
    eight, sixteen = (known("meta-llama/Meta-Llama-3.1-8B", "auto", gpus) for gpus in (8, 16))
    assert sixteen.block_bytes == eight.block_bytes
    assert sixteen.tier_token_bytes() == 2 * eight.tier_token_bytes()
    assert sixteen.of_one_gpu().tier_token_bytes() * 16 == sixteen.tier_token_bytes()


def test_a_latent_is_kept_once_for_any_number_of_gpus() -> None:
    assert known("deepseek-ai/DeepSeek-V3", "auto", 8) == known("deepseek-ai/DeepSeek-V3", "auto", 1)


def test_a_tier_holds_every_group_in_chunks_of_the_largest() -> None:
    found = Geometry((Group("Full", 6, 16), Group("Window", 6, 16, 128)), block_bytes=1600, copies=2)
    assert found.tier_token_bytes() == 2 * 2 * 100
    assert found.hbm_token_bytes() == 100
    assert found.tier_tokens(4000) == 10
    assert found.chunk_tokens(16) == 256


def test_a_chunk_is_padded_to_pages() -> None:
    assert Geometry((Group("Full", 1, 16),), block_bytes=1000, copies=1).chunk_bytes(4) == 4096


def test_groups_have_as_many_layers_as_the_most_frequent_kind_if_that_wastes_little() -> None:
    """gpt-oss with a draft model: 12 and 13 layers are one group each, not one and two."""
    found = geometry(Cached((Layers("Window", 12, 64, 128), Layers("Full", 13, 64))), gpus=1)
    assert [(group.kind, group.layers) for group in found.groups] == [("Window", 12), ("Full", 13)]
    assert found.block_bytes == 13 * 64 * 16


def test_layers_that_do_not_fill_a_page_exactly_are_padded() -> None:
    found = geometry(Cached((Layers("Full", 4, 100), Layers("Window", 4, 64, 128))), gpus=1)
    assert [group.tokens for group in found.groups] == [16, 16]
    assert found.block_bytes == 4 * 100 * 16


@given(
    counts=st.tuples(st.integers(1, 90), st.integers(1, 90)),
    sizes=st.tuples(st.integers(1, 64), st.integers(1, 64)),
    gpus=st.integers(1, 16),
)
def test_no_layer_is_lost_and_no_group_is_larger_than_a_block(
    counts: tuple[int, int], sizes: tuple[int, int], gpus: int
) -> None:
    layers = (Layers("Window", counts[0], sizes[0], 128), Layers("Full", counts[1], sizes[1]))
    found = geometry(Cached(layers), gpus)
    for one in layers:
        groups = [group for group in found.groups if group.kind == one.kind]
        assert sum(group.layers for group in groups) == one.count
        assert all(group.layers * one.size * group.tokens <= found.block_bytes for group in groups)


@given(size=st.integers(0, 10**15), blocks=st.integers(1, 512))
def test_a_tier_never_reports_more_tokens_than_it_holds(size: int, blocks: int) -> None:
    found = known("openai/gpt-oss-120b", "auto", 2)
    assert found.tier_tokens(size) * found.tier_token_bytes() <= size
    per_chunk = Fraction(found.chunk_bytes(blocks) * len(found.groups), found.chunk_tokens(blocks))
    assert per_chunk >= found.tier_token_bytes()
