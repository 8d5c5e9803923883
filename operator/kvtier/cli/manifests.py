"""`kvtier render` and `kvtier crd`."""

import json
from typing import TextIO

import click

from kvtier.cli.common import NAMESPACE, POOL_FILE, load_pools


@click.command()
@POOL_FILE
@NAMESPACE
def render(file: TextIO, namespace: str) -> None:
    """Print the manifests that the operator would create, without a cluster.

    They are what exists once every prerequisite holds and the Lustre claim is bound. What only the Lustre
    API can tell is left out, and named on standard error.
    """
    import yaml

    from kvtier.plan.offline import rendered

    pools = load_pools(file, namespace)
    found = [rendered(pool) for pool in pools]
    for pool, one in zip(pools, found, strict=True):
        for sentence in one.left_out:
            click.echo(f"kvtier: {pool.name}: {sentence}", err=True)
    # Through JSON, because YAML writes a value that two places share as an anchor.
    documents = [json.loads(json.dumps(manifest)) for one in found for manifest in one.manifests]
    click.echo(yaml.safe_dump_all(documents, sort_keys=False, allow_unicode=True, width=100), nl=False)


@click.command()
def crd() -> None:
    """Print the CustomResourceDefinition of KVCachePool."""
    from kvtier.api.crd import manifest

    click.echo(manifest(), nl=False)
