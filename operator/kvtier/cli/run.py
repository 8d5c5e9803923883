"""`kvtier run`."""

import asyncio
import logging
from dataclasses import replace

import click

from kvtier.cli.common import CONTEXT, KUBECONFIG, refuse


@click.command()
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
@click.option(
    "--google-seconds", default=240.0, show_default=True, type=click.FloatRange(min=0.1),
    help="How long an answer of the GKE and Lustre APIs stands before they are asked again.",
)  # fmt: skip
@click.option(
    "--pace", default=1.0, hidden=True, type=click.FloatRange(min=0.001),
    help="Multiply every poll and back-off, for tests.",
)  # fmt: skip
@click.option("--liveness", metavar="URL", help="Serve liveness here, such as http://0.0.0.0:8080/healthz.")
@click.option("-v", "--verbose", is_flag=True, help="Log every event.")
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
    """Run the operator until it gets a signal.

    Inside a Pod it uses the Pod's service account, elsewhere the kubeconfig.
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
        refuse(f"cannot reach the cluster: {error.message}")
    except LeadershipLostError as error:
        refuse(str(error))
