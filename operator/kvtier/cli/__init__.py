"""The `kvtier` command. Each command imports what it needs: `--help` and `crd` answer at once."""

import click

from kvtier import __version__
from kvtier.cli import check, lustre, manifests, run


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="kvtier")
def main() -> None:
    """A KV cache beyond GPU memory for vLLM on GKE: CPU RAM, Local SSD, Managed Lustre.

    \b
    kvtier crd | kubectl apply --server-side -f -    install the KVCachePool resource
    kvtier check -f pool.yaml                        see whether a cluster can run a pool
    kvtier render -f pool.yaml                       see what the operator would create
    kvtier lustre sizes                              see which capacities Lustre can have
    kvtier run                                       run the operator
    """


for command in (run.run, check.check, manifests.render, manifests.crd, lustre.lustre):
    main.add_command(command)
