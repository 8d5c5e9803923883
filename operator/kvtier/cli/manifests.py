"""`kvtier render` and `kvtier crd`."""

import json
from typing import TextIO

import click

from kvtier.cli.common import NAMESPACE, POOL_FILE, load_pools
from kvtier.cli.yaml_text import dumped


@click.command()
@POOL_FILE
@NAMESPACE
def render(file: TextIO, namespace: str) -> None:
    """Print the manifests that the operator would create.

    Needs no cluster: it assumes that every prerequisite is met and that the PVC is bound. Objects that
    depend on an answer of the Managed Lustre API are left out; a warning on standard error names them.

    \b
    Examples:
      # Print the manifests of a pool
      kvtier render -f pool.yaml
      # Let the API server validate them, without creating them
      kvtier render -f pool.yaml | kubectl apply --dry-run=server -f -
    """
    from kvtier.plan.offline import rendered

    pools = load_pools(file, namespace)
    found = [rendered(pool) for pool in pools]
    for pool, one in zip(pools, found, strict=True):
        for sentence in one.left_out:
            click.echo(f"Warning: {pool.name}: {sentence}", err=True)
    # Copied through JSON: YAML would write a value that is used twice as an anchor and an alias.
    documents = [json.loads(json.dumps(manifest)) for one in found for manifest in one.manifests]
    click.echo(dumped(documents), nl=False)


@click.command()
def crd() -> None:
    """Print the CustomResourceDefinition of KVCachePool.

    \b
    Examples:
      # Install or update the resource
      kvtier crd | kubectl apply --server-side -f -
    """
    from kvtier.api.crd import manifest

    click.echo(manifest(), nl=False)
