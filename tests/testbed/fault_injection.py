"""An API server without controllers, behind a proxy that injects faults, and operators that run through it."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from testbed import operator_process
from testbed.control_plane.plane import ControlPlane
from testbed.control_plane.proxy import Proxy
from testbed.gke import LUSTRE_DRIVER, PROJECT, ZONE
from testbed.gke.nodes import csi_driver
from testbed.kube import Kube, NotFoundError, Object, Objects
from testbed.lustre.client import LustreAPIClient
from testbed.lustre.documents import instance
from testbed.policy import grant_everything
from testbed.pools import API as POOL
from testbed.pools import OWNER_LABEL, Pools
from testbed.process import Component
from testbed.waiting import eventually

CHILDREN = (
    ("storage.k8s.io/v1", "StorageClass"),
    ("v1", "PersistentVolumeClaim"),
    ("cloud.google.com/v1", "ComputeClass"),
    ("apps/v1", "Deployment"),
    ("v1", "Service"),
    ("batch/v1", "Job"),
)
_ROUND_SECONDS = 0.1
_LEASE = ("coordination.k8s.io/v1", "Lease", "kvtier-operator", operator_process.NAMESPACE)
CLAIM = ("v1", "PersistentVolumeClaim")
DEPLOYMENT = ("apps/v1", "Deployment")
JOB = ("batch/v1", "Job")
_MANAGED = "app.kubernetes.io/managed-by=kvtier"


class FaultyCluster:
    """API server, proxy and operators of a test. The test plays the controllers itself with `until`."""

    def __init__(self, plane: ControlPlane, proxy: Proxy) -> None:
        self.plane, self.proxy, self.kube = plane, proxy, plane.kube
        self._serial = itertools.count()

    @contextmanager
    def operator(self, *arguments: str) -> Iterator[Component]:
        """A replica behind the proxy."""
        with operator_process.operator(self.plane, *arguments, server=self.proxy.url) as process:
            yield process

    def namespace(self, prefix: str = "n") -> str:
        """A new namespace. Its name is short, because it is part of the names of cluster-scoped children."""
        name = f"{prefix}{next(self._serial)}x"
        self.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        return name

    def pools(self) -> Pools:
        """The pools of a new namespace."""
        return Pools(self.kube, self.namespace())

    def ready_pool(self, **changes: Any) -> Pools:
        """The pools of a new namespace. The pool "pool" is in it and Ready, and an operator runs."""
        pools = self.pools()
        pools.create("pool", **changes)
        self.until_ready(pools, "pool")
        return pools

    def clear(self) -> None:
        """Remove faults, pools and their children before the next test: no controller empties namespaces here."""
        self.proxy.remove()
        self._remove(POOL, self.kube.list(*POOL))
        for kind in (*CHILDREN, ("v1", "PersistentVolume")):
            self._remove(kind, self.kube.list(*kind, labelSelector=OWNER_LABEL))

    def _remove(self, kind: tuple[str, str], objects: Objects) -> None:
        """Delete objects, with all their finalizers."""
        for metadata in (one["metadata"] for one in objects):
            self.kube.delete(*kind, metadata["name"], metadata.get("namespace"))
            if metadata.get("finalizers"):
                self.drop_finalizers(kind, metadata["name"], metadata.get("namespace"))

    def steal_lease(self, holder: str) -> None:
        """Make another holder own the Lease."""
        name, namespace = _LEASE[2:]
        self.kube.patch(
            *_LEASE[:2], name, {"spec": {"holderIdentity": holder, "leaseDurationSeconds": 60}}, namespace
        )

    def drop_lease(self) -> None:
        """Expire the Lease, as after a killed leader."""
        self.kube.delete(*_LEASE)

    def drop_finalizers(self, kind: tuple[str, str], name: str, namespace: str | None) -> None:
        """Remove the finalizers of an object that is being deleted; no controller does that here."""
        with suppress(NotFoundError):
            self.kube.patch(*kind, name, {"metadata": {"finalizers": None}}, namespace)

    def lease(self) -> Object:
        """The spec of the Lease, {} if there is none."""
        try:
            found: Object = self.kube.get(*_LEASE)["spec"]
        except NotFoundError:
            return {}
        return found

    def until(self, condition: Callable[[], Any], what: str = "", timeout: float = 40.0) -> None:
        """Wait for a condition. Meanwhile, bind PVCs and make engines ready."""

        def settled() -> Any:
            play_controllers(self.kube, self.plane.lustre_api)
            return condition()

        eventually(settled, timeout, what, _ROUND_SECONDS)

    def until_ready(self, pools: Pools, name: str) -> None:
        """Wait until a pool is Ready with its present spec."""

        def ready() -> bool:
            found = pools.condition(name, "Ready")
            generation = pools.get(name)["metadata"]["generation"]
            assert (found.get("status"), found.get("observedGeneration")) == ("True", generation), found
            return True

        self.until(ready, f"{name} is ready")


@contextmanager
def faulty_cluster() -> Iterator[FaultyCluster]:
    """A running cluster with kvtier's CRD and RBAC."""
    with ControlPlane(controllers=False, nodes=False, csi=False) as plane, Proxy(plane) as proxy:
        plane.kube.apply(csi_driver())
        operator_process.install(plane.kube)
        grant_everything(plane.kube)
        operator_process.install_crd(plane.kube)
        yield FaultyCluster(plane, proxy)


def play_controllers(kube: Kube, lustre: LustreAPIClient) -> None:
    """Bind every PVC, remove deleted ones, make all Jobs succeed and all engines ready, once, for present objects."""
    for claim in kube.list(*CLAIM, labelSelector=_MANAGED):
        _bind_claim(kube, lustre, claim)
    for job in kube.list(*JOB, labelSelector=_MANAGED):
        _complete_job(kube, job)
    for deployment in kube.list(*DEPLOYMENT, labelSelector=_MANAGED):
        _make_ready(kube, deployment)


def _bind_claim(kube: Kube, lustre: LustreAPIClient, claim: Object) -> None:
    metadata, asked = claim["metadata"], claim["spec"]["resources"]["requests"]
    if "deletionTimestamp" in metadata:
        kube.patch(*CLAIM, metadata["name"], {"metadata": {"finalizers": None}}, metadata["namespace"])
    elif claim["status"].get("capacity") != asked:
        if not claim["spec"].get("volumeName"):
            _provision(kube, lustre, claim)
        _patch_status(kube, claim, {"phase": "Bound", "capacity": asked})


def _provision(kube: Kube, lustre: LustreAPIClient, claim: Object) -> None:
    metadata, spec = claim["metadata"], claim["spec"]
    name = f"pvc-{metadata['uid']}"
    lustre.project(PROJECT).put(
        name, instance(int(spec["resources"]["requests"]["storage"].removesuffix("Gi")))
    )
    volume = {
        "capacity": spec["resources"]["requests"],
        "accessModes": spec["accessModes"],
        "storageClassName": spec["storageClassName"],
        "persistentVolumeReclaimPolicy": "Retain",
        "csi": {"driver": LUSTRE_DRIVER, "volumeHandle": f"{PROJECT}/{ZONE}/{name}"},
    }
    labels = {OWNER_LABEL: metadata["namespace"]}
    kube.apply(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name, "labels": labels},
            "spec": volume,
        }
    )
    kube.patch(*CLAIM, metadata["name"], {"spec": {"volumeName": name}}, metadata["namespace"])


def _complete_job(kube: Kube, job: Object) -> None:
    if job["status"].get("conditions"):
        return
    at = job["metadata"]["creationTimestamp"]
    conditions = [{"type": type_, "status": "True"} for type_ in ("SuccessCriteriaMet", "Complete")]
    with suppress(NotFoundError):  # the operator may replace it meanwhile
        _patch_status(
            kube, job, {"startTime": at, "completionTime": at, "succeeded": 1, "conditions": conditions}
        )


def _make_ready(kube: Kube, deployment: Object) -> None:
    generation, replicas = deployment["metadata"]["generation"], deployment["spec"]["replicas"]
    wanted = {"observedGeneration": generation, "replicas": replicas, "readyReplicas": replicas}
    if {key: deployment["status"].get(key, 0) for key in wanted} != wanted:
        _patch_status(kube, deployment, wanted)


def _patch_status(kube: Kube, obj: Object, status: Object) -> None:
    metadata = obj["metadata"]
    api_version, kind, name = obj["apiVersion"], obj["kind"], metadata["name"]
    kube.patch(api_version, kind, name, {"status": status}, metadata["namespace"], subresource="status")
