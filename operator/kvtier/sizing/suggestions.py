"""How far vLLM's limits may rise when sequences take less GPU memory. This is arithmetic, not a promise of speed."""

import math
from dataclasses import dataclass

from kvtier.api.quantities import GIB
from kvtier.sizing.geometry import Geometry


@dataclass(frozen=True)
class Suggestion:
    """Limits that fit, and the calculation in full sentences (`why`)."""

    max_num_seqs: int
    max_num_batched_tokens: int | None
    why: str


def from_memory(
    geometry: Geometry, cache_bytes: int, context: int, seqs: int, batched: int
) -> Suggestion | None:
    """Limits for `cache_bytes` of cache on each GPU and sequences of up to `context` tokens; None if none may rise.

    Every sequence counts with its full length, so that vLLM need not preempt one for another. Lower tiers do not change
    the result: vLLM evicts what no sequence uses with and without them.
    """
    each = geometry.sequence_bytes(context, 2 * batched)
    fit = cache_bytes // each
    if fit <= seqs:
        return None
    why = (
        f"{cache_bytes / GIB:.1f}Gi of cache per GPU hold {fit} sequences of {context} tokens at {each / GIB:.2f}Gi "
        f"each. maxNumSeqs may rise from {seqs} to {fit}."
    )
    return Suggestion(fit, max(batched, fit), _with_batched(why, batched, fit))


def from_dtype(
    before: Geometry, after: Geometry, dtype: str, seqs: int, batched: int | None
) -> Suggestion | None:
    """Limits with `dtype` in the memory that holds `seqs` sequences with `auto`; None unless a token is smaller.

    The result is scaled by the bytes of one more token and rounded down. Models with windows or states are not covered:
    these do not grow with a sequence, and pages of states do not get smaller with the type.
    """
    if any(group.kind != "Full" for group in (*before.groups, *after.groups)):
        return None
    old, new = before.hbm_token_bytes(), after.hbm_token_bytes()
    fit = math.floor(seqs * old / new)
    if fit <= seqs:
        return None
    why = (
        f"Per token and GPU, kvCacheDtype {dtype} takes {math.ceil(new)} bytes and auto takes {math.ceil(old)}. "
        f"{fit} sequences with {dtype} fit in the memory of {seqs} with auto."
    )
    return Suggestion(fit, max(batched, fit) if batched else None, _with_batched(why, batched, fit))


def _with_batched(why: str, batched: int | None, seqs: int) -> str:
    """Adds maxNumBatchedTokens, which rises only if there are more sequences: it takes working memory, not cache."""
    if batched is None:
        return why
    if batched >= seqs:
        return f"{why} maxNumBatchedTokens {batched} can stay."
    return f"{why} maxNumBatchedTokens must rise from {batched} to {seqs}, at least one per sequence."
