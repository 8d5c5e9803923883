"""Which capacities of Managed Lustre to show, and all that is known of them as JSON."""

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
    """Of each tier the capacities next to `near`, or a choice of all; only those above `have`. Both in bytes."""
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
    """All that is known, with where it comes from. Capacities in GiB, throughput in MB/s."""
    found = [
        {"tier": str(c.tier), **_limits(c.limits), "sizes": [_size(c.tier, s) for s in c.sizes]}
        for c in choices
    ]
    return json.dumps({"source": LUSTRE.source, "asOf": str(LUSTRE.as_of), "tiers": found}, indent=2)


def _limits(limit: Limits) -> dict[str, int]:
    """The limits with their unit in their names."""
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
        f" up to {limit.threshold}Gi and of {limit.step_above}Gi above it"
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
    ends = (
        lustre_performance.rate(lustre_performance.throughput(choice.tier, gib * GIB))
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
    step = LUSTRE.metadata.throughput
    return f"Google's approximate maxima, as of {LUSTRE.as_of}. Metadata rates are published per whole {step} GB/s."
