"""How a model's cache is divided into blocks, and the bytes and tokens that follow.

The rules are those of vLLM 0.33.0 (v1/core/kv_cache_planning.py, v1/kv_offload/cpu/spec.py). They were compared with
its classes for every architecture in `families` of `data/models.yaml`. They assume blocks in the default order (layer
outside, block inside), prefix caching with states kept at block ends, and no parallelism but tensor parallelism.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from kvtier.sizing.architectures import Cached, Kind, Layers

BLOCK = 16
"""Tokens of a block, unless the attention kernel needs more: some kernels for MLA need 64 or 128."""

_PAGE = 4096
"""Chunks in host memory are padded to a multiple of this."""
_UNEVEN = 1.5
"""A group has as many layers as the rarest kind, or as the most frequent kind if the ratio is below this."""


@dataclass(frozen=True)
class Group:
    """Layers that get their blocks together: `tokens` per block, and the `span` of tokens that they attend to."""

    kind: Kind
    layers: int
    tokens: int
    span: int | None = None


@dataclass(frozen=True)
class Geometry:
    """`block_bytes`: bytes of one block on one GPU. A chunk in a tier holds the bytes of `copies` GPUs."""

    groups: tuple[Group, ...]
    block_bytes: int
    copies: int

    def of_one_gpu(self) -> "Geometry":
        """The same geometry with chunks that hold the bytes of one GPU."""
        return replace(self, copies=1)

    def hbm_token_bytes(self) -> Fraction:
        """Bytes on each GPU for one more token of a long sequence."""
        full = (Fraction(self.block_bytes, group.tokens) for group in self.groups if group.kind == "Full")
        return sum(full, Fraction(0))

    def sequence_bytes(self, tokens: int, in_flight: int) -> int:
        """Most bytes on each GPU for one sequence of `tokens`, of which `in_flight` are scheduled."""
        return self.block_bytes * sum(_blocks(group, tokens, in_flight) for group in self.groups)

    def tier_token_bytes(self) -> Fraction:
        """Most bytes per token in a tier: the chunks of every group are as large as those of the largest."""
        whole = self.block_bytes * self.copies
        return sum((Fraction(whole, group.tokens) for group in self.groups), Fraction(0))

    def chunk_bytes(self, blocks: int) -> int:
        """Size of a chunk of `blocks` blocks in host memory, and of its file."""
        return -(-self.block_bytes * self.copies * blocks // _PAGE) * _PAGE

    def chunk_tokens(self, blocks: int) -> int:
        """Most tokens of one chunk of `blocks` blocks. The end of a prompt that does not fill a chunk is not kept."""
        return blocks * max(group.tokens for group in self.groups)

    def tier_tokens(self, size: int) -> int:
        """Least tokens that a tier of `size` bytes holds."""
        return int(size / self.tier_token_bytes())


def geometry(cached: Cached, gpus: int, block: int = BLOCK) -> Geometry:
    """The geometry of a model on `gpus` GPUs whose attention kernel uses blocks of `block` tokens."""
    copies = 1 if cached.one_copy else gpus
    layers = tuple(one for one in cached.layers if one.count)
    if cached.together or len(layers) == 1:
        each = sum(one.count * one.size for one in layers) * block
        first = layers[0]
        return Geometry(
            (Group(first.kind, sum(one.count for one in layers), block, first.span),), each, copies
        )
    tokens = _state_block(cached, block) if any(one.kind == "State" for one in layers) else block
    page = max(one.size * tokens for one in layers if one.kind != "State")
    groups = tuple(
        group for one in layers for group in _split(one, _group_size(layers), _tokens(one, tokens, page))
    )
    return Geometry(groups, max(group.layers for group in groups) * page, copies)


def _group_size(layers: tuple[Layers, ...]) -> int:
    least, most = min(one.count for one in layers), max(one.count for one in layers)
    return most if most < least * _UNEVEN else least


def _split(layers: Layers, group_size: int, tokens: int) -> list[Group]:
    """Layers of one kind in groups of at most `group_size`, distributed in turn."""
    number = math.ceil(layers.count / group_size)
    sizes = (len(range(first, layers.count, number)) for first in range(number))
    return [Group(layers.kind, count, tokens, layers.span) for count in sizes]


def _tokens(layers: Layers, tokens: int, page: int) -> int:
    """Tokens of a block that fills a page. Smaller layers get more tokens if that fills it exactly, else padding."""
    smaller = layers.size * tokens
    even = layers.kind != "State" and page % smaller == 0
    return tokens * (page // smaller) if even else tokens


def _state_block(cached: Cached, block: int) -> int:
    """Tokens of a block with which a page of an attention layer is at least as large as a state."""
    state = next(one.size for one in cached.layers if one.kind == "State")
    token = next(one.size for one in cached.layers if one.kind == "Full")
    step = math.lcm(block, cached.align)
    return step * math.ceil(state / (step * token))


def _blocks(group: Group, tokens: int, in_flight: int) -> int:
    """Blocks of a group for one sequence. For states: the last, the next, and one in the middle of a long prompt."""
    if group.kind == "State":
        return 3
    if group.span is None:
        return math.ceil(tokens / group.tokens)
    kept = group.span + in_flight
    if group.kind == "Chunk":
        return math.ceil(min(kept, tokens) / group.tokens)
    return math.ceil(min(kept - 1, tokens) / group.tokens) + 1
