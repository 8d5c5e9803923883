"""How far limits of the scheduler may rise when sequences take less GPU memory. Arithmetic, no promise of speed."""

import math
from dataclasses import dataclass

from kvtier.api.quantities import GIB
from kvtier.sizing.geometry import Geometry


@dataclass(frozen=True)
class Suggestion:
    """Limits that fit, and how they come about in one sentence."""

    max_num_seqs: int
    max_num_batched_tokens: int | None
    why: str


def from_memory(
    geometry: Geometry, cache_bytes: int, context: int, seqs: int, batched: int
) -> Suggestion | None:
    """Limits for `cache_bytes` of cache on each GPU and sequences of up to `context` tokens; None if none rises.

    Every sequence counts in full length, so that none has to be interrupted for another. A lower tier changes
    nothing here: vLLM already evicts what no sequence uses, and a tier only makes that cheaper.
    """
    each = geometry.sequence_bytes(context, 2 * batched)
    fit = cache_bytes // each
    if fit <= seqs:
        return None
    why = (
        f"{cache_bytes / GIB:.1f}Gi of cache per GPU hold {fit} sequences of {context} tokens at {each / GIB:.2f}Gi "
        f"each, so maxNumSeqs may rise from {seqs} to {fit}"
    )
    return Suggestion(fit, max(batched, fit), _with_batched(why, batched, fit))


def from_dtype(
    before: Geometry, after: Geometry, dtype: str, seqs: int, batched: int | None
) -> Suggestion | None:
    """Limits with `dtype` for `seqs` sequences with `auto`, in the same memory; None unless a token is smaller.

    Scaled by what one more token takes, and rounded down. Windows and states do not grow with a sequence, and
    pages of states do not get smaller with the type, so models that have them are not covered.
    """
    if any(group.kind != "Full" for group in (*before.groups, *after.groups)):
        return None
    old, new = before.hbm_token_bytes(), after.hbm_token_bytes()
    fit = math.floor(seqs * old / new)
    if fit <= seqs:
        return None
    why = (
        f"kvCacheDtype {dtype} takes {math.ceil(new)} bytes per token and GPU where auto takes {math.ceil(old)}, so "
        f"{fit} sequences fit where {seqs} of auto do"
    )
    return Suggestion(fit, max(batched, fit) if batched else None, _with_batched(why, batched, fit))


def _with_batched(why: str, batched: int | None, seqs: int) -> str:
    """The tokens of a step take working memory, not cache, so they rise only where sequences demand it."""
    if batched is None:
        return why
    if batched >= seqs:
        return f"{why}; maxNumBatchedTokens {batched} can stay"
    return f"{why}; maxNumBatchedTokens must rise from {batched} to {seqs}, at least one for each sequence"
