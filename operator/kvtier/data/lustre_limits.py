"""The capacities that Managed Lustre's performance tiers can have (`data/lustre_tiers.yaml`)."""

from dataclasses import dataclass

from kvtier.data import table

DYNAMIC = "Dynamic"
_GIB = 1 << 30


@dataclass(frozen=True)
class Limits:
    """Capacities in GiB that one performance tier allows: multiples of a step, which grows above a threshold."""

    min: int
    max: int
    step: int
    threshold: int
    stepAbove: int  # noqa: N815 - the key of the table

    def step_at(self, gib: int) -> int:
        return self.step if gib <= self.threshold else self.stepAbove

    def allows(self, size: int) -> bool:
        """Whether an instance may have `size` bytes."""
        gib, rest = divmod(size, _GIB)
        return rest == 0 and self.min <= gib <= self.max and gib % self.step_at(gib) == 0

    def ceiling(self, gib: int) -> int:
        """The largest capacity in GiB to which an instance of `gib` can grow: the threshold is not passed."""
        return self.threshold if gib <= self.threshold else self.max

    def nearest(self, size: int) -> list[int]:
        """The closest valid capacities at or below and above `size` bytes, in GiB, ascending."""
        gib = size // _GIB
        if gib < self.min:
            return [self.min]
        if gib >= self.max:
            return [self.max]
        below = gib - gib % self.step_at(gib)
        if below < self.threshold <= gib:
            below = self.threshold
        step = self.step_at(below + 1)
        return [below, below - below % step + step]

    def explain(self, size: int) -> str:
        """The valid capacities around `size` bytes, as the end of a sentence."""
        sizes = self.nearest(size)
        if len(sizes) == 2:
            return f"the nearest are {sizes[0]}Gi and {sizes[1]}Gi"
        return f"the {'smallest' if sizes == [self.min] else 'largest'} is {sizes[0]}Gi"


def tiers() -> list[int | str]:
    """The performance tiers: MBps per TiB, and `Dynamic`."""
    return list(table("lustre_tiers")["tiers"])


def limits(tier: int | str) -> Limits:
    """The capacity limits of a performance tier: MBps per TiB, or `Dynamic`."""
    entry = table("lustre_tiers")["tiers"][tier]
    return Limits(**{field: entry[field] for field in Limits.__dataclass_fields__})
