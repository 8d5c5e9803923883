"""What `kvtier check` prints: the prerequisites and, for every model, bytes, chunks, tokens and limits."""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Column, Table
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
    """A pool, as it would be in the cluster, and its prerequisites."""

    context: Context
    conditions: tuple[Condition, ...]

    @property
    def name(self) -> str:
        pool = self.context.pool
        return f"{pool.namespace}/{pool.name}"

    def fails(self, statuses: Collection[str]) -> bool:
        """Whether a prerequisite has one of `statuses`, and the user does not vouch for it."""
        spec = self.context.pool.spec
        return any(one.status in statuses and not spec.acknowledges(one) for one in self.conditions)


def show(results: Sequence[Checked], gpu_cache: int | None) -> None:
    """Print tables. `gpu_cache`: bytes for the KV cache on each GPU, where they are known."""
    console = Console()
    for one in results:
        console.print(_prerequisites(one))
        statuses = [condition.status for condition in one.conditions]
        passed, failed, unknown = (statuses.count(status) for status in ("True", "False", "Unknown"))
        console.print(f"{passed} passed, {failed} failed, {unknown} unknown\n")
        console.print(_models(one, gpu_cache))
        console.print()


def _whole(header: str) -> Column:
    """A column that wraps long names, where rich would cut them."""
    return Column(header, overflow="fold")


def _prerequisites(of: Checked) -> Table:
    """Messages are Text, because rich would read brackets in them as markup."""
    table = Table("Prerequisite", "Status", _whole("Message"), title=of.name, title_justify="left")
    for condition in of.conditions:
        status = Text(condition.status, style=_COLOURS[condition.status])
        table.add_row(condition.type, status, Text(condition.message))
    return table


def _models(of: Checked, gpu_cache: int | None) -> Table:
    table = Table("Model", "Item", _whole("Estimate"), title=f"Models of {of.name}", title_justify="left")
    for model in of.context.models:
        for index, (subject, text) in enumerate(rows(of.context, model, gpu_cache)):
            table.add_row(Text("" if index else model.spec.name), subject, Text(text))
        table.add_section()
    return table


Row = tuple[str, str]
"""Item and estimate."""


def rows(context: Context, model: ModelView, gpu_cache: int | None) -> Iterator[Row]:
    """The estimates for a model; `gpu_cache` as in `show`."""
    geometry = model.geometry
    if geometry is None:
        yield "one token", f"size unknown: {_why_unknown(model)}"
    else:
        each = math.ceil(geometry.tier_token_bytes())
        yield "one token", f"{each:,} bytes in a tier, for all GPUs of a Pod"
    yield "one file", described(model.chunk, shared_in_spec(context.pool))
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
        "cpu tier, per Pod": tiers.cpu.capacity.bytes if tiers.cpu else 0,
        "localSSD tier, per Pod": tiers.local_ssd.capacity.bytes if tiers.local_ssd else 0,
        "lustre tier, all Pods": tiers.lustre.size if tiers.lustre else 0,
    }
    for name, size in sizes.items():
        if size:
            yield name, f"{canonical(size)} holds {geometry.tier_tokens(size):,} tokens"


def _why_unknown(model: ModelView) -> str:
    if model.document.unread:
        return "kvtier may not read the ConfigMap of modelConfigFrom"
    if model.document.fault:
        return model.document.fault
    if model.config is None:
        return "kvtier has no config.json for this model and revision; set modelConfigFrom"
    return "kvtier has no data for this architecture, kvCacheDtype, tensorParallelSize or these extraArgs"


def _in_memory(model: ServedModel, geometry: Geometry, size: int) -> str:
    """How many sequences of the longest context fit."""
    context, seqs, batched = model.max_model_len, model.max_num_seqs, model.max_num_batched_tokens
    if context is None or seqs is None or batched is None:
        return "Set maxModelLen, maxNumSeqs and maxNumBatchedTokens for an estimate; otherwise vLLM chooses them."
    found = from_memory(geometry, size, context, seqs, batched)
    if found:
        return found.why
    each = geometry.sequence_bytes(context, 2 * batched)
    fit = size // each
    hold = f"{size / GIB:.1f}Gi of cache per GPU hold {fit} sequences of {context} tokens at {each / GIB:.2f}Gi each."
    if fit == seqs:
        return f"{hold} That is maxNumSeqs."
    return f"{hold} maxNumSeqs {seqs} is higher: vLLM preempts some sequences if all of them are that long."
