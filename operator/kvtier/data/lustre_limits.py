"""Managed Lustre's performance tiers (`data/lustre_tiers.yaml`), typed, and the capacities that they allow."""

from typing import Annotated

from pydantic import Field

from kvtier.data import Row, Table, table

DYNAMIC = "Dynamic"
_GIB = 1 << 30


class Limits(Row):
    """Capacities in GiB that one performance tier allows: multiples of a step, which is larger above a threshold.

    IOPS are per TiB of capacity, None if they are not published.
    """

    min: int
    max: int
    step: int
    threshold: int
    step_above: int
    read_iops: Annotated[int | None, Field(alias="readIOPS")] = None
    write_iops: Annotated[int | None, Field(alias="writeIOPS")] = None

    def step_at(self, gib: int) -> int:
        return self.step if gib <= self.threshold else self.step_above

    def allows(self, size: int) -> bool:
        """Whether an instance may have `size` bytes."""
        gib, rest = divmod(size, _GIB)
        return rest == 0 and self.min <= gib <= self.max and gib % self.step_at(gib) == 0

    def ceiling(self, gib: int) -> int:
        """The largest capacity in GiB to which an instance of `gib` can grow. It cannot cross the threshold."""
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


class MetadataStep(Row):
    """Metadata operations per second for each whole step of throughput in GBps."""

    throughput: Annotated[int, Field(alias="perThroughputGBps")]
    stat: int
    create: int
    delete: int


class LustreTable(Table):
    """All of `data/lustre_tiers.yaml`. `dynamic_throughput`: MBps per TiB of the Dynamic tier."""

    tiers: dict[int | str, Limits]
    dynamic_throughput: int
    metadata: MetadataStep


LUSTRE = LustreTable.model_validate(table("lustre_tiers"))


def tiers() -> list[int | str]:
    """The performance tiers: MBps per TiB, and `Dynamic`."""
    return list(LUSTRE.tiers)


def limits(tier: int | str) -> Limits:
    """The limits of a performance tier."""
    return LUSTRE.tiers[tier]
