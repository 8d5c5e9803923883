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
        return [below, below + self.step_at(below + 1)]


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


def _capacity_rule(tier: int, limit: Limits) -> Rule:
    gib = f"(quantity(self.capacity).asInteger() / {GIB})"
    step = f"({gib} <= {limit.threshold} ? {limit.step} : {limit.stepAbove})"

    def holds(lustre: LustreTier) -> bool:
        return lustre.throughput_per_tib != tier or limit.allows(lustre.capacity.bytes)

    def explain(lustre: LustreTier) -> str:
        sizes = [f"{size}Gi" for size in limit.nearest(lustre.capacity.bytes)]
        if len(sizes) == 2:
            hint = f"the nearest are {' and '.join(sizes)}"
        else:
            hint = f"the {'smallest' if sizes == [f'{limit.min}Gi'] else 'largest'} is {sizes[0]}"
        return f"capacity {lustre.capacity} is not possible at {tier} MBps per TiB: {hint}"

    return Rule(
        message=f"capacity at {tier} MBps per TiB must be a multiple of {limit.step}Gi "
        f"between {limit.min}Gi and {limit.max}Gi",
        cel=f"self.throughputPerTiB != {tier} || (quantity(self.capacity).asInteger() % {GIB} == 0 && "
        f"{gib} >= {limit.min} && {gib} <= {limit.max} && {gib} % {step} == 0)",
        holds=holds,
        explain=explain,
    )


LustreTier.rules = (
    *(_capacity_rule(tier, limits(tier)) for tier in table("lustre_tiers")["tiers"]),
    Rule(
        message="filesystem is immutable: create a new pool instead",
        cel="has(self.filesystem) == has(oldSelf.filesystem) && "
        "(!has(self.filesystem) || self.filesystem == oldSelf.filesystem)",
    ),
)
