"""The capacities of Managed Lustre that `kvtier lustre sizes` shows, as tables or as JSON."""

import json
from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from kvtier.api.quantities import GIB
from kvtier.data.lustre_limits import DYNAMIC, LUSTRE, Limits, limits
from kvtier.sizing import lustre_performance


@dataclass(frozen=True)
class Choice:
    """A performance tier with some of its capacities, in GiB, ascending."""

    tier: int | str
    sizes: tuple[int, ...]

    @property
    def limits(self) -> Limits:
        return limits(self.tier)

    @property
    def title(self) -> str:
        return "Dynamic tier" if self.tier == DYNAMIC else f"{self.tier} MBps per TiB"


def choose(tiers: list[int | str], near: int | None, have: int | None) -> list[Choice]:
    """For each tier, the capacities next to `near`, or a choice of all. Only those above `have`. Both in bytes."""
    return [Choice(tier, _sizes(limits(tier), near, (have or 0) // GIB)) for tier in tiers]


def _sizes(limit: Limits, near: int | None, have: int) -> tuple[int, ...]:
    ceiling = limit.ceiling(have) if have else limit.max
    if have == ceiling:
        return ()
    least = limit.nearest(have * GIB)[-1] if have else limit.min
    if near is None:
        return _selection(limit, least, ceiling)
    reachable = min(max(near, least * GIB), ceiling * GIB) if have else near
    return tuple(size for size in limit.nearest(reachable) if size <= ceiling)


def _selection(limit: Limits, least: int, ceiling: int) -> tuple[int, ...]:
    """Capacities that double from one to the next, where the step changes, and the last one."""
    chosen, size = {ceiling}, least
    while size < ceiling:
        chosen.add(size)
        size = limit.nearest(2 * size * GIB)[0]
    around = limit.nearest(limit.threshold * GIB)
    return tuple(sorted(chosen | {size for size in around if least <= size <= ceiling}))


def as_json(choices: list[Choice]) -> str:
    """All numbers with their source. Capacities in GiB, throughput in MB/s."""
    found = [
        {"tier": str(c.tier), **_limits(c.limits), "sizes": [_size(c.tier, s) for s in c.sizes]}
        for c in choices
    ]
    return json.dumps({"source": LUSTRE.source, "asOf": str(LUSTRE.as_of), "tiers": found}, indent=2)


def _limits(limit: Limits) -> dict[str, int]:
    """The limits, with the unit in each name."""
    capacities = limit.model_dump(by_alias=True, exclude={"read_iops", "write_iops"})
    return {f"{name}GiB": value for name, value in capacities.items()}


def _size(tier: int | str, gib: int) -> dict[str, Any]:
    read, write = lustre_performance.iops(tier, gib * GIB) or (None, None)
    rates = lustre_performance.metadata_rates(tier, gib * GIB)
    return {
        "capacity": f"{gib}Gi",
        "throughputMBps": lustre_performance.throughput(tier, gib * GIB),
        "readIOPS": read,
        "writeIOPS": write,
        "metadata": asdict(rates) if rates else None,
    }


def show(choices: list[Choice], near: int | None, have: int | None) -> None:
    """Print the answers and a table."""
    console = Console(highlight=False)
    if len(choices) == 1:
        console.print("\n".join(_words(choices[0], near, have)))
    elif near is not None:
        console.print(f"Capacities next to {_gib(near)}")
    if len(choices) > 1 and near is None:
        console.print(_tiers(choices), "")
        console.print("For the capacities of one tier: kvtier lustre sizes --tier 1000")
    elif any(choice.sizes for choice in choices):
        console.print("", _table(choices), "", sep="\n")
        console.print(_footnote())


def _words(choice: Choice, near: int | None, have: int | None) -> Iterator[str]:
    """The limits of a tier and what the options ask for, one line each."""
    limit = choice.limits
    two_steps = limit.threshold < limit.max
    yield f"[bold]{choice.title}[/bold]: {limit.min}Gi to {limit.max}Gi"
    yield f"Step: {limit.step}Gi" + (
        f" up to {limit.threshold}Gi, {limit.step_above}Gi above" if two_steps else ""
    )
    if two_steps and have is None:
        yield f"An instance of up to {limit.threshold}Gi cannot be resized beyond {limit.threshold}Gi."
    if near is not None:
        verdict = "valid" if limit.allows(near) else f"not valid; {limit.explain(near)}"
        yield f"{_gib(near)} is {verdict}."
    if have is not None:
        yield _growth(have // GIB, limit.ceiling(have // GIB))
    if near is None and choice.sizes:
        yield "Some of the valid capacities:"


def _growth(have: int, ceiling: int) -> str:
    if have == ceiling:
        return f"An instance of {have}Gi cannot be resized. For more capacity, create a new pool with a new instance."
    return f"An instance of {have}Gi can be resized to {ceiling}Gi at most. It cannot shrink."


def _gib(size: int) -> str:
    return f"{size // GIB}Gi" if size % GIB == 0 else f"{size / GIB:.1f}Gi"


def _tiers(choices: list[Choice]) -> Table:
    names = (
        "Tier",
        "Smallest",
        "Step",
        "Up to",
        "Step\nabove",
        "Largest",
        "GB/s at\nsmallest",
        "GB/s at\nlargest",
    )
    return _right_aligned(names, [_tier(choice) for choice in choices])


def _tier(choice: Choice) -> list[str]:
    limit = choice.limits
    ends = (
        f"{lustre_performance.throughput(choice.tier, gib * GIB) / 1000:,.1f}"
        for gib in (limit.min, limit.max)
    )
    above = (limit.threshold, limit.step_above) if limit.threshold < limit.max else ()
    steps = [f"{gib}Gi" for gib in above] or ["", ""]
    return [
        str(choice.tier),
        f"{limit.min}Gi",
        f"{limit.step}Gi",
        *steps,
        f"{limit.max}Gi",
        *ends,
    ]


def _table(choices: list[Choice]) -> Table:
    """One row per capacity, with a column for the tier if there are several."""
    names = ("Capacity", "Throughput", "Read\nIOPS", "Write\nIOPS", "Stats/s", "Creates/s", "Deletes/s")
    rows = [[str(choice.tier), *_row(choice.tier, gib)] for choice in choices for gib in choice.sizes]
    if len(choices) > 1:
        return _right_aligned(("Tier", *names), rows)
    return _right_aligned(names, [row[1:] for row in rows])


def _row(tier: int | str, gib: int) -> list[str]:
    rates = lustre_performance.metadata_rates(tier, gib * GIB)
    numbers = (
        *(lustre_performance.iops(tier, gib * GIB) or (None, None)),
        *(astuple(rates) if rates else (None,) * 3),
    )
    return [
        f"{gib}Gi",
        lustre_performance.rate(lustre_performance.throughput(tier, gib * GIB)),
        *(_short(n) for n in numbers),
    ]


def _short(number: int | None) -> str:
    """52.7k, 410k, 56.7M; a dash where Google publishes no number."""
    if number is None:
        return "-"
    return f"{number / 1e3:.3g}k" if number < 999_500 else f"{number / 1e6:.3g}M"


def _right_aligned(names: tuple[str, ...], rows: list[list[str]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
    for name in names:
        # A number is never wrapped: half of it would read as another number.
        table.add_column(name, justify="right", vertical="bottom", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def _footnote() -> str:
    step = LUSTRE.metadata.throughput
    return (
        f"Google's approximate maximum values, as of {LUSTRE.as_of}.\n"
        f"Metadata rates rise per {step} GB/s of throughput. A dash: Google gives no value."
    )
