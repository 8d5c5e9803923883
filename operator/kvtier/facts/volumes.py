"""The Lustre PersistentVolumes of the cluster, also those that kvtier did not create."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from kvtier.api import quantities
from kvtier.api.identity import is_full_name
from kvtier.api.kinds import Object
from kvtier.api.names import LUSTRE_DRIVER
from kvtier.api.sentences import beginning

PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
"""Annotation of PersistentVolumes that a driver created, with its name (Kubernetes, external-provisioner)."""

VOLUME_ZONE = "topology.gke.io/zone"
"""Node label with the zone in the node affinity of Lustre PersistentVolumes."""

_K = TypeVar("_K")


@dataclass(frozen=True)
class Volume:
    """A PersistentVolume of the Lustre CSI driver, or one of kvtier whose `driver` was changed.

    `handle` is PROJECT/ZONE/INSTANCE, `capacity` in bytes. `zone`: the zone of its node affinity, empty if the affinity
    has another shape than kvtier's. `claim`: (namespace, name) of the PVC that it is reserved for. `claim_uid`: the uid
    of that PVC, empty while none is bound. `message`: why it is in its phase; Failed means that the driver could not
    delete the instance. `provisioned`: the driver created it, and so it deletes the instance if `reclaim` is Delete.
    `version` is the resourceVersion.
    """

    name: str
    uid: str
    handle: str
    filesystem: str = ""
    address: str = ""
    storage_class: str = ""
    phase: str = "Pending"
    capacity: int = 0
    reclaim: str = ""
    claim: tuple[str, str] | None = None
    claim_uid: str = ""
    deleting: bool = False
    message: str = ""
    driver: str = LUSTRE_DRIVER
    zone: str = ""
    provisioned: bool = False
    version: str = field(default="", compare=False)

    @property
    def instance(self) -> str:
        """Full name of the instance, empty if the handle is not in the form of the driver."""
        parts = self.handle.split("/")
        if len(parts) != 3:
            return ""
        project, zone, name = parts
        full = f"projects/{project}/locations/{zone}/instances/{name.partition(':')[0]}"
        return full if is_full_name(full) else ""


@dataclass(frozen=True)
class Volumes:
    """All Lustre PersistentVolumes, by name, by PVC and by file system. `others`: names of those of other drivers."""

    by_name: Mapping[str, Volume] = field(default_factory=dict)
    others: frozenset[str] = frozenset()

    @cached_property
    def by_claim(self) -> Mapping[tuple[str, str], tuple[Volume, ...]]:
        return _grouped((v.claim, v) for v in self.by_name.values() if v.claim)

    @cached_property
    def by_filesystem(self) -> Mapping[str, tuple[Volume, ...]]:
        return _grouped((v.filesystem, v) for v in self.by_name.values() if v.filesystem)


def _grouped(pairs: Iterable[tuple[_K, Volume]]) -> Mapping[_K, tuple[Volume, ...]]:
    groups: defaultdict[_K, list[Volume]] = defaultdict(list)
    for key, volume in pairs:
        groups[key].append(volume)
    return {key: tuple(found) for key, found in groups.items()}


def volume(obj: Object) -> Volume | None:
    """The parts of a PersistentVolume that kvtier uses; None for other drivers."""
    found = any_volume(obj)
    return found if found.driver == LUSTRE_DRIVER else None


def any_volume(obj: Object) -> Volume:
    """The same for a PersistentVolume of any driver."""
    metadata, spec, status = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
    source, reserved = spec.get("csi") or {}, spec.get("claimRef") or {}
    attributes = source.get("volumeAttributes") or {}
    named = (reserved.get("namespace", ""), reserved.get("name", ""))
    return Volume(
        name=metadata["name"],
        uid=metadata.get("uid", ""),
        handle=source.get("volumeHandle", ""),
        filesystem=attributes.get("filesystem", ""),
        address=attributes.get("ip", ""),
        storage_class=spec.get("storageClassName", ""),
        phase=status.get("phase", "Pending"),
        capacity=quantities.read((spec.get("capacity") or {}).get("storage")),
        reclaim=spec.get("persistentVolumeReclaimPolicy", ""),
        claim=named if all(named) else None,
        claim_uid=reserved.get("uid", ""),
        deleting="deletionTimestamp" in metadata,
        message=beginning(status.get("message")),
        driver=source.get("driver", ""),
        zone=_zone(spec.get("nodeAffinity")),
        provisioned=(metadata.get("annotations") or {}).get(PROVISIONED_BY) == LUSTRE_DRIVER,
        version=metadata.get("resourceVersion", ""),
    )


def _zone(affinity: Any) -> str:
    """The zone of a node affinity that requires exactly one zone and nothing else, else empty."""
    try:
        (term,) = affinity["required"]["nodeSelectorTerms"]
        (expression,) = term["matchExpressions"]
        (zone,) = expression["values"]
    except (KeyError, TypeError, ValueError):
        return ""
    alone = set(affinity) == {"required"} and set(term) == {"matchExpressions"}
    asks = {**expression, "values": None} == {"key": VOLUME_ZONE, "operator": "In", "values": None}
    return str(zone) if alone and asks else ""
