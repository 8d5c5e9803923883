"""What a user may add to the engines' Pods. Everything here is added: nothing replaces what kvtier renders."""

import json
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field, StringConstraints, WithJsonSchema

from kvtier.api.fields import AnyObject, DnsLabel, ObjectName, list_map
from kvtier.api.rules import ApiModel, Rule
from kvtier.api.v1alpha1.nodepool import LabelValue

RESERVED_VOLUMES = ("shm", "home", "tmp", "local-ssd", "lustre")
RESERVED_CONTAINERS = ("engine", "cache-server")
RESERVED_PATHS = ("/dev/shm", "/home/vllm", "/tmp", "/kv")  # noqa: S108 - paths in the container
OWN_DOMAIN = "kvtier.dev/"
_NOT_OURS = f"!(c.name in {json.dumps(RESERVED_CONTAINERS)})"

_OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_NAME = {
    "type": "string",
    "pattern": r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
    "maxLength": 63,
    "description": "Its name in the Pod.",
}
# No part of a path may be empty or consist of dots: a path has one spelling.
_PATH = {
    "type": "string",
    "pattern": r"^(/[^/:]*[^/:.][^/:]*)+$",
    "maxLength": 512,
    "description": "Path in the container.",
}


class _Named(ApiModel):
    """What kvtier itself looks at of an object that it passes on."""

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
    "description": "As in Kubernetes' PodSpec.",
}
_MOUNT_SCHEMA = {
    **_OPEN,
    "required": ["name", "mountPath"],
    "properties": {"name": _NAME, "mountPath": _PATH},
    "description": "As in Kubernetes' PodSpec. `name` is that of a volume.",
}
Named = Annotated[dict[str, Any], AfterValidator(_named), WithJsonSchema(_NAMED_SCHEMA)]
Mount = Annotated[dict[str, Any], AfterValidator(_mounted), WithJsonSchema(_MOUNT_SCHEMA)]
_BY_NAME = list_map("name")
_ATOMIC = {"x-kubernetes-list-type": "atomic"}


class PodTemplate(ApiModel):
    """Additions to the engines' Pods, in the words of Kubernetes' PodSpec."""

    labels: Annotated[
        dict[str, LabelValue], Field(max_length=32, description="More labels of the Pods.")
    ] = {}
    annotations: Annotated[
        dict[str, Annotated[str, StringConstraints(max_length=4096)]],
        Field(max_length=32, description="Annotations of the Pods."),
    ] = {}
    service_account_name: Annotated[
        ObjectName | None,
        Field(description="Service account of the Pods, for Workload Identity. Its token is not mounted."),
    ] = None
    priority_class_name: Annotated[ObjectName | None, Field(description="PriorityClass of the Pods.")] = None
    runtime_class_name: Annotated[ObjectName | None, Field(description="RuntimeClass of the Pods.")] = None
    scheduler_name: Annotated[
        ObjectName | None, Field(description="Scheduler of the Pods, if not Kubernetes' own.")
    ] = None
    termination_grace_period_seconds: Annotated[
        int | None,
        Field(
            ge=1,
            le=86_400,
            description="Time for running requests to end when a Pod is stopped. 60 when left out.",
        ),
    ] = None
    tolerations: Annotated[
        list[AnyObject],
        Field(max_length=16, description="More taints that the Pods tolerate.", json_schema_extra=_ATOMIC),
    ] = []
    topology_spread_constraints: Annotated[
        list[AnyObject],
        Field(
            max_length=8,
            description="How the Pods spread over nodes and zones. A labelSelector that is left out selects the "
            "model's Pods.",
            json_schema_extra=_ATOMIC,
        ),
    ] = []
    volumes: Annotated[
        list[Named], Field(max_length=16, description="More volumes of the Pods.", json_schema_extra=_BY_NAME)
    ] = []
    volume_mounts: Annotated[
        list[Mount],
        Field(
            max_length=16,
            description="More mounts of the engine's container.",
            json_schema_extra=list_map("mountPath"),
        ),
    ] = []
    init_containers: Annotated[
        list[Named],
        Field(max_length=8, description="Containers that run before the engine.", json_schema_extra=_BY_NAME),
    ] = []
    containers: Annotated[
        list[Named],
        Field(max_length=8, description="Containers that run beside the engine.", json_schema_extra=_BY_NAME),
    ] = []

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message=f"podTemplate may not set labels or annotations under {OWN_DOMAIN}, which are kvtier's",
            cel=f"(!has(self.labels) || self.labels.all(k, !k.startsWith('{OWN_DOMAIN}'))) && "
            f"(!has(self.annotations) || self.annotations.all(k, !k.startsWith('{OWN_DOMAIN}')))",
            holds=lambda t: not any(k.startswith(OWN_DOMAIN) for k in (*t.labels, *t.annotations)),
        ),
        Rule(
            message="podTemplate.volumes may not have a name that kvtier uses: "
            + ", ".join(RESERVED_VOLUMES),
            cel=f"!has(self.volumes) || self.volumes.all(v, !(v.name in {json.dumps(RESERVED_VOLUMES)}))",
            holds=lambda t: not _taken(t.volumes, RESERVED_VOLUMES),
        ),
        Rule(
            message="containers of podTemplate may not have a name that kvtier uses: "
            + ", ".join(RESERVED_CONTAINERS),
            cel=f"(!has(self.containers) || self.containers.all(c, {_NOT_OURS})) && "
            f"(!has(self.initContainers) || self.initContainers.all(c, {_NOT_OURS}))",
            holds=lambda t: not _taken([*t.containers, *t.init_containers], RESERVED_CONTAINERS),
        ),
        Rule(
            message="a mountPath of podTemplate.volumeMounts may not be one of kvtier's, nor lie below /kv: "
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
