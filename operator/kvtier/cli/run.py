"""`kvtier run`."""

import asyncio
import logging
from dataclasses import replace

import click

from kvtier.cli.common import CONTEXT, KUBECONFIG, refuse, refuse_cluster


@click.command()
@click.option(
    "--lease-namespace", envvar="POD_NAMESPACE", default="kvtier-system", show_default=True,
    help="Namespace of the Lease that elects the leader among the replicas.", metavar="NAME",
)  # fmt: skip
@click.option(
    "--workers", default=8, show_default=True, type=click.IntRange(1, 64), metavar="N",
    help="How many pools are reconciled at the same time.",
)  # fmt: skip
@click.option(
    "--resync-seconds", default=300.0, show_default=True, type=click.FloatRange(min=1), metavar="SECONDS",
    help="Time between full LISTs, which find what a watch missed.",
)  # fmt: skip
@click.option(
    "--google-seconds", default=240.0, show_default=True, type=click.FloatRange(min=0.1), metavar="SECONDS",
    help="How long a response of the GKE and Managed Lustre APIs is reused.",
)  # fmt: skip
@click.option(
    "--pace", default=1.0, hidden=True, type=click.FloatRange(min=0.001),
    help="Factor for every polling interval and back-off, for tests.",
)  # fmt: skip
@click.option(
    "--liveness", metavar="URL",
    help="Serve the liveness probe at this URL, such as http://0.0.0.0:8080/healthz.  [default: not served]",
)  # fmt: skip
@click.option("-v", "--verbose", is_flag=True, help="Log every watch event.")
@KUBECONFIG
@CONTEXT
def run(
    lease_namespace: str,
    workers: int,
    resync_seconds: float,
    google_seconds: float,
    pace: float,
    liveness: str | None,
    verbose: bool,
    kubeconfig: str | None,
    context: str | None,
) -> None:
    """Run the operator until it receives a signal.

    In a Pod it uses the service account of the Pod, elsewhere the kubeconfig.

    \b
    Examples:
      # Run it on your machine, with the current context
      kvtier run --lease-namespace default
      # Run it as manifests/install.yaml does
      kvtier run --liveness http://0.0.0.0:8080/healthz
    """
    from kvtier.control.operator import LeadershipLostError, Options, operate
    from kvtier.kube.client import ApiError
    from kvtier.pace import DEFAULT

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-7s %(name)s: %(message)s")
    logging.getLogger("kopf.objects").setLevel(logging.INFO if verbose else logging.WARNING)
    chosen = replace(DEFAULT, fresh=google_seconds).times(pace)
    options = Options(lease_namespace, workers, resync_seconds, chosen, liveness, kubeconfig, context)
    try:
        asyncio.run(operate(options))
    except ApiError as error:
        refuse_cluster(error)
    except LeadershipLostError as error:
        refuse(str(error))
