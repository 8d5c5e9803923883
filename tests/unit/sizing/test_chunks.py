"""How many blocks make a chunk."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtier.data import table as data
from kvtier.sizing.architectures import cached
from kvtier.sizing.chunks import Chunk, cut, described, suited
from kvtier.sizing.geometry import Geometry, Group, geometry
from unit.sizing.known import config, known
from unit.tables import table

MIB = 1 << 20


@table(
    "geometry, shared, found",
    {
        "a large model has the default number of blocks": (
            known("meta-llama/Llama-3.3-70B-Instruct", gpus=8),
            True,
            Chunk(16, 80 * MIB, 256),
        ),
        "so does a model whose files are just large enough": (
            known("meta-llama/Llama-3.1-8B-Instruct", dtype="fp8"),
            True,
            Chunk(16, 16 * MIB, 256),
        ),
        "files that are too small for a shared tier get more blocks": (
            known("openai/gpt-oss-20b"),
            True,
            Chunk(64, 24 * MIB, 1024),
        ),
        "but not without a shared tier": (known("openai/gpt-oss-20b"), False, Chunk(16, 6 * MIB, 256)),
        "a latent in 8 bits": (known("deepseek-ai/DeepSeek-V3", "fp8", 8), True, Chunk(32, 17989632, 512)),
        "long blocks of models with states are not combined": (
            known("Qwen/Qwen3.5-35B-A3B"),
            True,
            Chunk(1, 22282240, 1088),
        ),
        "a single block may exceed the limit of tokens": (
            known("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"),
            True,
            Chunk(1, 12877824, 2096),
        ),
        "an unknown model": (None, True, Chunk(16)),
    },
)
def test_a_chunk(geometry: Geometry | None, shared: bool, found: Chunk) -> None:
    assert cut(geometry, suited(geometry, usual=16, shared=shared)) == found


@pytest.mark.parametrize("model", data("models")["models"])
@pytest.mark.parametrize("gpus", [1, 8])
def test_files_on_a_shared_tier_are_large_or_have_the_most_tokens(model: str, gpus: int) -> None:
    layers = cached(config(model), "auto", gpus)
    of = geometry(layers, gpus) if layers else None
    found = cut(of, suited(of, usual=16, shared=True))
    assert not found.small() or (found.tokens or 0) * 2 > 2048


@given(
    tokens=st.integers(1, 4096), size=st.integers(1, 1 << 24), copies=st.integers(1, 16), shared=st.booleans()
)
def test_the_search_always_ends(tokens: int, size: int, copies: int, shared: bool) -> None:
    of = Geometry((Group("Full", 1, tokens),), size, copies)
    found = cut(of, suited(of, usual=16, shared=shared))
    assert found.blocks >= 1
    assert found.tokens == found.blocks * tokens
    assert found.blocks == 1 or found.tokens <= 2048


@table(
    "found, shared, text",
    {
        "tokens and bytes": (Chunk(16, 32 * MIB, 256), True, "chunks of 256 tokens in files of 32Mi"),
        "small files on a shared tier": (
            Chunk(16, 6 * MIB, 2048),
            True,
            "chunks of 2048 tokens in files of 6Mi; at least 16Mi is recommended on a shared tier",
        ),
        "small files without a shared tier": (
            Chunk(16, 6 * MIB, 256),
            False,
            "chunks of 256 tokens in files of 6Mi",
        ),
        "an unknown model": (
            Chunk(16),
            True,
            "chunks of 16 blocks; their size is unknown for this model",
        ),
    },
)
def test_the_description(found: Chunk, shared: bool, text: str) -> None:
    assert described(found, shared) == text
