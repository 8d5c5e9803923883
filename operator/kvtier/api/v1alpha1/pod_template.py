"""Additions to the engine Pods. They are added to what kvtier renders, and never replace it."""

import json
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field, StringConstraints, WithJsonSchema

from kvtier.api.fields import AnyObject, DnsLabel, ObjectName, list_map
from kvtier.api.rules import ApiModel, Rule
from kvtier.api.v1alpha1.nodepool import LabelValue

RESERVED_VOLUMES = ("shm", "home", "tmp", "local-ssd", "lustre", "lora-adapters")
RESERVED_CONTAINERS = ("engine", "cache-server", "lora-adapters")
RESERVED_PATHS = ("/dev/shm", "/home/vllm", "/tmp", "/kv")  # noqa: S108 - paths in the container
OWN_DOMAIN = "kvtier.dev/"
_NOT_OURS = f"!(c.name in {json.dumps(RESERVED_CONTAINERS)})"

_OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_NAME = {
    "type": "string",
    "pattern": r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
    "maxLength": 63,
    "description": "Name in the Pod.",
}
# A path segment must not be empty and must not consist of dots only, so that each path has one spelling.
_PATH = {
    "type": "string",
    "pattern": r"^(/[^/:]*[^/:.][^/:]*)+$",
    "maxLength": 512,
    "description": "Path in the container.",
}


class _Named(ApiModel):
    """The fields that kvtier itself reads of an object that it passes on."""

    name: DnsLabel


class _Mounted(_Named):
    mount_path: Annotated[str, StringConstraints(pattern=_PATH["pattern"], max_length=512)]


def _named(value: dict[str, Any]) -> dict[str, Any]:
    _Named.model_validate(value, extra="ignore")
    return value


def _mounted(value: dict[str, Any]) -> dict[str, Any]:
    _Mounted.model_validate(value, extra="ignore")
    return value


_NAMED_SCHEMA = {
    **_OPEN,
    "required": ["name"],
    "properties": {"name": _NAME},
    "description": "As in the Kubernetes PodSpec.",
}
_MOUNT_SCHEMA = {
    **_OPEN,
    "required": ["name", "mountPath"],
    "properties": {"name": {**_NAME, "description": "Name of a volume of the Pod."}, "mountPath": _PATH},
    "description": "As in the Kubernetes PodSpec.",
}
Named = Annotated[dict[str, Any], AfterValidator(_named), WithJsonSchema(_NAMED_SCHEMA)]
Mount = Annotated[dict[str, Any], AfterValidator(_mounted), WithJsonSchema(_MOUNT_SCHEMA)]
_BY_NAME = list_map("name")
_ATOMIC = {"x-kubernetes-list-type": "atomic"}


class PodTemplate(ApiModel):
    """Additions to the engine Pods, with the fields of the Kubernetes PodSpec."""

    labels: Annotated[
        dict[str, LabelValue], Field(max_length=32, description="Additional labels of the Pods.")
    ] = {}
    annotations: Annotated[
        dict[str, Annotated[str, StringConstraints(max_length=4096)]],
        Field(max_length=32, description="Additional annotations of the Pods."),
    ] = {}
    service_account_name: Annotated[
        ObjectName | None,
        Field(description="Service account of the Pods, for Workload Identity. Its token is not mounted."),
    ] = None
    priority_class_name: Annotated[ObjectName | None, Field(description="PriorityClass of the Pods.")] = None
    runtime_class_name: Annotated[ObjectName | None, Field(description="RuntimeClass of the Pods.")] = None
    scheduler_name: Annotated[
        ObjectName | None, Field(description="Scheduler of the Pods. If omitted, the default scheduler.")
    ] = None
    termination_grace_period_seconds: Annotated[
        int | None,
        Field(
            ge=1,
            le=86_400,
            description="Seconds for running requests to finish when a Pod stops. If omitted, 60.",
        ),
    ] = None
    tolerations: Annotated[
        list[AnyObject],
        Field(max_length=16, description="Additional tolerations of the Pods.", json_schema_extra=_ATOMIC),
    ] = []
    topology_spread_constraints: Annotated[
        list[AnyObject],
        Field(
            max_length=8,
            description="How the Pods are spread over nodes and zones. A constraint without labelSelector applies to "
            "the Pods of the model.",
            json_schema_extra=_ATOMIC,
        ),
    ] = []
    volumes: Annotated[
        list[Named],
        Field(max_length=16, description="Additional volumes of the Pods.", json_schema_extra=_BY_NAME),
    ] = []
    volume_mounts: Annotated[
        list[Mount],
        Field(
            max_length=16,
            description="Additional volume mounts of the engine container.",
            json_schema_extra=list_map("mountPath"),
        ),
    ] = []
    init_containers: Annotated[
        list[Named],
        Field(
            max_length=8,
            description="Containers that run before the engine starts.",
            json_schema_extra=_BY_NAME,
        ),
    ] = []
    containers: Annotated[
        list[Named],
        Field(max_length=8, description="Containers that run beside the engine.", json_schema_extra=_BY_NAME),
    ] = []

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message=f"podTemplate must not set labels or annotations under {OWN_DOMAIN}, which is reserved for kvtier",
            cel=f"(!has(self.labels) || self.labels.all(k, !k.startsWith('{OWN_DOMAIN}'))) && "
            f"(!has(self.annotations) || self.annotations.all(k, !k.startsWith('{OWN_DOMAIN}')))",
            holds=lambda t: not any(k.startswith(OWN_DOMAIN) for k in (*t.labels, *t.annotations)),
        ),
        Rule(
            message="podTemplate.volumes must not use a name reserved for kvtier: "
            + ", ".join(RESERVED_VOLUMES),
            cel=f"!has(self.volumes) || self.volumes.all(v, !(v.name in {json.dumps(RESERVED_VOLUMES)}))",
            holds=lambda t: not _taken(t.volumes, RESERVED_VOLUMES),
        ),
        Rule(
            message="containers and initContainers of podTemplate must not use a name reserved for kvtier: "
            + ", ".join(RESERVED_CONTAINERS),
            cel=f"(!has(self.containers) || self.containers.all(c, {_NOT_OURS})) && "
            f"(!has(self.initContainers) || self.initContainers.all(c, {_NOT_OURS}))",
            holds=lambda t: not _taken([*t.containers, *t.init_containers], RESERVED_CONTAINERS),
        ),
        Rule(
            message="mountPath in podTemplate.volumeMounts must not be below /kv or a path reserved for kvtier: "
            + ", ".join(RESERVED_PATHS),
            cel="!has(self.volumeMounts) || self.volumeMounts.all(m, "
            f"!(m.mountPath in {json.dumps(RESERVED_PATHS)}) && !m.mountPath.startsWith('/kv/'))",
            holds=lambda t: all(_free(mount["mountPath"]) for mount in t.volume_mounts),
        ),
    )


def _taken(objects: Iterable[dict[str, Any]], names: tuple[str, ...]) -> bool:
    return any(one["name"] in names for one in objects)


def _free(path: str) -> bool:
    return path not in RESERVED_PATHS and not path.startswith("/kv/")
