"""The cache tiers below GPU memory, fastest first."""

from typing import Annotated, ClassVar

from pydantic import Field

from kvtier.api.fields import Quantity
from kvtier.api.rules import ApiModel, Rule
from kvtier.api.v1alpha1.lustre import LustreTier


class CPUTier(ApiModel):
    """Host memory of each engine Pod; every lower tier is read and written through it."""

    capacity: Annotated[
        Quantity,
        Field(description="Cache bytes in host memory per Pod. Added to the Pod's memory request and limit."),
    ]


class LocalSSDTier(ApiModel):
    """Local SSD of the node, private to each engine Pod."""

    capacity: Annotated[Quantity, Field(description="Cache bytes on Local SSD per Pod.")]


class Tiers(ApiModel):
    """Tiers that the pool has. Without any, engines cache in GPU memory only."""

    cpu: CPUTier | None = None
    local_ssd: Annotated[LocalSSDTier | None, Field(alias="localSSD")] = None
    lustre: LustreTier | None = None

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="localSSD and lustre need the cpu tier: vLLM moves every block through host memory",
            cel="has(self.cpu) || (!has(self.localSSD) && !has(self.lustre))",
            holds=lambda tiers: tiers.cpu is not None or (tiers.local_ssd is None and tiers.lustre is None),
        ),
    )

    def names(self) -> list[str]:
        """Names of the tiers that are set, fastest first, as they appear in `status.tiers`."""
        set_tiers = {"cpu": self.cpu, "localSSD": self.local_ssd, "lustre": self.lustre}
        return [name for name, tier in set_tiers.items() if tier is not None]
