"""The `kvtier` command. Each command imports what it needs, so that `--help` and `crd` are fast."""

import click

from kvtier import __version__
from kvtier.cli import check, lustre, manifests, run


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="kvtier")
def main() -> None:
    """kvtier gives vLLM on GKE a KV cache beyond GPU memory: CPU RAM, Local SSD and
    Managed Lustre.

    \b
    Examples:
      # Install the KVCachePool resource
      kvtier crd | kubectl apply --server-side -f -
      # Check whether your cluster can run a pool
      kvtier check -f pool.yaml
      # Print what the operator would create
      kvtier render -f pool.yaml
    """


for command in (run.run, check.check, manifests.render, manifests.crd, lustre.lustre):
    main.add_command(command)
