"""Which capacities of Managed Lustre to show, and all that is known of them as JSON."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from kvtier.api.quantities import GIB
from kvtier.api.v1alpha1.limits import DYNAMIC, Limits, limits
from kvtier.data import table as data
from kvtier.sizing import lustre


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
    facts = data("lustre_tiers")
    found = [
        {"tier": str(c.tier), **_limits(c.limits), "sizes": [_size(c.tier, s) for s in c.sizes]}
        for c in choices
    ]
    return json.dumps({"source": facts["source"], "asOf": str(facts["asOf"]), "tiers": found}, indent=2)


def _limits(limit: Limits) -> dict[str, int]:
    """The limits with their unit in their names."""
    return {f"{name}GiB": value for name, value in asdict(limit).items()}


def _size(tier: int | str, gib: int) -> dict[str, Any]:
    read, write = lustre.iops(tier, gib * GIB) or (None, None)
    rates = lustre.metadata_rates(tier, gib * GIB)
    return {
        "capacity": f"{gib}Gi",
        "throughputMBps": lustre.throughput(tier, gib * GIB),
        "readIOPS": read,
        "writeIOPS": write,
        "metadata": asdict(rates) if rates else None,
    }
