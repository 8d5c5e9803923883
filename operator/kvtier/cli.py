"""The `kvtier` command."""

import asyncio
import logging

import click


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="kvtier")
def main() -> None:
    """A KV cache beyond GPU memory for vLLM on GKE."""


@main.command()
@click.option("--lease-namespace", default="kvtier-system", show_default=True)
@click.option("--kubeconfig", envvar="KUBECONFIG")
def run(lease_namespace: str, kubeconfig: str | None) -> None:
    """Run the operator."""
    from kvtier.control.operator import Options
    from kvtier.control.operator import main as operate

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-7s %(name)s %(message)s")
    asyncio.run(operate(Options(lease_namespace=lease_namespace, kubeconfig=kubeconfig)))
