"""`kvtier lustre`."""

import click

from kvtier.api import quantities
from kvtier.data.lustre_limits import DYNAMIC, limits, tiers


def _size(context: click.Context, option: click.Parameter, text: str | None) -> int | None:
    """Bytes of a capacity such as 9000Gi, 9Ti or 9T."""
    if text is None:
        return None
    if text.isdecimal():
        raise click.BadParameter(f"{text} has no unit: write {text}Gi for GiB")
    try:
        return quantities.parse(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _tier(context: click.Context, option: click.Parameter, text: str | None) -> int | str | None:
    """A performance tier: MBps per TiB, or `Dynamic` in any spelling."""
    found = next((tier for tier in tiers() if text and str(tier).lower() == text.lower()), None)
    if text is not None and not found:
        known = ", ".join(str(tier).lower() for tier in tiers())
        raise click.BadParameter(f"{text} is no performance tier: they are {known}")
    return found


@click.group()
def lustre() -> None:
    """What Managed Lustre offers: capacities, throughput, IOPS."""


@lustre.command()
@click.option(
    "--tier",
    callback=_tier,
    metavar="TIER",
    help="125, 250, 500 or 1000 MBps per TiB, or dynamic; all when left out.",
)
@click.option(
    "--near",
    callback=_size,
    metavar="SIZE",
    help="Only the capacities next to this one; 9Ti and 9T are fine too.",
)
@click.option(
    "--from", "have", callback=_size, metavar="SIZE",
    help="Only what an instance of this capacity can grow to; needs --tier.",
)  # fmt: skip
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
def sizes(tier: int | str | None, near: int | None, have: int | None, output: str) -> None:
    """Print which capacities an instance can have, and what it delivers then. Asks nobody.

    \b
    kvtier lustre sizes                               the performance tiers
    kvtier lustre sizes --tier 1000                   a choice of capacities of one
    kvtier lustre sizes --tier 1000 --near 10Ti       the capacities next to 10Ti
    kvtier lustre sizes --tier 1000 --from 18000Gi    what 18000Gi can grow to
    """
    from kvtier.cli.lustre_sizes import as_json, choose

    if have is not None:
        _check_growth(tier, have)
    chosen = choose([tier] if tier else tiers(), near, have)
    if output == "json":
        click.echo(as_json(chosen))
        return
    from kvtier.cli.lustre_sizes import show

    show(chosen, near, have)


def _check_growth(tier: int | str | None, have: int) -> None:
    """Refuse a size that no instance has."""
    if tier is None:
        raise click.UsageError(
            "--from needs --tier: how an instance can grow depends on its performance tier"
        )
    if not limits(tier).allows(have):
        what = f"no instance {'of the Dynamic tier' if tier == DYNAMIC else f'at {tier} MBps per TiB'} has that size"
        raise click.BadParameter(f"{what}: {limits(tier).explain(have)}", param_hint="'--from'")
