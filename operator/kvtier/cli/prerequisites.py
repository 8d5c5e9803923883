"""`kvtier check`."""

import asyncio
import json
import logging
import sys
from typing import TYPE_CHECKING, TextIO

import click

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.cli.common import CONTEXT, KUBECONFIG, NAMESPACE, POOL_FILE, load_pools, refuse

if TYPE_CHECKING:
    from kvtier.api.conditions import Condition


@click.command()
@POOL_FILE
@NAMESPACE
@KUBECONFIG
@CONTEXT
@click.option("--strict", is_flag=True, help="Fail on Unknown too.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
def check(
    file: TextIO,
    namespace: str,
    kubeconfig: str | None,
    context: str | None,
    strict: bool,
    output: str,
) -> None:
    """Check every prerequisite of a pool against a cluster. Changes nothing.

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
        click.echo(json.dumps({name: [c.model_dump(by_alias=True, exclude_none=True) for c in found]
                               for name, found in results.items()}, indent=2))  # fmt: skip
    else:
        _show(results)
    sys.exit(any(condition.status in failing for found in results.values() for condition in found))


async def _check(
    pools: list[KVCachePool], kubeconfig: str | None, context: str | None
) -> dict[str, list["Condition"]]:
    """Conditions of each pool, by namespace/name."""
    from kvtier import checks
    from kvtier.facts import snapshot
    from kvtier.kube.aio import AioClient, connect

    api = await connect(kubeconfig, context)
    try:
        found = await snapshot.read(AioClient(api), pools)
        return {
            f"{pool.namespace}/{pool.name}": list(checks.run(pool, facts).values()) for pool, facts in found
        }
    finally:
        await api.close()


def _show(results: dict[str, list["Condition"]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    colours = {"True": "green", "False": "red", "Unknown": "yellow"}
    console = Console()
    for name, conditions in results.items():
        table = Table(
            "Prerequisite", "Status", "What was seen, and what to do", title=name, title_justify="left"
        )
        for condition in conditions:
            # Text, because a message may quote brackets that rich would take for markup.
            status = Text(condition.status, style=colours[condition.status])
            table.add_row(condition.type, status, Text(condition.message))
        console.print(table)
        failed, unseen = (sum(c.status == status for c in conditions) for status in ("False", "Unknown"))
        console.print(f"{len(conditions) - failed - unseen} hold, {failed} do not, {unseen} cannot be seen\n")
