"""The state of the demo's pool at one moment, read from the API server and the Managed Lustre API."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kvtier.api import names, placement
from testbed.control_plane.cluster import Cluster
from testbed.gke import PROJECT
from testbed.gke.nodes import is_ready
from testbed.kube import Object
from testbed.pools import API, Pools
from testbed.process import Component

POOL, NAMESPACE = "long-document-chat", "default"
_WRITES = re.compile(r"kvtier\.control\.applier: ((?:Applied|Deleted) .*)")


@dataclass(frozen=True)
class Row:
    """An object and its state in a few words; `settled` when it waits for nothing."""

    kind: str
    state: str
    name: str
    settled: bool = True


@dataclass(frozen=True)
class Snapshot:
    """The pool's phase and conditions, its objects, and every write that the operator has logged."""

    phase: str
    ready: bool  # about the present spec
    conditions: list[Object]
    rows: list[Row]
    writes: list[str]

    def of(self, kind: str) -> list[Row]:
        """The rows of one kind."""
        return [row for row in self.rows if row.kind == kind]

    @property
    def gone(self) -> bool:
        """Whether there is no pool."""
        return not self.phase


def take(cluster: Cluster, operator: Component) -> Snapshot:
    """Read everything; the parts are a few milliseconds apart."""
    pool = cluster.kube.find(*API, POOL, NAMESPACE)
    status = (pool or {}).get("status") or {}
    phase = status.get("phase", "no status yet") if pool else ""
    current = pool is not None and status.get("observedGeneration") == pool["metadata"]["generation"]
    writes = _WRITES.findall(operator.log.read_text(errors="replace"))
    rows = [*_storage(cluster), *_serving(cluster)]
    return Snapshot(phase, current and phase == "Ready", status.get("conditions", []), rows, writes)


def _storage(cluster: Cluster) -> Iterator[Row]:
    pools = Pools(cluster.kube, NAMESPACE)
    for one in pools.children("storage.k8s.io/v1", "StorageClass"):
        yield Row("StorageClass", "exists", _name(one))
    for one in pools.children("v1", "PersistentVolumeClaim"):
        yield _claim(one)
    for one in cluster.kube.list("v1", "PersistentVolume"):
        kept = one["spec"]["persistentVolumeReclaimPolicy"]
        yield Row("PV", f"{one['status'].get('phase', 'Pending')}, reclaim {kept}", _name(one))
    for one in _instances(cluster):
        state, name = one["state"], one["name"].rpartition("/")[2]
        yield Row("Lustre", f"{state}, {one['capacityGib']} GiB", name, state == "ACTIVE")


def describe_lustre(cluster: Cluster) -> Iterator[str]:
    """Lines about each instance, as the Managed Lustre API reports it; the mount point is last."""
    for one in _instances(cluster):
        gib, throughput = int(one["capacityGib"]), int(one["perUnitStorageThroughput"])
        yield f"name         {one['name']}"
        yield f"state        {one['state']}"
        yield f"capacity     {gib} GiB"
        yield f"throughput   {throughput} MBps per TiB, {throughput * gib // 1024} MBps in total"
        yield f"filesystem   {one['filesystem']}"
        yield f"mount point  {one['mountPoint']}"


def _instances(cluster: Cluster) -> list[Object]:
    return list(cluster.lustre_api.project(PROJECT).instances().values())


def _claim(claim: Object) -> Row:
    status = claim.get("status", {})
    have = status.get("capacity", {}).get("storage")
    want = claim["spec"]["resources"]["requests"]["storage"]
    size = want if have in (None, want) else f"{have} -> {want}"
    phase = status.get("phase", "Pending")
    return Row("PVC", f"{phase}, {size}", _name(claim), phase == "Bound" and have == want)


def _serving(cluster: Cluster) -> Iterator[Row]:
    kube, pools = cluster.kube, Pools(cluster.kube, NAMESPACE)
    for one in pools.children("cloud.google.com/v1", "ComputeClass"):
        yield Row("ComputeClass", "exists", _name(one))
    for one in pools.children("apps/v1", "Deployment"):
        ready, wanted = one.get("status", {}).get("readyReplicas", 0), one["spec"]["replicas"]
        yield Row("Deployment", f"{ready} of {wanted} ready", _name(one), ready == wanted)
    for one in pools.children("v1", "Service"):
        yield Row("Service", "exists", _name(one))
    for one in pools.children("batch/v1", "Job"):
        yield _job(one)
    engines = f"{names.LABEL_POOL}={POOL},{names.LABEL_MODEL}"
    for one in kube.list("v1", "Pod", NAMESPACE, labelSelector=engines):
        yield _pod(one)
    for one in kube.list("v1", "Node", labelSelector=placement.COMPUTE_CLASS):
        machine = one["metadata"]["labels"]["node.kubernetes.io/instance-type"]
        state = "Ready" if is_ready(one) else "starting"
        yield Row("Node", f"{state}, {machine}", _name(one), is_ready(one))


def _job(job: Object) -> Row:
    done = bool(job.get("status", {}).get("succeeded"))
    return Row("Job", "has written to Lustre" if done else "writing to Lustre", _name(job), done)


def _pod(pod: Object) -> Row:
    if "deletionTimestamp" in pod["metadata"]:
        return Row("Pod", "Terminating", _name(pod), settled=False)
    if is_ready(pod):
        return Row("Pod", "Ready", _name(pod))
    waits = any(one.get("reason") == "Unschedulable" for one in pod["status"].get("conditions", []))
    return Row("Pod", "waiting for a node" if waits else pod["status"]["phase"], _name(pod), settled=False)


def _name(obj: Object) -> Any:
    return obj["metadata"]["name"]
