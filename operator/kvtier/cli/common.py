"""Options that several commands have, and how they refuse what they cannot read."""

import sys
from typing import NoReturn, TextIO

import click

from kvtier.api.load import LoadError, load
from kvtier.api.v1alpha1 import KVCachePool

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


def load_pools(file: TextIO, namespace: str) -> list[KVCachePool]:
    try:
        return load(file.read(), namespace)
    except (LoadError, UnicodeDecodeError) as error:
        refuse(f"{file.name}: {error}")


def refuse(message: str) -> NoReturn:
    click.echo(f"kvtier: {message}", err=True)
    sys.exit(INVALID_INPUT)
