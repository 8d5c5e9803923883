"""How a model's cache is cut into blocks, and what that makes of bytes and tokens.

The rules are vLLM 0.33.0's (v1/core/kv_cache_planning.py, v1/kv_offload/cpu/spec.py) and were held against its own
classes for every architecture in `families` of `data/models.yaml`. They hold for blocks in the default order (layer
outside, block inside), for prefix caching with states kept at block ends, and for tensor parallelism alone.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from kvtier.sizing.architectures import Cached, Kind, Layers

BLOCK = 16
"""Tokens of a block unless the attention kernel wants more: some for MLA want 64 or 128."""

_PAGE = 4096
"""What a chunk in host memory is padded to."""
_UNEVEN = 1.5
"""Groups have as many layers as the rarest kind, or as the commonest where that is less than this much more."""


@dataclass(frozen=True)
class Group:
    """Layers that get their blocks together: `tokens` per block, and the `span` that they look back at."""

    kind: Kind
    layers: int
    tokens: int
    span: int | None = None


@dataclass(frozen=True)
class Geometry:
    """`block_bytes` is one block on one GPU. A chunk in a tier holds the bytes of `copies` GPUs."""

    groups: tuple[Group, ...]
    block_bytes: int
    copies: int

    def of_one_gpu(self) -> "Geometry":
        """The same with chunks that hold what one GPU caches."""
        return replace(self, copies=1)

    def hbm_token_bytes(self) -> Fraction:
        """Bytes that one more token of a long sequence takes on each GPU."""
        full = (Fraction(self.block_bytes, group.tokens) for group in self.groups if group.kind == "Full")
        return sum(full, Fraction(0))

    def sequence_bytes(self, tokens: int, in_flight: int) -> int:
        """Most bytes that one sequence of `tokens` holds on each GPU with `in_flight` tokens scheduled."""
        return self.block_bytes * sum(_blocks(group, tokens, in_flight) for group in self.groups)

    def tier_token_bytes(self) -> Fraction:
        """Bytes per token in a tier, at most: every group's chunks are as large as the largest group's."""
        whole = self.block_bytes * self.copies
        return sum((Fraction(whole, group.tokens) for group in self.groups), Fraction(0))

    def chunk_bytes(self, blocks: int) -> int:
        """Size of a chunk of `blocks` blocks in host memory, and of its file."""
        return -(-self.block_bytes * self.copies * blocks // _PAGE) * _PAGE

    def chunk_tokens(self, blocks: int) -> int:
        """Most tokens that one chunk of `blocks` blocks stands for: shorter ends of prompts are not kept."""
        return blocks * max(group.tokens for group in self.groups)

    def tier_tokens(self, size: int) -> int:
        """Tokens that a tier of `size` bytes holds, at least."""
        return int(size / self.tier_token_bytes())


def geometry(cached: Cached, gpus: int, block: int = BLOCK) -> Geometry:
    """Blocks of a model on `gpus` GPUs whose attention kernel takes blocks of `block` tokens."""
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
    """Groups of one kind, none larger than `group_size`, dealt in turn."""
    number = math.ceil(layers.count / group_size)
    sizes = (len(range(first, layers.count, number)) for first in range(number))
    return [Group(layers.kind, count, tokens, layers.span) for count in sizes]


def _tokens(layers: Layers, tokens: int, page: int) -> int:
    """Tokens of a block that fills a page: smaller layers get more, if that comes out even, else padding."""
    smaller = layers.size * tokens
    even = layers.kind != "State" and page % smaller == 0
    return tokens * (page // smaller) if even else tokens


def _state_block(cached: Cached, block: int) -> int:
    """Tokens that make an attention layer's page at least as large as a state."""
    state = next(one.size for one in cached.layers if one.kind == "State")
    token = next(one.size for one in cached.layers if one.kind == "Full")
    step = math.lcm(block, cached.align)
    return step * math.ceil(state / (step * token))


def _blocks(group: Group, tokens: int, in_flight: int) -> int:
    """Blocks that a group holds for one sequence. Of a state: the last, the next, and one from within a long prompt."""
    if group.kind == "State":
        return 3
    if group.span is None:
        return math.ceil(tokens / group.tokens)
    kept = group.span + in_flight
    if group.kind == "Chunk":
        return math.ceil(min(kept, tokens) / group.tokens)
    return math.ceil(min(kept - 1, tokens) / group.tokens) + 1
