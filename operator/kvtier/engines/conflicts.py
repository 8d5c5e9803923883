"""What of a model its engine would not start with, or would get wrong, although the API takes it."""

from kvtier.api.v1alpha1 import ServedModel
from kvtier.data.engines import ENGINES, LMCACHE, Conflict
from kvtier.data.vllm_flags import given
from kvtier.engines.versions import facts


def lmcache_fault(vllm: str, lmcache: str, groups: int | None) -> str | None:
    """Why LMCache cannot serve here, or None. `groups` is how many groups of layers the model has, None if unknown."""
    if not any((pair.vllm, pair.lmcache) == (vllm, lmcache) for pair in LMCACHE.pairs):
        pairs = ", ".join(f"vLLM {pair.vllm} with LMCache {pair.lmcache}" for pair in LMCACHE.pairs)
        return f"vLLM {vllm} with LMCache {lmcache} was not seen to give right tokens: supported are {pairs}"
    if groups is not None and groups > 1:
        return f"LMCache cannot cache a model with {groups} groups of layers: use engine.backend Native"
    return None


# vLLM's file tier names a directory after the model (v1/kv_offload/file_mapper.py, 0.33.0), LMCache every file
# (v1/distributed/l2_adapters/fs_l2_adapter.py, 0.5.6), whose keys also take no `@`.
_LONGEST = 255
"""Bytes of one name in the file systems of Linux, Lustre's included."""
_BESIDE = {"Native": len("_0123456789ab_r0"), "LMCache": len("@0x01000100@0@.data.tmp") + 64}
"""Bytes that stand in the same name."""
_SLASH = {"Native": "_", "LMCache": "-SEP-"}


def file_name_fault(model: ServedModel) -> str | None:
    """Why the model's text cannot be a part of the names of its cache files, or None."""
    backend = model.engine.backend
    if backend == "LMCache" and "@" in model.model:
        return "LMCache does not take a model with @ in its name: use backend Native, or a path without it"
    size, most = len(model.model.replace("/", _SLASH[backend]).encode()), _LONGEST - _BESIDE[backend]
    if size <= most:
        return None
    return (
        f"{backend} names cache files after the model, whose text takes {size} bytes there where {most} fit: use a "
        "shorter path"
    )


def setting_conflict(model: ServedModel, tiered: bool) -> str | None:
    """What of extraArgs and env cannot stay, what it collides with, and what to do; None if nothing does.

    `tiered` is whether the engine has a CPU tier, which makes it one with a KV connector.
    """
    rows = (row for row in ENGINES.conflicts if tiered or not row.tiered)
    found = (_collision(row, model) for row in rows)
    return next((text for text in found if text), None) or _whole_prompts(model) or _unseen_layout(model)


def _collision(row: Conflict, model: ServedModel) -> str | None:
    seen = _variable(row, model) if row.variable else _flag(row, model)
    if seen is None or given(model.extra_args, row.unless):
        return None
    return f"{seen} does not go together with {row.against}: {row.remedy}"


def _flag(row: Conflict, model: ServedModel) -> str | None:
    for one in given(model.extra_args, row.flags):
        if row.above is None:
            return f"{one.flag} of extraArgs"
        if one.value.isdecimal() and int(one.value) > row.above:
            return f"{one.flag} {one.value} of extraArgs"
    return None


def _variable(row: Conflict, model: ServedModel) -> str | None:
    named = [one for one in model.env if one.name == row.variable and row.contains in (one.value or "")]
    return f"{row.variable}={named[0].value} of env" if named else None


_CHUNKED = ("--enable-chunked-prefill", "--no-enable-chunked-prefill")


def _whole_prompts(model: ServedModel) -> str | None:
    """Without chunked prefill a whole prompt has to fit into one step (vllm/config/scheduler.py)."""
    switches = given(model.extra_args, _CHUNKED)
    batched, longest = model.max_num_batched_tokens, model.max_model_len
    if not switches or not switches[-1].flag.startswith("--no-") or batched is None or longest is None:
        return None
    if batched >= longest:
        return None
    return (
        f"{switches[-1].flag} of extraArgs does not go together with maxNumBatchedTokens {batched} and maxModelLen "
        f"{longest}, as a prompt of that length does not fit into one step: leave it out, or raise maxNumBatchedTokens"
    )


def _unseen_layout(model: ServedModel) -> str | None:
    """What decides the cache directory has to be known when it is named."""
    known = facts(model).layout_variables
    name = next((one.name for one in model.env if one.name in known and one.value_from), None)
    if name is None:
        return None
    return (
        f"{name} of env changes the bytes of cached blocks, so kvtier has to see its value: give it as value"
    )
