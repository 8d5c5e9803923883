"""The `kvtier` command. Each command imports what it needs: `--help` and `crd` answer at once."""

import asyncio
import json
import logging
import sys
from typing import TYPE_CHECKING, NoReturn, TextIO

import click

from kvtier import __version__
from kvtier.api.load import LoadError, load
from kvtier.api.v1alpha1 import KVCachePool

if TYPE_CHECKING:
    from kvtier.api.conditions import Condition

INVALID_INPUT = 2
POOL_FILE = click.option(
    "-f", "--filename", "file", required=True, type=click.File(encoding="utf-8"), metavar="FILE",
    help="YAML file with one or more KVCachePools; - reads standard input.",
)  # fmt: skip
NAMESPACE = click.option(
    "-n", "--namespace", default="default", show_default=True, help="For pools that name no namespace."
)
KUBECONFIG = click.option(
    "--kubeconfig", envvar="KUBECONFIG", metavar="FILE", help="Kubeconfig; ~/.kube/config when left out."
)
CONTEXT = click.option("--context", metavar="NAME", help="Context of the kubeconfig to use.")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="kvtier")
def main() -> None:
    """A KV cache beyond GPU memory for vLLM on GKE: CPU RAM, Local SSD, Managed Lustre.

    \b
    kvtier crd | kubectl apply --server-side -f -    install the KVCachePool resource
    kvtier check -f pool.yaml                        see whether a cluster can run a pool
    kvtier render -f pool.yaml                       see what the operator would create
    kvtier run                                       run the operator
    """


@main.command()
@click.option(
    "--lease-namespace", envvar="POD_NAMESPACE", default="kvtier-system", show_default=True,
    help="Namespace of the Lease by which one of several replicas becomes the leader.",
)  # fmt: skip
@click.option(
    "--workers", default=8, show_default=True, type=click.IntRange(1, 64), help="Pools worked on at a time."
)
@click.option(
    "--resync-seconds", default=300.0, show_default=True, type=click.FloatRange(min=1),
    help="Time between full LISTs, which find what watches missed.",
)  # fmt: skip
@click.option("--liveness", metavar="URL", help="Serve liveness here, such as http://0.0.0.0:8080/healthz.")
@click.option("-v", "--verbose", is_flag=True, help="Log every event.")
@KUBECONFIG
@CONTEXT
def run(
    lease_namespace: str,
    workers: int,
    resync_seconds: float,
    liveness: str | None,
    verbose: bool,
    kubeconfig: str | None,
    context: str | None,
) -> None:
    """Run the operator until it gets a signal.

    Inside a Pod it uses the Pod's service account, elsewhere the kubeconfig.
    """
    from kvtier.control.operator import LeadershipLostError, Options, operate
    from kvtier.kube.client import ApiError

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-7s %(name)s: %(message)s")
    logging.getLogger("kopf.objects").setLevel(logging.INFO if verbose else logging.WARNING)
    options = Options(lease_namespace, workers, resync_seconds, liveness, kubeconfig, context)
    try:
        asyncio.run(operate(options))
    except ApiError as error:
        _refuse(f"cannot reach the cluster: {error.message}")
    except LeadershipLostError as error:
        _refuse(str(error))


@main.command()
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
    pools = _load(file, namespace)
    try:
        results = asyncio.run(_check(pools, kubeconfig, context))
    except ApiError as error:
        _refuse(f"cannot read the cluster: {error.message}")
    failing = {"False", "Unknown"} if strict else {"False"}
    if output == "json":
        click.echo(json.dumps({name: [c.model_dump(by_alias=True, exclude_none=True) for c in found]
                               for name, found in results.items()}, indent=2))  # fmt: skip
    else:
        _show(results)
    sys.exit(any(condition.status in failing for found in results.values() for condition in found))


@main.command()
@POOL_FILE
@NAMESPACE
def render(file: TextIO, namespace: str) -> None:
    """Print the manifests that the operator would create, without a cluster.

    They are what exists once every prerequisite holds and the Lustre claim is bound.
    """
    import yaml

    from kvtier.plan.offline import manifests

    documents = [manifest for pool in _load(file, namespace) for manifest in manifests(pool)]
    click.echo(yaml.safe_dump_all(documents, sort_keys=False, allow_unicode=True, width=100), nl=False)


@main.command()
def crd() -> None:
    """Print the CustomResourceDefinition of KVCachePool."""
    from kvtier.api.crd import manifest

    click.echo(manifest(), nl=False)


async def _check(
    pools: list[KVCachePool], kubeconfig: str | None, context: str | None
) -> dict[str, list["Condition"]]:
    """Conditions of each pool, by namespace/name."""
    from kvtier import checks
    from kvtier.facts import snapshot
    from kvtier.kube.aio import AioClient, connect

    api = await connect(kubeconfig, context)
    try:
        client = AioClient(api)
        found = {}
        for pool in pools:
            facts = await snapshot.read(client, pool)
            found[f"{pool.namespace}/{pool.name}"] = list(checks.run(pool, facts).values())
        return found
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


def _load(file: TextIO, namespace: str) -> list[KVCachePool]:
    try:
        return load(file.read(), namespace)
    except (LoadError, UnicodeDecodeError) as error:
        _refuse(f"{file.name}: {error}")


def _refuse(message: str) -> NoReturn:
    click.echo(f"kvtier: {message}", err=True)
    sys.exit(INVALID_INPUT)
