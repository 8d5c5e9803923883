"""What `kvtier check` prints: prerequisites, and of every model bytes, chunks, tokens and how far limits may rise."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from kvtier.api.conditions import Condition
from kvtier.api.quantities import GIB, canonical
from kvtier.api.v1alpha1 import ServedModel, Tiers
from kvtier.context import Context, ModelView, shared_in_spec
from kvtier.plan.model_sizes import suggestion
from kvtier.sizing.chunks import described
from kvtier.sizing.geometry import Geometry
from kvtier.sizing.suggestions import from_memory

_COLOURS = {"True": "green", "False": "red", "Unknown": "yellow"}


@dataclass(frozen=True)
class Checked:
    """A pool as it would be in the cluster, and its prerequisites."""

    context: Context
    conditions: tuple[Condition, ...]

    @property
    def name(self) -> str:
        pool = self.context.pool
        return f"{pool.namespace}/{pool.name}"


def show(results: Sequence[Checked], gpu_cache: int | None) -> None:
    """Print tables. `gpu_cache` is what vLLM has for the cache on each GPU, in bytes, where that is known."""
    console = Console()
    for one in results:
        console.print(_prerequisites(one))
        failed, unseen = (sum(c.status == status for c in one.conditions) for status in ("False", "Unknown"))
        held = len(one.conditions) - failed - unseen
        console.print(f"{held} hold, {failed} do not, {unseen} cannot be seen\n")
        console.print(_models(one, gpu_cache))
        console.print()


def _prerequisites(of: Checked) -> Table:
    """Messages are Text, because they may quote brackets that rich would take for markup."""
    table = Table(
        "Prerequisite", "Status", "What was seen, and what to do", title=of.name, title_justify="left"
    )
    for condition in of.conditions:
        status = Text(condition.status, style=_COLOURS[condition.status])
        table.add_row(condition.type, status, Text(condition.message))
    return table


def _models(of: Checked, gpu_cache: int | None) -> Table:
    table = Table("Model", "Of", "What kvtier counts", title=f"Models of {of.name}", title_justify="left")
    for model in of.context.models:
        for index, (subject, text) in enumerate(rows(of.context, model, gpu_cache)):
            table.add_row(Text("" if index else model.spec.name), subject, Text(text))
        table.add_section()
    return table


Row = tuple[str, str]
"""Subject and sentence."""


def rows(context: Context, model: ModelView, gpu_cache: int | None) -> Iterator[Row]:
    """What kvtier counts of a model; `gpu_cache` as in `show`."""
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
