"""`kvtier check`."""

import asyncio
import json
import logging
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

import click

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.cli.common import CONTEXT, KUBECONFIG, NAMESPACE, POOL_FILE, load_pools, refuse

if TYPE_CHECKING:
    from rich.console import Console

    from kvtier.api.conditions import Condition
    from kvtier.context import Context

_GIB = 1 << 30


@dataclass(frozen=True)
class _Checked:
    """A pool as it would be in the cluster, and its prerequisites."""

    context: "Context"
    conditions: list["Condition"]

    @property
    def name(self) -> str:
        pool = self.context.pool
        return f"{pool.namespace}/{pool.name}"


@click.command()
@POOL_FILE
@NAMESPACE
@KUBECONFIG
@CONTEXT
@click.option("--strict", is_flag=True, help="Fail on Unknown too.")
@click.option(
    "--gpu-cache",
    type=click.FloatRange(min=0, min_open=True, max=1e6),
    metavar="GIB",
    help="What vLLM logs at its start as Available KV cache memory, to see how many sequences fit.",
)
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
def check(
    file: TextIO,
    namespace: str,
    kubeconfig: str | None,
    context: str | None,
    strict: bool,
    gpu_cache: float | None,
    output: str,
) -> None:
    """Check every prerequisite of a pool against a cluster, and count what its tiers hold. Changes nothing.

    Exit code 0: all hold (Unknown passes, except with --strict). 1: one does not. 2: the file or the
    cluster cannot be read.
    """
    from kvtier.kube.client import ApiError

    logging.disable(logging.WARNING)
    pools = load_pools(file, namespace)
    try:
        results = asyncio.run(_check(pools, kubeconfig, context))
    except ApiError as error:
        refuse(f"cannot read the cluster: {error.message}")
    failing = {"False", "Unknown"} if strict else {"False"}
    if output == "json":
        click.echo(json.dumps({one.name: [c.model_dump(by_alias=True, exclude_none=True) for c in one.conditions]
                               for one in results}, indent=2))  # fmt: skip
    else:
        _show(results, int(gpu_cache * _GIB) if gpu_cache else None)
    sys.exit(any(condition.status in failing for one in results for condition in one.conditions))


async def _check(pools: list[KVCachePool], kubeconfig: str | None, context: str | None) -> list[_Checked]:
    from kvtier import checks
    from kvtier.context import build
    from kvtier.control.reconciler import utc_now
    from kvtier.facts.collector import Collector, list_all
    from kvtier.facts.gke import GKEReader
    from kvtier.facts.lustre_api import LustreReader
    from kvtier.kube.aio import AioClient, connect

    api = await connect(kubeconfig, context)
    try:
        client, now = AioClient(api), utc_now()
        snapshot = await list_all(client, pools)
        collector = Collector(client, snapshot, GKEReader(), LustreReader(patience=None))
        contexts = [build(pool, await collector.collect(pool, now), now) for pool in snapshot.pools]
        return [_Checked(context, list(checks.run(context).values())) for context in contexts]
    finally:
        await api.close()


def _show(results: list[_Checked], gpu_cache: int | None) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    colours = {"True": "green", "False": "red", "Unknown": "yellow"}
    console = Console()
    for one in results:
        table = Table(
            "Prerequisite", "Status", "What was seen, and what to do", title=one.name, title_justify="left"
        )
        for condition in one.conditions:
            # Text, because a message may quote brackets that rich would take for markup.
            status = Text(condition.status, style=colours[condition.status])
            table.add_row(condition.type, status, Text(condition.message))
        console.print(table)
        failed, unseen = (sum(c.status == status for c in one.conditions) for status in ("False", "Unknown"))
        held = len(one.conditions) - failed - unseen
        console.print(f"{held} hold, {failed} do not, {unseen} cannot be seen\n")
        _show_models(console, one, gpu_cache)


def _show_models(console: "Console", of: _Checked, gpu_cache: int | None) -> None:
    from rich.table import Table
    from rich.text import Text

    from kvtier.cli.check_models import rows

    table = Table("Model", "Of", "What kvtier counts", title=f"Models of {of.name}", title_justify="left")
    for model in of.context.models:
        for index, (subject, text) in enumerate(rows(of.context, model, gpu_cache)):
            table.add_row(Text("" if index else model.spec.name), subject, Text(text))
        table.add_section()
    console.print(table)
    console.print()
