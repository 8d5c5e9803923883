"""`kvtier check`."""

import asyncio
import json
import logging
import sys
from typing import TYPE_CHECKING, TextIO

import click

from kvtier.api.quantities import GIB
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.cli.common import CONTEXT, KUBECONFIG, NAMESPACE, POOL_FILE, load_pools, refuse

if TYPE_CHECKING:
    from kvtier.cli.check_report import Checked


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
        found = {
            one.name: [c.model_dump(by_alias=True, exclude_none=True) for c in one.conditions]
            for one in results
        }
        click.echo(json.dumps(found, indent=2))
    else:
        from kvtier.cli.check_report import show

        show(results, int(gpu_cache * GIB) if gpu_cache else None)
    sys.exit(any(condition.status in failing for one in results for condition in one.conditions))


async def _check(pools: list[KVCachePool], kubeconfig: str | None, context: str | None) -> list["Checked"]:
    from kvtier import checks
    from kvtier.cli.check_report import Checked
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
        looks = [build(pool, await collector.collect(pool, now), now) for pool in snapshot.pools]
        return [Checked(look, tuple(checks.run(look).values())) for look in looks]
    finally:
        await api.close()
