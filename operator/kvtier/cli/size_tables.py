"""Capacities of Managed Lustre as tables for a terminal."""

from collections.abc import Iterator
from dataclasses import astuple

from rich import box
from rich.console import Console
from rich.table import Table

from kvtier.api.quantities import GIB
from kvtier.cli.sizes import Choice
from kvtier.data import table as data
from kvtier.sizing import lustre


def show(choices: list[Choice], near: int | None, have: int | None) -> None:
    """Tables for a terminal."""
    console = Console(highlight=False)
    if len(choices) == 1:
        console.print("\n".join(_words(choices[0], near, have)))
    elif near is not None:
        console.print(f"Capacities next to {_gib(near)}")
    if len(choices) > 1 and near is None:
        console.print(_tiers(choices))
        console.print("kvtier lustre sizes --tier TIER shows what capacities of a tier deliver.")
    elif any(choice.sizes for choice in choices):
        console.print(_table(choices))
        console.print(_footnote())


def _words(choice: Choice, near: int | None, have: int | None) -> Iterator[str]:
    """The limits of a tier, and the answers to what was asked, a line each."""
    limit = choice.limits
    whole = f"{limit.min}Gi to {limit.max}Gi, in steps of {limit.step}Gi"
    above = (
        f" up to {limit.threshold}Gi and of {limit.stepAbove}Gi above it"
        if limit.threshold < limit.max
        else ""
    )
    yield f"[bold]{choice.title}[/bold]: {whole}{above}"
    if above and have is None:
        yield f"An instance of {limit.threshold}Gi or less cannot grow past that."
    if near is not None:
        verdict = "possible" if limit.allows(near) else f"not possible: {limit.explain(near)}"
        yield f"{_gib(near)} is {verdict}"
    if have is not None:
        yield _growth(have // GIB, limit.ceiling(have // GIB))
    if near is None and choice.sizes:
        yield "Some of these capacities:"


def _growth(have: int, ceiling: int) -> str:
    if have == ceiling:
        return f"An instance of {have}Gi cannot grow: a larger one is a new instance, in a new pool."
    return f"An instance of {have}Gi can grow to {ceiling}Gi at most, and never shrink."


def _gib(size: int) -> str:
    return f"{size // GIB}Gi" if size % GIB == 0 else f"{size / GIB:.1f}Gi"


def _tiers(choices: list[Choice]) -> Table:
    names = ("Tier", "Smallest", "Step", "Up to", "Step above", "Largest", "Throughput")
    return _right_aligned(names, [_tier(choice) for choice in choices])


def _tier(choice: Choice) -> list[str]:
    limit = choice.limits
    ends = (lustre.rate(lustre.throughput(choice.tier, gib * GIB)) for gib in (limit.min, limit.max))
    above = (limit.threshold, limit.stepAbove) if limit.threshold < limit.max else ()
    steps = [f"{gib}Gi" for gib in above] or ["", ""]
    return [
        str(choice.tier),
        f"{limit.min}Gi",
        f"{limit.step}Gi",
        *steps,
        f"{limit.max}Gi",
        " to ".join(ends),
    ]


def _table(choices: list[Choice]) -> Table:
    """One row per capacity, with its tier if there are several."""
    names = ("Capacity", "Throughput", "Read IOPS", "Write IOPS", "Stats/s", "Creates/s", "Deletes/s")
    rows = [[str(choice.tier), *_row(choice.tier, gib)] for choice in choices for gib in choice.sizes]
    if len(choices) > 1:
        return _right_aligned(("Tier", *names), rows)
    return _right_aligned(names, [row[1:] for row in rows])


def _row(tier: int | str, gib: int) -> list[str]:
    rates = lustre.metadata_rates(tier, gib * GIB)
    numbers = (*(lustre.iops(tier, gib * GIB) or (None, None)), *(astuple(rates) if rates else (None,) * 3))
    return [f"{gib}Gi", lustre.rate(lustre.throughput(tier, gib * GIB)), *(_short(n) for n in numbers)]


def _short(number: int | None) -> str:
    """52.7k, 410k, 56.7M; a dash for what is not published."""
    if number is None:
        return "-"
    return f"{number / 1e3:.3g}k" if number < 999_500 else f"{number / 1e6:.3g}M"


def _right_aligned(names: tuple[str, ...], rows: list[list[str]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for name in names:
        # Only a range may be wrapped: half a number would be another one.
        table.add_column(
            name.replace(" IOPS", "\nIOPS"), justify="right", vertical="bottom", no_wrap=name != "Throughput"
        )
    for row in rows:
        table.add_row(*row)
    return table


def _footnote() -> str:
    facts = data("lustre_tiers")
    per = facts["metadata"]["perThroughputGBps"]
    return f"Google's approximate maxima, as of {facts['asOf']}. Metadata rates are published per whole {per} GB/s."
