"""One rich document per kind of object that kvtier decodes."""

from typing import Any

from kvtier.api.names import LUSTRE_DRIVER
from unit.builders import GKE_VERSION, NOW, claim, deployment, job, joined, live, manifest, pool
from unit.instances import by_hand

POOL = pool()
SHARED = pool(**by_hand())

_BY_DRIVER: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "metadata": {"name": "pv-1", "uid": "pv-uid", "resourceVersion": "4", "annotations": {"a": "b"}},
    "spec": {
        "capacity": {"storage": "18000Gi"},
        "accessModes": ["ReadWriteMany"],
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": "x",
        "claimRef": {"namespace": "team-a", "name": claim(POOL)["metadata"]["name"], "uid": "c"},
        "csi": {
            "driver": LUSTRE_DRIVER,
            "volumeHandle": "my-project/us-central1-a/pvc-1",
            "volumeAttributes": {"ip": "10.0.0.4", "filesystem": "lfs"},
        },
        "nodeAffinity": {
            "required": {
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": [
                            {"key": "topology.gke.io/zone", "operator": "In", "values": ["us-central1-a"]}
                        ]
                    }
                ]
            }
        },
    },
    "status": {"phase": "Failed", "message": "why"},
}


def _condition(type_: str, status: str = "True") -> dict[str, str]:
    return {
        "type": type_,
        "status": status,
        "reason": "R",
        "message": "Container c for pod p failed with exit code 3",
        "lastTransitionTime": NOW,
    }


_RESIZED: dict[str, Any] = {
    "metadata": {"creationTimestamp": NOW},
    "status": {
        "allocatedResources": {"storage": "27000Gi"},
        "allocatedResourceStatuses": {"storage": "ControllerResizeInProgress"},
        "conditions": [_condition("ControllerResizeError"), _condition("Resizing")],
    },
}
_STARTED: dict[str, Any] = {
    "metadata": {"creationTimestamp": NOW},
    "status": {"conditions": [_condition("Progressing", "False"), _condition("ReplicaFailure")]},
}
CLAIM = claim(POOL, **_RESIZED)
WAITING = claim(POOL, "Pending", metadata={"creationTimestamp": NOW, "annotations": {"x": "y"}})
DEPLOYMENT = deployment(POOL, **_STARTED)
JOB = job(POOL, status={"startTime": NOW, "failed": 1, "conditions": [_condition("Failed")]})
NODE: dict[str, Any] = {
    "kind": "Node",
    "metadata": {"name": "gpu-1", "uid": "n", "resourceVersion": "1", "labels": {"a": "b"}},
    "status": {
        "nodeInfo": {"kubeletVersion": GKE_VERSION, "osImage": "COS", "architecture": "amd64"},
        "conditions": [_condition("Ready")],
        "allocatable": {"memory": "1915814236Ki", "ephemeral-storage": "5642136341201", "cpu": "207"},
    },
}
CSI_NODE: dict[str, Any] = {
    "kind": "CSINode",
    "metadata": {"name": "gpu-1", "uid": "c", "resourceVersion": "1"},
    "spec": {"drivers": [{"name": LUSTRE_DRIVER, "nodeID": "n", "topologyKeys": ["a"]}]},
}
EVENT: dict[str, Any] = {
    "kind": "Event",
    "metadata": {"name": "e", "namespace": "team-a", "creationTimestamp": NOW},
    "involvedObject": {"kind": "Pod", "name": f"{DEPLOYMENT['metadata']['name']}-a-b", "uid": "u"},
    "type": "Warning",
    "reason": "FailedScheduling",
    "message": "rpc error: code = ResourceExhausted desc = quota",
    "count": 3,
    "firstTimestamp": NOW,
    "lastTimestamp": NOW,
    "eventTime": NOW,
    "series": {"count": 4, "lastObservedTime": NOW},
}
POD: dict[str, Any] = {
    "kind": "Pod",
    "metadata": {"name": f"{DEPLOYMENT['metadata']['name']}-a-b", "namespace": "team-a"},
    "spec": {
        "nodeName": "gpu-1",
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": CLAIM["metadata"]["name"]}}],
    },
    "status": {"phase": "Pending", "conditions": [_condition("Ready", "False")]},
}
CHILDREN: tuple[dict[str, Any], ...] = (
    CLAIM,
    WAITING,
    DEPLOYMENT,
    JOB,
    _BY_DRIVER,
    live(joined(manifest(SHARED, "PersistentVolume"), {"status": {"phase": "Bound"}})),
    *(live(manifest(POOL, kind)) for kind in ("StorageClass", "ComputeClass", "Service")),
)
WATCHED: tuple[dict[str, Any], ...] = (*CHILDREN, NODE, CSI_NODE)
VOLUME = _BY_DRIVER
