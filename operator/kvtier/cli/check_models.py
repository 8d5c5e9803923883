"""What `kvtier check` says of the models of a pool: bytes, chunks, tokens, and how far limits may rise."""

import math
from collections.abc import Iterator

from kvtier.api.quantities import GIB, canonical
from kvtier.api.v1alpha1 import ServedModel, Tiers
from kvtier.context import Context, ModelView, shared_in_spec
from kvtier.plan.model_sizes import suggestion
from kvtier.sizing.chunks import described
from kvtier.sizing.geometry import Geometry
from kvtier.sizing.suggestions import from_memory

Row = tuple[str, str]


def rows(context: Context, model: ModelView, gpu_cache: int | None) -> Iterator[Row]:
    """Subject and sentence. `gpu_cache` is what vLLM has for the cache on each GPU, in bytes, where that is known."""
    geometry = model.geometry
    if geometry is None:
        yield "a token", f"its bytes are not known: {_why_unknown(model)}"
    else:
        each = math.ceil(geometry.tier_token_bytes())
        yield "a token", f"takes {each:,} bytes in a tier, for all GPUs of a Pod"
    yield "a file", described(model.chunk, shared_in_spec(context.pool))
    if geometry is None:
        return
    yield from _tiers(context.pool.spec.tiers, geometry)
    suggested = suggestion(model, context.pool.spec.node_pool.accelerator.type)
    if suggested:
        yield "maxNumSeqs", suggested
    if gpu_cache is not None:
        yield "GPU memory", _in_memory(model.spec, geometry, gpu_cache)


def _tiers(tiers: Tiers, geometry: Geometry) -> Iterator[Row]:
    sizes = {
        "cpu, per Pod": tiers.cpu.capacity.bytes if tiers.cpu else 0,
        "localSSD, per Pod": tiers.local_ssd.capacity.bytes if tiers.local_ssd else 0,
        "lustre, of all Pods": tiers.lustre.size if tiers.lustre else 0,
    }
    for name, size in sizes.items():
        if size:
            yield name, f"{canonical(size)} hold {geometry.tier_tokens(size):,} tokens"


def _why_unknown(model: ModelView) -> str:
    if model.document.unread:
        return "the ConfigMap of modelConfigFrom may not be read"
    if model.document.fault:
        return model.document.fault
    if model.config is None:
        return "kvtier has no config.json of this model, or of this revision: give it in modelConfigFrom"
    return "kvtier has no numbers for this architecture, kvCacheDtype, tensorParallelSize or these extraArgs"


def _in_memory(model: ServedModel, geometry: Geometry, size: int) -> str:
    """What fits, counted with the longest context for every sequence."""
    context, seqs, batched = model.max_model_len, model.max_num_seqs, model.max_num_batched_tokens
    if context is None or seqs is None or batched is None:
        return "set maxModelLen, maxNumSeqs and maxNumBatchedTokens to see what fits: else vLLM chooses them"
    found = from_memory(geometry, size, context, seqs, batched)
    if found:
        return found.why
    each = geometry.sequence_bytes(context, 2 * batched)
    fit = size // each
    verdict = (
        "is that number" if fit == seqs else "is more, so vLLM has to interrupt some if all are that long"
    )
    return (
        f"{size / GIB:.1f}Gi of cache per GPU hold {fit} sequences of {context} tokens at {each / GIB:.2f}Gi each: "
        f"maxNumSeqs {seqs} {verdict}"
    )
