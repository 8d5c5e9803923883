"""GKE's ComputeClass as a CustomResourceDefinition: our own schema of the documented fields.

Unknown fields are pruned, as the API server does with any structural schema.
"""

from typing import Any

from testbed.kube import Object

API_VERSION = "cloud.google.com/v1"
KIND = "ComputeClass"
NAME = "computeclasses.cloud.google.com"

Schema = dict[str, Any]

_STRING: Schema = {"type": "string"}
_BOOLEAN: Schema = {"type": "boolean"}
_STRINGS: Schema = {"type": "object", "additionalProperties": _STRING}


def _integer(minimum: int = 0, maximum: int | None = None) -> Schema:
    return {"type": "integer", "minimum": minimum} | ({} if maximum is None else {"maximum": maximum})


def _enum(*values: str) -> Schema:
    return {"type": "string", "enum": list(values)}


def _array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _object(required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    schema: Schema = {"type": "object", "properties": properties}
    return schema | ({"required": list(required)} if required else {})


_TAINTS = _array(
    _object(key=_STRING, value=_STRING, effect=_enum("NoSchedule", "PreferNoSchedule", "NoExecute"))
)
_LOCATION = _object(zones=_array(_STRING), locationPolicy=_enum("ANY", "BALANCED"))
_SYSTEM: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_GPU = _object(
    type=_STRING,
    count=_integer(1),
    driverVersion=_enum("default", "latest", "disabled"),
    gpuSharing=_object(
        sharingStrategy=_enum("MPS", "TIME_SHARING"),
        maxSharedClientsPerGPU=_integer(),
        gpuPartitionSize=_STRING,
    ),
)
_STORAGE = _object(
    localSSDCount=_integer(1),
    bootDiskType=_enum("pd-balanced", "pd-standard", "pd-ssd", "hyperdisk-balanced"),
    bootDiskSize=_integer(10),
    bootDiskKMSKey=_STRING,
    secondaryBootDisks=_array(_object(diskImageName=_STRING, mode=_STRING, project=_STRING)),
)
_RESERVATIONS = _object(
    affinity=_enum("Specific", "AnyBestEffort", "None"),
    specific=_array(
        _object(name=_STRING, project=_STRING, reservationBlock=_object(name=_STRING), zones=_array(_STRING))
    ),
)
_EXCLUSIVE = "!(has(self.machineFamily) && has(self.machineType))"
_WHOLE_MACHINE = "!has(self.machineType) || (!has(self.minCores) && !has(self.minMemoryGb))"
_PRIORITY = _object(
    machineFamily=_STRING,
    machineType=_STRING,
    minCores=_integer(),
    minMemoryGb=_integer(),
    minCpuPlatform=_STRING,
    podFamily=_STRING,
    gpu=_GPU,
    storage=_STORAGE,
    location=_LOCATION,
    reservations=_RESERVATIONS,
    spot=_BOOLEAN,
    flexStart=_object(enabled=_BOOLEAN, nodeRecycling=_object(leadTimeSeconds=_integer())),
    capacityCheckWaitTimeSeconds=_integer(),
    maxRunDurationSeconds=_integer(),
    maxPodsPerNode=_integer(8, 256),
    nodeSystemConfig=_SYSTEM,
    nodeLabels=_STRINGS,
    taints=_TAINTS,
    nodepools=_array(_STRING),
    placement=_object(policyName=_STRING),
    acceleratorNetworkProfile=_STRING,
    priorityScore=_integer(),
    tpu=_object(type=_STRING, count=_integer(), topology=_STRING),
) | {
    "x-kubernetes-validations": [
        {"rule": _EXCLUSIVE, "message": "machineFamily and machineType exclude each other"},
        {"rule": _WHOLE_MACHINE, "message": "machineType excludes minCores and minMemoryGb"},
    ]
}
_NODE_POOL_CONFIG = _object(
    imageType=_enum("cos_containerd", "ubuntu_containerd"),
    gvnic=_object(enabled=_BOOLEAN),
    nodeLabels=_STRINGS,
    taints=_TAINTS,
    serviceAccount=_STRING,
    imageStreaming=_object(enabled=_BOOLEAN),
    autoRepair=_BOOLEAN,
    autoUpgrade=_BOOLEAN,
    ipType=_STRING,
    workloadType=_STRING,
    confidentialNodeType=_STRING,
)
_SPEC = _object(
    ("priorities",),
    activeMigration=_object(
        ("optimizeRulePriority",), optimizeRulePriority=_BOOLEAN, ensureAllDaemonSetPodsRunning=_BOOLEAN
    ),
    autopilot=_object(enabled=_BOOLEAN),
    autoscalingPolicy=_object(
        consolidationDelayMinutes=_integer(1, 1440),
        consolidationThreshold=_integer(0, 100),
        gpuConsolidationThreshold=_integer(0, 100),
    ),
    description=_STRING,
    nodePoolAutoCreation=_object(("enabled",), enabled=_BOOLEAN),
    nodePoolConfig=_NODE_POOL_CONFIG,
    nodePoolGroup=_object(name=_STRING),
    priorities=_array(_PRIORITY),
    priorityDefaults=_object(location=_LOCATION, nodeSystemConfig=_SYSTEM),
    whenUnsatisfiable=_enum("DoNotScaleUp", "ScaleUpAnyway") | {"default": "DoNotScaleUp"},
)
_CONDITION = _object(
    type=_STRING,
    status=_STRING,
    reason=_STRING,
    message=_STRING,
    lastTransitionTime=_STRING | {"format": "date-time"},
)


def definition() -> Object:
    """The CustomResourceDefinition."""
    schema = _object(spec=_SPEC, status=_object(conditions=_array(_CONDITION)))
    names = {
        "kind": KIND,
        "listKind": "ComputeClassList",
        "plural": "computeclasses",
        "singular": "computeclass",
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": {
            "group": "cloud.google.com",
            "scope": "Cluster",
            "names": names | {"shortNames": ["cc", "ccs"]},
            "versions": [version],
        },
    }
