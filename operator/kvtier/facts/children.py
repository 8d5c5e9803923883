"""A pool's live children as frozen values. Only this module parses the objects.

Every object that the API server accepts has a value: a field that is missing or cannot be parsed is empty or 0.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from kvtier.api import quantities
from kvtier.api.kinds import Key, Object
from kvtier.api.names import (
    ANNOTATION_APPLIED,
    ANNOTATION_POOL,
    ANNOTATION_PROVISIONER,
    LABEL_POOL,
    LABEL_PROBE,
)
from kvtier.api.sentences import beginning
from kvtier.facts.volumes import Volume, any_volume


@dataclass(frozen=True, slots=True)
class Child:
    """The fields that all children have. `created` is RFC 3339, `version` the resourceVersion.

    `applied`: the digest of the manifest that kvtier applied last. `for_pool`: whether kvtier has ever applied one.
    """

    kind: str
    name: str
    namespace: str = ""
    uid: str = ""
    version: str = ""
    created: str = ""
    deleting: bool = False
    applied: str = ""
    for_pool: bool = False


@dataclass(frozen=True, slots=True)
class StorageClass(Child):
    """`fixed`: the live values of the immutable fields."""

    fixed: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ResizeError:
    """The condition ControllerResizeError of a PVC. `since` is RFC 3339, empty if unknown."""

    message: str
    since: str = ""


@dataclass(frozen=True, slots=True)
class Claim(Child):
    """A PersistentVolumeClaim. Sizes in bytes.

    `capacity`: of the status (0 before it is bound). `requested`: of the spec. `allocated`: the last size asked
    from the driver (0 without any resize). `volume`: name of the bound or reserved PersistentVolume.
    `chosen_by_controller`: Kubernetes chose the PersistentVolume, not the author of the PVC. `handed_over`: Kubernetes
    has named the provisioner. `resizing`: the driver has started a resize.
    """

    phase: str = "Pending"
    storage_class: str | None = None
    volume: str = ""
    capacity: int = 0
    requested: int = 0
    allocated: int = 0
    chosen_by_controller: bool = False
    handed_over: bool = False
    resizing: bool = False
    resize_error: ResizeError | None = None

    @property
    def bound(self) -> bool:
        """Whether the PVC is bound and is not being deleted."""
        return self.phase == "Bound" and not self.deleting


@dataclass(frozen=True, slots=True)
class Deployment(Child):
    """`replicas`: of the spec, None if not set. `ready`: number of ready Pods with the current spec.

    `failures`: messages of its conditions, such as a quota or a Pod that does not become ready. `labelled`: its Pods
    have the pool's label.
    """

    replicas: int | None = None
    ready: int = 0
    mounts_lustre: bool = False
    failures: tuple[str, ...] = ()
    labelled: bool = False


@dataclass(frozen=True, slots=True)
class JobEnd:
    """How a Job ended. `container` and `code`: the failed container and its exit code, empty and 0 if unknown."""

    succeeded: bool
    at: str
    reason: str = ""
    message: str = ""
    container: str = ""
    code: int = 0


@dataclass(frozen=True, slots=True)
class Job(Child):
    """`probe`: the series of write probes that it belongs to, empty for other Jobs.

    `end`: None while it runs. The result is known before the last Pod is deleted, because a Pod with a dead mount may
    hang forever. `started`: RFC 3339, empty before the start. `has_pods`: whether it has created a Pod.
    """

    probe: str = ""
    end: JobEnd | None = None
    started: str = ""
    has_pods: bool = False
    labelled: bool = False


@dataclass(frozen=True, slots=True)
class PersistentVolume(Child):
    """A PersistentVolume that kvtier created. `provisioner`: the one that the pool had then."""

    provisioner: str = ""
    volume: Volume | None = None


_C = TypeVar("_C", bound=Child)


@dataclass(frozen=True, slots=True)
class Children:
    """A pool's children by kind and name."""

    by_key: Mapping[Key, Child] = field(default_factory=dict)

    @property
    def claims(self) -> tuple[Claim, ...]:
        return self._all(Claim)

    @property
    def deployments(self) -> tuple[Deployment, ...]:
        return self._all(Deployment)

    @property
    def jobs(self) -> tuple[Job, ...]:
        return self._all(Job)

    def of(self, kinds: Collection[str]) -> tuple[Child, ...]:
        """All children of some kinds, ordered by kind and name."""
        return tuple(child for key, child in sorted(self.by_key.items()) if key[0] in kinds)

    def storage_class(self, name: str) -> StorageClass | None:
        return self._one(StorageClass, "StorageClass", name)

    def claim(self, name: str) -> Claim | None:
        return self._one(Claim, "PersistentVolumeClaim", name)

    def volume(self, name: str) -> PersistentVolume | None:
        return self._one(PersistentVolume, "PersistentVolume", name)

    def deployment(self, name: str) -> Deployment | None:
        return self._one(Deployment, "Deployment", name)

    def job(self, name: str) -> Job | None:
        return self._one(Job, "Job", name)

    def compute_class(self, name: str) -> Child | None:
        return self.by_key.get(("ComputeClass", name))

    def _all(self, type_: type[_C]) -> tuple[_C, ...]:
        return tuple(child for _, child in sorted(self.by_key.items()) if isinstance(child, type_))

    def _one(self, type_: type[_C], kind: str, name: str) -> _C | None:
        found = self.by_key.get((kind, name))
        return found if isinstance(found, type_) else None


def children(objects: Mapping[Key, Object]) -> Children:
    """The values of live objects."""
    return Children({key: view(key[0], obj) for key, obj in objects.items()})


def view(kind: str, obj: Object) -> Child:
    """One live object as a value."""
    metadata = obj["metadata"]
    annotations = metadata.get("annotations") or {}
    common = {
        "kind": kind,
        "name": metadata["name"],
        "namespace": metadata.get("namespace", ""),
        "uid": metadata.get("uid", ""),
        "version": metadata.get("resourceVersion", ""),
        "created": metadata.get("creationTimestamp") or "",
        "deleting": bool(metadata.get("deletionTimestamp")),
        "applied": annotations.get(ANNOTATION_APPLIED, ""),
        "for_pool": ANNOTATION_POOL in annotations,
    }
    return _VIEWS.get(kind, _plain)(obj, common)


def _plain(obj: Object, common: dict[str, Any]) -> Child:
    return Child(**common)


_FIXED = ("provisioner", "parameters", "reclaimPolicy", "volumeBindingMode")


def fixed_fields(storage_class: Object) -> dict[str, Any]:
    """The immutable fields of a StorageClass, from a live object or a manifest."""
    return {name: storage_class.get(name) for name in _FIXED}


def _storage_class(obj: Object, common: dict[str, Any]) -> StorageClass:
    return StorageClass(**common, fixed=fixed_fields(obj))


_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
_PROVISIONER = "volume.kubernetes.io/storage-provisioner"
"""Annotations of PVCs: Kubernetes has chosen the PersistentVolume; Kubernetes has named the provisioner."""


def _claim(obj: Object, common: dict[str, Any]) -> Claim:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    annotations = obj["metadata"].get("annotations") or {}
    conditions = {
        one.get("type"): one for one in status.get("conditions") or () if one.get("status") == "True"
    }
    error = conditions.get("ControllerResizeError")
    return Claim(
        **common,
        phase=status.get("phase") or "Pending",
        storage_class=spec.get("storageClassName"),
        volume=spec.get("volumeName") or "",
        capacity=_storage(status.get("capacity")),
        requested=_storage((spec.get("resources") or {}).get("requests")),
        allocated=_storage(status.get("allocatedResources")),
        chosen_by_controller=_BY_CONTROLLER in annotations,
        handed_over=_PROVISIONER in annotations,
        resizing=bool(status.get("allocatedResourceStatuses")) or "Resizing" in conditions,
        resize_error=ResizeError(beginning(error.get("message")), error.get("lastTransitionTime") or "")
        if error
        else None,
    )


def _storage(resources: Mapping[str, Any] | None) -> int:
    return quantities.read((resources or {}).get("storage"))


_WRONG = {"Progressing": "False", "ReplicaFailure": "True"}


def _deployment(obj: Object, common: dict[str, Any]) -> Deployment:
    """Ignores the number of ready Pods while the status is about an earlier spec."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    current = status.get("observedGeneration", 0) >= obj["metadata"].get("generation", 0)
    wrong = [
        one
        for one in status.get("conditions") or ()
        if (one.get("type"), one.get("status")) in _WRONG.items()
    ]
    return Deployment(
        **common,
        replicas=spec.get("replicas"),
        ready=status.get("readyReplicas") or 0 if current else 0,
        mounts_lustre=any(one.get("name") == "lustre" for one in _pod_spec(obj).get("volumes") or ()),
        failures=tuple(beginning(one.get("message") or one.get("reason")) for one in wrong),
        labelled=LABEL_POOL in _pod_labels(obj),
    )


# pkg/controller/job/job_controller.go and pod_failure_policy.go of Kubernetes 1.36
_ENDED = {"Complete": True, "SuccessCriteriaMet": True, "Failed": False, "FailureTarget": False}
_EXIT = re.compile(r"Container (?P<container>\S+) for pod \S+ failed with exit code (?P<code>\d+)")
_COUNTS = ("active", "terminating", "succeeded", "failed")


def _job(obj: Object, common: dict[str, Any]) -> Job:
    status, labels = obj.get("status") or {}, _pod_labels(obj)
    conditions = status.get("conditions") or ()
    ended = next(
        (one for one in conditions if one.get("type") in _ENDED and one.get("status") == "True"), None
    )
    return Job(
        **common,
        probe=labels.get(LABEL_PROBE, ""),
        end=_job_end(ended, common["created"]) if ended else None,
        started=status.get("startTime") or "",
        has_pods=any(status.get(count) for count in _COUNTS),
        labelled=LABEL_POOL in labels,
    )


def _job_end(condition: Mapping[str, Any], created: str) -> JobEnd:
    message = beginning(condition.get("message"))
    exited = _EXIT.search(message)
    return JobEnd(
        succeeded=_ENDED[condition["type"]],
        at=condition.get("lastTransitionTime") or created,
        reason=condition.get("reason", ""),
        message=message,
        container=exited["container"] if exited else "",
        code=int(exited["code"]) if exited else 0,
    )


def _persistent_volume(obj: Object, common: dict[str, Any]) -> PersistentVolume:
    annotations = obj["metadata"].get("annotations") or {}
    return PersistentVolume(
        **common, provisioner=annotations.get(ANNOTATION_PROVISIONER, ""), volume=any_volume(obj)
    )


def _pod_spec(obj: Object) -> Mapping[str, Any]:
    return ((obj.get("spec") or {}).get("template") or {}).get("spec") or {}


def _pod_labels(obj: Object) -> Mapping[str, str]:
    return (((obj.get("spec") or {}).get("template") or {}).get("metadata") or {}).get("labels") or {}


_VIEWS: Mapping[str, Callable[[Object, dict[str, Any]], Child]] = {
    "StorageClass": _storage_class,
    "PersistentVolumeClaim": _claim,
    "PersistentVolume": _persistent_volume,
    "Deployment": _deployment,
    "Job": _job,
}
