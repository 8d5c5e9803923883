"""Settings that the API accepts, but with which the engine does not start or gives wrong results."""

from kvtier.api.v1alpha1 import ServedModel
from kvtier.data.cache_rules import CACHE_RULES
from kvtier.data.engines import ENGINES, LMCACHE, Conflict
from kvtier.data.vllm_flags import given


def pair_fault(vllm: str, lmcache: str) -> str | None:
    """Why these versions cannot be used together, or None."""
    if any((pair.vllm, pair.lmcache) == (vllm, lmcache) for pair in LMCACHE.pairs):
        return None
    pairs = ", ".join(f"vLLM {pair.vllm} with LMCache {pair.lmcache}" for pair in LMCACHE.pairs)
    return f"vLLM {vllm} with LMCache {lmcache} is not tested. kvtier supports {pairs}."


def groups_fault(groups: int | None) -> str | None:
    """Why LMCache cannot cache a model with this number of groups of layers (None: unknown), or None."""
    if groups is None or groups == 1:
        return None
    return f"LMCache cannot cache a model with {groups} groups of layers. Use engine.backend Native."


# The model's name is part of a directory name in vLLM's file tier (v1/kv_offload/file_mapper.py, 0.33.0), and of every
# file name in LMCache (v1/distributed/l2_adapters/fs_l2_adapter.py, 0.5.6), where it must not contain `@`.
_LONGEST = 255
"""Most bytes of one file name on Linux, also on Lustre."""
_BESIDE = {"Native": len("_0123456789ab_r0"), "LMCache": len("@0x01000100@0@.data.tmp") + 64}
"""Bytes of the rest of that name."""
_SLASH = {"Native": "_", "LMCache": "-SEP-"}


def file_name_fault(model: ServedModel) -> str | None:
    """Why the model's name cannot be part of the names of its cache files, or None."""
    backend = model.engine.backend
    if backend == "LMCache" and "@" in model.model:
        return "LMCache does not support @ in the name of a model. Use engine.backend Native, or a path without @."
    size, most = len(model.model.replace("/", _SLASH[backend]).encode()), _LONGEST - _BESIDE[backend]
    if size <= most:
        return None
    return (
        f"{backend} names cache files after the model. Its name takes {size} bytes, but at most {most} fit. Use a "
        "shorter path."
    )


def setting_conflict(model: ServedModel, tiered: bool) -> str | None:
    """A conflict of extraArgs or env with what kvtier renders, and what to do, or None.

    `tiered` is whether the engine has a CPU tier, and with it a KV connector.
    """
    rows = (row for row in ENGINES.conflicts if tiered or not row.tiered)
    found = (_collision(row, model) for row in rows)
    return next((text for text in found if text), None) or _whole_prompts(model) or _unseen_layout(model)


def _collision(row: Conflict, model: ServedModel) -> str | None:
    seen = _variable(row, model) if row.variable else _flag(row, model)
    if seen is None or given(model.extra_args, row.unless):
        return None
    return f"{seen} conflicts with {row.against}. {row.remedy}."


def _flag(row: Conflict, model: ServedModel) -> str | None:
    for one in given(model.extra_args, row.flags):
        if row.above is None:
            return f"{one.flag} in extraArgs"
        if one.value.isdecimal() and int(one.value) > row.above:
            return f"{one.flag} {one.value} in extraArgs"
    return None


def _variable(row: Conflict, model: ServedModel) -> str | None:
    named = [one for one in model.env if one.name == row.variable and row.contains in (one.value or "")]
    return f"{row.variable}={named[0].value} in env" if named else None


_CHUNKED = ("--enable-chunked-prefill", "--no-enable-chunked-prefill")


def _whole_prompts(model: ServedModel) -> str | None:
    """Without chunked prefill, a whole prompt must fit into one step (vllm/config/scheduler.py)."""
    switches = given(model.extra_args, _CHUNKED)
    batched, longest = model.max_num_batched_tokens, model.max_model_len
    if not switches or not switches[-1].flag.startswith("--no-") or batched is None or longest is None:
        return None
    if batched >= longest:
        return None
    return (
        f"{switches[-1].flag} in extraArgs conflicts with maxNumBatchedTokens {batched} and maxModelLen {longest}: "
        "a prompt of that length does not fit into one step. Remove the flag, or raise maxNumBatchedTokens."
    )


def _unseen_layout(model: ServedModel) -> str | None:
    """A variable that is part of the name of the cache directory must have a value that kvtier knows."""
    known = CACHE_RULES.first.variables
    name = next((one.name for one in model.env if one.name in known and one.value_from), None)
    if name is None:
        return None
    return (
        f"{name} in env changes the bytes of cached blocks, so kvtier must know it. Set it with value, not with "
        "valueFrom."
    )
