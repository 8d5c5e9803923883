"""How many blocks make a chunk, and what tiers hold in chunks and tokens."""

from dataclasses import dataclass

from kvtier.api.quantities import canonical
from kvtier.data.engines import ENGINES
from kvtier.sizing.geometry import Geometry

_MIB = 1 << 20


@dataclass(frozen=True)
class Chunk:
    """`blocks` blocks that are cached as one file, of `size` bytes and for `tokens`: None for an unknown model."""

    blocks: int
    size: int | None = None
    tokens: int | None = None

    def small(self) -> bool:
        """Whether its files are smaller than a shared tier likes them."""
        return self.size is not None and self.size < _least()


def suited(geometry: Geometry | None, usual: int, shared: bool) -> int:
    """Blocks of a chunk: `usual`, unless that makes files too small for a tier that Pods share, or chunks too long.

    Doubled for the sake of files while it stands for at most `mostTokens` tokens, halved while it stands for
    more: models that cache states have blocks of a thousand tokens. The size counts with blocks of the least
    tokens that a kernel takes: a kernel with larger blocks makes larger files.
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
    """What a chunk of so many blocks is."""
    if geometry is None:
        return Chunk(blocks)
    return Chunk(blocks, geometry.chunk_bytes(blocks), geometry.chunk_tokens(blocks))


def described(found: Chunk, shared: bool) -> str:
    """The chunk as a sentence, such as `chunks of 256 tokens in files of 32Mi`. Only a shared tier minds small ones."""
    if found.size is None:
        return f"chunks of {found.blocks} blocks, of a model whose size in the cache kvtier does not know"
    text = f"chunks of {found.tokens} tokens in files of {canonical(found.size)}"
    if shared and found.small():
        return f"{text}, less than the {canonical(_least())} that a shared tier likes"
    return text


def _least() -> int:
    return ENGINES.chunk.file_mib * _MIB
