"""`kvtier check`."""

import asyncio
import json
import logging
import sys
from typing import TYPE_CHECKING, TextIO

import click

from kvtier.api.quantities import GIB
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.cli.common import CONTEXT, KUBECONFIG, NAMESPACE, OUTPUT, POOL_FILE, load_pools, refuse_cluster

if TYPE_CHECKING:
    from kvtier.cli.check_report import Checked


@click.command()
@POOL_FILE
@NAMESPACE
@KUBECONFIG
@CONTEXT
@click.option(
    "--operator-namespace", default="kvtier-system", show_default=True, metavar="NAME",
    help="Namespace of the operator, with the policy that AccessGranted depends on.",
)  # fmt: skip
@click.option("--strict", is_flag=True, help="Exit with 1 if a prerequisite is Unknown, too.")
@click.option(
    "--gpu-cache",
    type=click.FloatRange(min=0, min_open=True, max=1_000_000),
    metavar="GIB",
    help="GPU memory for the KV cache, as vLLM logs it at startup (Available KV cache memory). Shows how many "
    "sequences fit.",
)
@OUTPUT
def check(
    file: TextIO,
    namespace: str,
    kubeconfig: str | None,
    context: str | None,
    operator_namespace: str,
    strict: bool,
    gpu_cache: float | None,
    output: str,
) -> None:
    """Check the prerequisites of pools in a cluster.

    Also shows how many tokens each tier holds. This command only reads.

    \b
    Exit codes:
      0  No prerequisite failed. Unknown passes, except with --strict.
      1  A prerequisite failed.
      2  The file or the cluster could not be read.

    \b
    Examples:
      # Check the cluster of the current context
      kvtier check -f pool.yaml
      # Check another cluster; fail if something is unknown
      kvtier check -f pool.yaml --context my-cluster --strict
      # Show how many sequences fit into 38.5 GiB per GPU
      kvtier check -f pool.yaml --gpu-cache 38.5
      # Print only the conditions that are not True
      kvtier check -f pool.yaml -o json | jq '.[][] | select(.status != "True")'
    """
    from kvtier.kube.client import ApiError

    logging.disable(logging.WARNING)
    pools = load_pools(file, namespace)
    try:
        results = asyncio.run(_check(pools, kubeconfig, context, operator_namespace))
    except ApiError as error:
        refuse_cluster(error)
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
    sys.exit(any(one.fails(failing) for one in results))


async def _check(
    pools: list[KVCachePool], kubeconfig: str | None, context: str | None, operator_namespace: str
) -> list["Checked"]:
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
        snapshot = await list_all(client, pools, operator_namespace)
        collector = Collector(client, snapshot, GKEReader(), LustreReader(patience=None))
        looks = [build(pool, await collector.collect(pool, now), now) for pool in snapshot.pools]
        return [Checked(look, tuple(checks.run(look).values())) for look in looks]
    finally:
        await api.close()
