"""The nodes that serve: which machines, with how many GPUs and Local SSDs, and who makes them."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from kvtier.api.fields import Zone
from kvtier.api.rules import ApiModel, Rule

LabelValue = Annotated[
    str, StringConstraints(pattern=r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$", max_length=63)
]
MachineType = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)+$", max_length=63)]


class Accelerator(ApiModel):
    """GPUs of one node."""

    type: Annotated[
        str,
        StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=63),
        Field(description="GKE accelerator type, such as nvidia-h100-80gb."),
    ]
    count: Annotated[int, Field(ge=1, le=16, description="GPUs per node.")]
    resource_name: Annotated[
        str,
        StringConstraints(
            pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$",
            max_length=253,
        ),
        Field(description="Resource by which Pods ask for GPUs, and the key of their taint."),
    ] = "nvidia.com/gpu"


class NodePool(ApiModel):
    """Where the engines run."""

    provisioner: Annotated[
        Literal["ComputeClass", "Existing"],
        Field(
            description="ComputeClass: GKE makes nodes on demand from a ComputeClass that kvtier writes. "
            "Existing: use nodes that are there, chosen by accelerator, zones and nodeSelector."
        ),
    ] = "ComputeClass"
    machine_type: Annotated[
        MachineType | None,
        Field(description="Machine type, such as a3-highgpu-8g. Required by ComputeClass."),
    ] = None
    accelerator: Accelerator
    local_ssd_count: Annotated[
        int | None,
        Field(
            alias="localSSDCount",
            ge=1,
            le=64,
            description="Local SSD disks per node. Left out: the number that the machine type comes with.",
        ),
    ] = None
    zones: Annotated[
        list[Zone],
        Field(
            max_length=8,
            description="Zones of the nodes. The zone of the Lustre instance when left out.",
            json_schema_extra={"x-kubernetes-list-type": "set"},
        ),
    ] = []
    spot: Annotated[bool, Field(description="Use Spot VMs.")] = False
    node_selector: Annotated[
        dict[str, LabelValue],
        Field(max_length=16, description="More node labels that the engines' Pods require."),
    ] = {}

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="machineType is required when the provisioner is ComputeClass",
            cel="self.provisioner != 'ComputeClass' || has(self.machineType)",
            holds=lambda pool: pool.provisioner != "ComputeClass" or pool.machine_type is not None,
        ),
    )
