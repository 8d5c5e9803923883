"""The nodes of the engines: machine type, GPUs, Local SSDs, zones, and who creates them."""

import re
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from kvtier.api.fields import Zone
from kvtier.api.rules import ApiModel, Rule

LabelValue = Annotated[
    str, StringConstraints(pattern=r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$", max_length=63)
]
LABEL_KEY = r"^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"
MachineType = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)+$", max_length=63)]


class Accelerator(ApiModel):
    """GPUs of each node."""

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
        Field(description="Resource that Pods request to get GPUs, and key of the taint on GPU nodes."),
    ] = "nvidia.com/gpu"


class NodePool(ApiModel):
    """Nodes on which the engines run."""

    provisioner: Annotated[
        Literal["ComputeClass", "Existing"],
        Field(
            description="Who creates the nodes. ComputeClass: GKE, on demand, from a ComputeClass that kvtier writes. "
            "Existing: you; engines run on the nodes that match accelerator, zones and nodeSelector."
        ),
    ] = "ComputeClass"
    machine_type: Annotated[
        MachineType | None,
        Field(description="Machine type, such as a3-highgpu-8g. Required with provisioner ComputeClass."),
    ] = None
    accelerator: Accelerator
    local_ssd_count: Annotated[
        int | None,
        Field(
            alias="localSSDCount",
            ge=1,
            le=64,
            description="Local SSD disks per node. If omitted, the number that comes with the machine type.",
        ),
    ] = None
    zones: Annotated[
        list[Zone],
        Field(
            max_length=8,
            description="Zones of the nodes. If omitted, the zone of the Lustre instance, or any zone without Lustre.",
            json_schema_extra={"x-kubernetes-list-type": "set"},
        ),
    ] = []
    spot: Annotated[bool, Field(description="Use Spot VMs.")] = False
    node_selector: Annotated[
        dict[str, LabelValue],
        Field(max_length=16, description="Additional node labels that the engine Pods require."),
    ] = {}

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="machineType is required with provisioner ComputeClass",
            cel="self.provisioner != 'ComputeClass' || has(self.machineType)",
            holds=lambda pool: pool.provisioner != "ComputeClass" or pool.machine_type is not None,
        ),
        Rule(
            message="nodeSelector must have keys of labels, such as example.com/team",
            cel=f"!has(self.nodeSelector) || self.nodeSelector.all(k, k.matches(r'{LABEL_KEY}'))",
            holds=lambda pool: all(re.fullmatch(LABEL_KEY, key) for key in pool.node_selector),
        ),
    )
