"""Additions to the engine Pods. They are added to what kvtier renders, and never replace it."""

import json
import re
from collections.abc import Callable, Iterable
from typing import Annotated, Any, ClassVar

from pydantic import Field, StringConstraints

from kvtier.api.fields import ObjectName
from kvtier.api.rules import ApiModel, Rule
from kvtier.api.v1alpha1.nodepool import LABEL_KEY, LabelValue
from kvtier.data import pod_types

RESERVED_VOLUMES = ("shm", "home", "tmp", "local-ssd", "lustre", "lora-adapters")
RESERVED_CONTAINERS = ("engine", "cache-server", "lora-adapters")
RESERVED_PATHS = ("/dev/shm", "/home/vllm", "/tmp", "/kv")  # noqa: S108 - paths in the container
OWN_DOMAIN = "kvtier.dev/"
_ANNOTATION_KEY = LABEL_KEY.replace("a-z0-9", "A-Za-z0-9").replace("A-ZA-Z", "A-Z")
"""The domain of an annotation may have capitals."""
_NOT_OURS = f"!(c.name in {json.dumps(RESERVED_CONTAINERS)})"

_NAME = {"pattern": r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "maxLength": 63}
# A path segment must not be empty and must not consist of dots only, so that each path has one spelling.
_PATH = {"pattern": r"^(/[^/:]*[^/:.][^/:]*)+$", "maxLength": 512}
_OWN_USER = ("runAsNonRoot", "runAsUser", "runAsGroup", "fsGroup", "seccompProfile", "windowsOptions")
"""Fields of the Pod's securityContext that kvtier sets. Windows has no engine."""

_Change = Callable[[dict[str, Any]], object]


def _pod(field: str, description: str, *changes: _Change, of: str = "PodSpec") -> Any:
    """A field with the schema of the Kubernetes type `of`, which only the CRD and the files of users are held to.

    The operator takes what the API server has accepted. `changes` are made to the schema.
    """

    def replace(node: dict[str, Any]) -> None:
        node.clear()
        node.update(pod_types.schema(of, field), description=description)
        for change in changes:
            change(node)

    return Field(description=description, json_schema_extra=replace)


def _container(field: str, description: str, *changes: _Change) -> Any:
    """A field of the engine container."""
    return _pod(field, description, *changes, of="Container")


def _at_most(items: int) -> _Change:
    return lambda node: node.update(maxItems=items)


def _narrower(field: str, **bounds: Any) -> _Change:
    """Narrower bounds of a field of the items, for kvtier's own rules."""
    return lambda node: node["items"]["properties"][field].update(bounds)


def _atomic(node: dict[str, Any]) -> None:
    node["x-kubernetes-list-type"] = "atomic"
    del node["x-kubernetes-list-map-keys"]


def _without_own_user(node: dict[str, Any]) -> None:
    for field in _OWN_USER:
        del node["properties"][field]


_Objects = list[dict[str, Any]]


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
    affinity: Annotated[
        dict[str, Any] | None,
        _pod("affinity", "Affinity of the Pods. kvtier adds the zones to each node selector term."),
    ] = None
    preemption_policy: Annotated[
        str | None, _pod("preemptionPolicy", "Whether the Pods preempt Pods with a lower priority.")
    ] = None
    scheduling_gates: Annotated[
        _Objects, _pod("schedulingGates", "Gates that must be removed before the Pods are scheduled.")
    ] = []
    scheduling_group: Annotated[
        dict[str, Any] | None, _pod("schedulingGroup", "Group of Pods that are scheduled together.")
    ] = None
    resource_claims: Annotated[
        _Objects, _pod("resourceClaims", "ResourceClaims that additional containers may use.")
    ] = []
    readiness_gates: Annotated[
        _Objects, _pod("readinessGates", "Conditions that a Pod must also have to be ready.")
    ] = []
    dns_policy: Annotated[str | None, _pod("dnsPolicy", "DNS policy of the Pods.")] = None
    dns_config: Annotated[dict[str, Any] | None, _pod("dnsConfig", "DNS parameters of the Pods.")] = None
    host_aliases: Annotated[_Objects, _pod("hostAliases", "Additional entries of /etc/hosts.")] = []
    hostname: Annotated[str | None, _pod("hostname", "Host name of the Pods.")] = None
    hostname_override: Annotated[
        str | None, _pod("hostnameOverride", "Host name of the Pods, in place of hostname and subdomain.")
    ] = None
    subdomain: Annotated[str | None, _pod("subdomain", "Subdomain of the Pods.")] = None
    set_hostname_as_fqdn: Annotated[
        bool | None,
        _pod("setHostnameAsFQDN", "Use the fully qualified name as the host name of the Pods."),
        Field(alias="setHostnameAsFQDN"),
    ] = None
    share_process_namespace: Annotated[
        bool | None,
        _pod("shareProcessNamespace", "Whether all containers of a Pod see each other's processes."),
    ] = None
    host_users: Annotated[
        bool | None,
        _pod("hostUsers", "False: the Pods have a user namespace. The Lustre client does not support it."),
    ] = None
    security_context: Annotated[
        dict[str, Any] | None,
        _pod("securityContext", "Security settings of the Pods, without user and group.", _without_own_user),
    ] = None
    tolerations: Annotated[
        _Objects, _pod("tolerations", "Additional tolerations of the Pods.", _at_most(16))
    ] = []
    topology_spread_constraints: Annotated[
        _Objects,
        _pod(
            "topologySpreadConstraints",
            "How the Pods are spread over nodes and zones. A constraint without labelSelector applies to the Pods of "
            "the model.",
            _at_most(8),
            _atomic,
        ),
    ] = []
    volumes: Annotated[
        _Objects,
        _pod("volumes", "Additional volumes of the Pods.", _at_most(16), _narrower("name", **_NAME)),
    ] = []
    init_containers: Annotated[
        _Objects,
        _pod(
            "initContainers",
            "Containers that run before the engine starts.",
            _at_most(8),
            _narrower("name", **_NAME),
        ),
    ] = []
    containers: Annotated[
        _Objects,
        _pod("containers", "Containers that run beside the engine.", _at_most(8), _narrower("name", **_NAME)),
    ] = []
    volume_mounts: Annotated[
        _Objects,
        _container(
            "volumeMounts",
            "Additional volume mounts of the engine container.",
            _at_most(16),
            _narrower("name", **_NAME),
            _narrower("mountPath", **_PATH),
        ),
    ] = []
    volume_devices: Annotated[
        _Objects, _container("volumeDevices", "Block devices of the engine container.")
    ] = []
    ports: Annotated[_Objects, _container("ports", "Additional ports of the engine container.")] = []
    lifecycle: Annotated[
        dict[str, Any] | None, _container("lifecycle", "Lifecycle hooks of the engine container.")
    ] = None
    image_pull_policy: Annotated[
        str | None, _container("imagePullPolicy", "When the image of the engine is pulled.")
    ] = None
    resize_policy: Annotated[
        _Objects, _container("resizePolicy", "How the engine container is resized in place.")
    ] = []
    working_dir: Annotated[
        str | None, _container("workingDir", "Working directory of the engine container.")
    ] = None
    termination_message_path: Annotated[
        str | None, _container("terminationMessagePath", "File with the engine's last message.")
    ] = None
    termination_message_policy: Annotated[
        str | None, _container("terminationMessagePolicy", "Where the engine's last message comes from.")
    ] = None
    stdin: Annotated[bool | None, _container("stdin", "Whether the engine container has a stdin.")] = None
    stdin_once: Annotated[
        bool | None, _container("stdinOnce", "Whether stdin closes after the first session.")
    ] = None
    tty: Annotated[bool | None, _container("tty", "Whether the engine container has a terminal.")] = None

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message=f"podTemplate must not set labels or annotations under {OWN_DOMAIN}, which is reserved for kvtier",
            cel=f"(!has(self.labels) || self.labels.all(k, !k.startsWith('{OWN_DOMAIN}'))) && "
            f"(!has(self.annotations) || self.annotations.all(k, !k.startsWith('{OWN_DOMAIN}')))",
            holds=lambda t: not any(k.startswith(OWN_DOMAIN) for k in (*t.labels, *t.annotations)),
        ),
        Rule(
            message="podTemplate must have keys of labels and annotations such as example.com/team",
            cel=f"(!has(self.labels) || self.labels.all(k, k.matches(r'{LABEL_KEY}'))) && "
            f"(!has(self.annotations) || self.annotations.all(k, k.matches(r'{_ANNOTATION_KEY}')))",
            holds=lambda t: (
                all(re.fullmatch(LABEL_KEY, key) for key in t.labels)
                and all(re.fullmatch(_ANNOTATION_KEY, key) for key in t.annotations)
            ),
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
