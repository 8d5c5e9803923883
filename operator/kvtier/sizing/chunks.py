"""How many blocks make a chunk, and the bytes and tokens of a chunk."""

from dataclasses import dataclass

from kvtier.api.quantities import canonical
from kvtier.data.engines import ENGINES
from kvtier.sizing.geometry import Geometry

_MIB = 1 << 20


@dataclass(frozen=True)
class Chunk:
    """`blocks` blocks that are cached as one file of `size` bytes for `tokens` tokens; None for an unknown model."""

    blocks: int
    size: int | None = None
    tokens: int | None = None

    def small(self) -> bool:
        """Whether its files are smaller than recommended for a shared tier."""
        return self.size is not None and self.size < _least()


def suited(geometry: Geometry | None, usual: int, shared: bool) -> int:
    """Blocks of a chunk: `usual`, unless files are then too small for a shared tier, or chunks have too many tokens.

    A chunk has at most `mostTokens` tokens: the number of blocks is halved until that holds (models that cache states
    have blocks of a thousand tokens), and for a shared tier doubled while files are too small. Sizes assume the
    smallest block that an attention kernel supports; kernels with larger blocks write larger files.
    """
    if geometry is None:
        return usual
    blocks, most = usual, ENGINES.chunk.most_tokens
    while blocks > 1 and geometry.chunk_tokens(blocks) > most:
        blocks //= 2
    while shared and geometry.chunk_bytes(blocks) < _least() and geometry.chunk_tokens(2 * blocks) <= most:
        blocks *= 2
    return blocks


def cut(geometry: Geometry | None, blocks: int) -> Chunk:
    """A chunk of so many blocks, with its bytes and tokens."""
    if geometry is None:
        return Chunk(blocks)
    return Chunk(blocks, geometry.chunk_bytes(blocks), geometry.chunk_tokens(blocks))


def described(found: Chunk, shared: bool) -> str:
    """The chunk in words, such as `chunks of 256 tokens in files of 32Mi`; for a shared tier with a warning."""
    if found.size is None:
        return f"chunks of {found.blocks} blocks; their size is unknown for this model"
    text = f"chunks of {found.tokens} tokens in files of {canonical(found.size)}"
    if shared and found.small():
        return f"{text}; at least {canonical(_least())} is recommended on a shared tier"
    return text


def _least() -> int:
    return ENGINES.chunk.file_mib * _MIB
