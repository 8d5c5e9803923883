"""`kvtier lustre`."""

import click

from kvtier.api import quantities
from kvtier.cli.common import OUTPUT
from kvtier.data.lustre_limits import DYNAMIC, limits, tiers


def _size(context: click.Context, option: click.Parameter, text: str | None) -> int | None:
    """Bytes of a capacity such as 9000Gi, 9Ti or 9T."""
    if text is None:
        return None
    if text.isdecimal():
        raise click.BadParameter(f"{text} has no unit; write {text}Gi for GiB")
    try:
        return quantities.parse(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _tier(context: click.Context, option: click.Parameter, text: str | None) -> int | str | None:
    """A performance tier: MBps per TiB, or `Dynamic` in any spelling."""
    found = next((tier for tier in tiers() if text and str(tier).lower() == text.lower()), None)
    if text is not None and not found:
        known = ", ".join(str(tier).lower() for tier in tiers())
        raise click.BadParameter(f"{text} is not a performance tier; use one of {known}")
    return found


@click.group()
def lustre() -> None:
    """Show what Managed Lustre offers.

    \b
    Examples:
      # List the performance tiers
      kvtier lustre sizes
    """


@lustre.command()
@click.option(
    "--tier",
    callback=_tier,
    metavar="TIER",
    help="Performance tier: 125, 250, 500 or 1000 MBps per TiB, or dynamic.  [default: all]",
)
@click.option(
    "--near",
    callback=_size,
    metavar="SIZE",
    help="Show only the valid capacities next to SIZE, such as 9000Gi, 9Ti or 9T.",
)
@click.option(
    "--from", "have", callback=_size, metavar="SIZE",
    help="Show only what an instance of this capacity can be resized to. Needs --tier.",
)  # fmt: skip
@OUTPUT
def sizes(tier: int | str | None, near: int | None, have: int | None, output: str) -> None:
    """Show the valid capacities of an instance and their speed.

    Needs no cluster: the numbers are part of kvtier.

    \b
    Examples:
      # List the performance tiers
      kvtier lustre sizes
      # List capacities of one performance tier
      kvtier lustre sizes --tier 1000
      # Find the valid capacities next to 10Ti
      kvtier lustre sizes --tier 1000 --near 10Ti
      # List what an instance of 18000Gi can be resized to
      kvtier lustre sizes --tier 1000 --from 18000Gi
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
    """Refuse a capacity that is not valid in this tier."""
    if tier is None:
        raise click.UsageError("--from needs --tier: the valid sizes depend on the performance tier")
    if not limits(tier).allows(have):
        of = "of the Dynamic tier" if tier == DYNAMIC else f"at {tier} MBps per TiB"
        what = f"not a valid capacity {of}; {limits(tier).explain(have)}"
        raise click.BadParameter(what, param_hint="'--from'")
