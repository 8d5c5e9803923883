"""The Managed Lustre tier: its fields, and the capacities that each performance tier can have."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from kvtier.api.fields import Quantity, Zone, immutable
from kvtier.api.quantities import GIB
from kvtier.api.rules import ApiModel, Rule
from kvtier.data import table

Network = Annotated[
    str,
    StringConstraints(
        pattern=r"^projects/[a-z][-a-z0-9:.]{0,60}[a-z0-9]/global/networks/[a-z]([-a-z0-9]{0,61}[a-z0-9])?$",
        max_length=200,
    ),
]
FilesystemName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9]{0,7}$")]


@dataclass(frozen=True)
class Limits:
    """Capacities in GiB that one performance tier allows (`data/lustre_tiers.yaml`)."""

    min: int
    max: int
    step: int
    threshold: int
    stepAbove: int  # noqa: N815 - the key of the table

    def step_at(self, gib: int) -> int:
        return self.step if gib <= self.threshold else self.stepAbove

    def allows(self, size: int) -> bool:
        """Whether an instance may have `size` bytes."""
        gib, rest = divmod(size, GIB)
        return rest == 0 and self.min <= gib <= self.max and gib % self.step_at(gib) == 0

    def nearest(self, size: int) -> list[int]:
        """The closest valid capacities at or below and above `size` bytes, in GiB, ascending."""
        gib = size // GIB
        if gib < self.min:
            return [self.min]
        if gib >= self.max:
            return [self.max]
        below = gib - gib % self.step_at(gib)
        if below < self.threshold <= gib:
            below = self.threshold
        step = self.step_at(below + 1)
        return [below, below - below % step + step]


def limits(throughput_per_tib: int) -> Limits:
    """The capacity limits of a performance tier, in MBps per TiB."""
    return Limits(**table("lustre_tiers")["tiers"][throughput_per_tib])


class LustreTier(ApiModel):
    """Managed Lustre, shared by every Pod of the pool. One instance is created per pool."""

    capacity: Annotated[
        Quantity,
        Field(
            description="Size of the instance, in Gi, a multiple of the step of its performance tier: 9000Gi at 1000, "
            "18000Gi at 500, 36000Gi at 250, 72000Gi at 125. It can grow, never shrink below what is provisioned."
        ),
    ]
    throughput_per_tib: Annotated[
        Literal[125, 250, 500, 1000],
        Field(
            alias="throughputPerTiB",
            json_schema_extra=immutable("throughputPerTiB"),
            description="Performance tier, in MBps per TiB of capacity. Immutable.",
        ),
    ]
    zone: Annotated[
        Zone,
        Field(
            json_schema_extra=immutable("zone"),
            description="Zone of the instance. Immutable. Engines run here too, unless nodePool.zones says otherwise.",
        ),
    ]
    network: Annotated[
        Network,
        Field(
            json_schema_extra=immutable("network"),
            description="VPC network of the instance in full form, projects/PROJECT/global/networks/NETWORK. It must "
            "be the cluster's own network. Immutable.",
        ),
    ]
    filesystem: Annotated[
        FilesystemName | None,
        Field(
            description="Lustre file system name: a letter, then up to 7 letters or digits. Unique among the instances "
            "that a node mounts; derived from namespace and name of the pool when left out. Immutable."
        ),
    ] = None

    rules: ClassVar[tuple[Rule, ...]] = ()


def _nearest(lustre: LustreTier) -> str:
    """The valid capacities around the wanted one, as the end of a sentence."""
    limit = limits(lustre.throughput_per_tib)
    sizes = limit.nearest(lustre.capacity.bytes)
    if len(sizes) == 2:
        return f"the nearest are {sizes[0]}Gi and {sizes[1]}Gi"
    return f"the {'smallest' if sizes == [limit.min] else 'largest'} is {sizes[0]}Gi"


def _capacity_rule(tier: int, limit: Limits) -> Rule:
    # Not quantity().asInteger(): it gives up on sizes such as 10008000Gi.
    gib = "int(self.capacity.replace('Gi', ''))"
    step = f"({gib} <= {limit.threshold} ? {limit.step} : {limit.stepAbove})"
    above = f", and of {limit.stepAbove}Gi above {limit.threshold}Gi" if limit.threshold < limit.max else ""
    return Rule(
        message=f"capacity at {tier} MBps per TiB must be a multiple of {limit.step}Gi "
        f"between {limit.min}Gi and {limit.max}Gi{above}",
        cel=f"self.throughputPerTiB != {tier} || !self.capacity.endsWith('Gi') || "
        f"({gib} >= {limit.min} && {gib} <= {limit.max} && {gib} % {step} == 0)",
        holds=lambda lustre: lustre.throughput_per_tib != tier or limit.allows(lustre.capacity.bytes),
        explain=lambda lustre: (
            f"capacity {lustre.capacity} is not possible at {tier} MBps per TiB: {_nearest(lustre)}"
        ),
    )


LustreTier.rules = (
    Rule(
        message="capacity must be written in Gi, such as 9000Gi: sizes are multiples of 9000Gi, and 9Ti is 9216Gi",
        cel="self.capacity.endsWith('Gi')",
        holds=lambda lustre: lustre.capacity.endswith("Gi"),
        explain=lambda lustre: f"capacity {lustre.capacity} must be written in Gi: {_nearest(lustre)}",
    ),
    *(_capacity_rule(tier, limits(tier)) for tier in table("lustre_tiers")["tiers"]),
    Rule(
        message="filesystem is immutable: create a new pool instead",
        cel="has(self.filesystem) == has(oldSelf.filesystem) && "
        "(!has(self.filesystem) || self.filesystem == oldSelf.filesystem)",
    ),
)
