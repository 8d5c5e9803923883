"""How many blocks make a chunk."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtier.data import table as data
from kvtier.sizing.chunks import Chunk, cut, described, suited
from kvtier.sizing.geometry import Geometry, Group, geometry
from kvtier.sizing.models import cached, config_of
from unit.tables import table

MIB = 1 << 20


def _of(model: str, gpus: int = 1, dtype: str = "auto") -> Geometry:
    config = config_of(model)
    assert config is not None
    found = cached(config, dtype, gpus)
    assert found is not None
    return geometry(found, gpus)


@table(
    "geometry, shared, found",
    {
        "a large model keeps the usual number": (
            _of("meta-llama/Llama-3.3-70B-Instruct", 8),
            True,
            Chunk(16, 80 * MIB, 256),
        ),
        "and so does one whose files are just large enough": (
            _of("meta-llama/Llama-3.1-8B-Instruct", dtype="fp8"),
            True,
            Chunk(16, 16 * MIB, 256),
        ),
        "files that are too small for a shared tier get more": (
            _of("openai/gpt-oss-20b"),
            True,
            Chunk(64, 24 * MIB, 1024),
        ),
        "but not for a tier of one's own": (_of("openai/gpt-oss-20b"), False, Chunk(16, 6 * MIB, 256)),
        "a latent in 8 bits": (_of("deepseek-ai/DeepSeek-V3", 8, "fp8"), True, Chunk(32, 17989632, 512)),
        "blocks that states made long are not put together": (
            _of("Qwen/Qwen3.5-35B-A3B"),
            True,
            Chunk(1, 22282240, 1088),
        ),
        "not even where one is longer than a chunk should be": (
            _of("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"),
            True,
            Chunk(1, 12877824, 2096),
        ),
        "nothing is known of a model": (None, True, Chunk(16)),
    },
)
def test_a_chunk_of(geometry: Geometry | None, shared: bool, found: Chunk) -> None:
    assert cut(geometry, suited(geometry, usual=16, shared=shared)) == found


@pytest.mark.parametrize("model", data("models")["models"])
@pytest.mark.parametrize("gpus", [1, 8])
def test_files_on_a_shared_tier_are_large_or_stand_for_as_many_tokens_as_they_may(
    model: str, gpus: int
) -> None:
    config = config_of(model)
    assert config is not None
    known = cached(config, "auto", gpus)
    of = geometry(known, gpus) if known else None
    found = cut(of, suited(of, usual=16, shared=True))
    assert not found.small() or (found.tokens or 0) * 2 > 2048


@given(
    tokens=st.integers(1, 4096), size=st.integers(1, 1 << 24), copies=st.integers(1, 16), shared=st.booleans()
)
def test_it_always_comes_to_an_end(tokens: int, size: int, copies: int, shared: bool) -> None:
    of = Geometry((Group("Full", 1, tokens),), size, copies)
    found = cut(of, suited(of, usual=16, shared=shared))
    assert found.blocks >= 1
    assert found.tokens == found.blocks * tokens
    assert found.blocks == 1 or found.tokens <= 2048


@table(
    "found, shared, text",
    {
        "what it stands for": (Chunk(16, 32 * MIB, 256), True, "chunks of 256 tokens in files of 32Mi"),
        "that files are small": (
            Chunk(16, 6 * MIB, 2048),
            True,
            "chunks of 2048 tokens in files of 6Mi, less than the 16Mi that a shared tier likes",
        ),
        "nothing of that where nobody shares them": (
            Chunk(16, 6 * MIB, 256),
            False,
            "chunks of 256 tokens in files of 6Mi",
        ),
        "that nothing is known": (
            Chunk(16),
            True,
            "chunks of 16 blocks, of a model whose size in the cache kvtier does not know",
        ),
    },
)
def test_it_says(found: Chunk, shared: bool, text: str) -> None:
    assert described(found, shared) == text
