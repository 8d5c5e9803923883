"""KVCachePools in tests: specs, the pools and namespace of a test, and the objects that the samples need."""

import re
import secrets
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

from testbed.gke import NETWORK, PROJECT, ZONE
from testbed.kube import ApiError, Kube, NotFoundError, Object, Objects
from testbed.lustre.client import LustreAPIClient
from testbed.lustre.documents import instance, refusal
from testbed.waiting import eventually

API = ("kvtier.dev/v1alpha1", "KVCachePool")
# Clusters in the GKE API of the tests (tests/integration/conftest.py).
SAME_NETWORK = {"project": PROJECT, "location": "us-central1", "name": "same-network"}
OTHER_NETWORK = SAME_NETWORK | {"name": "other-network"}
LEGACY_PORT = SAME_NETWORK | {"name": "legacy-port"}

SPEC: Object = {
    "tiers": {
        "cpu": {"capacity": "100Gi"},
        "localSSD": {"capacity": "500Gi"},
        "lustre": {
            "capacity": "9000Gi",
            "throughputPerTiB": 1000,
            "zone": ZONE,
            "network": NETWORK,
        },
    },
    "nodePool": {
        "machineType": "a3-highgpu-8g",
        "accelerator": {"type": "nvidia-h100-80gb", "count": 8},
    },
    "models": [{"name": "chat", "model": "example/model", "tensorParallelSize": 8}],
}
OWNER_LABEL = "kvtier.dev/pool-namespace"
_MAX_LENGTH = 40
_DEPLOYMENT = ("apps/v1", "Deployment")
_BUSY = (
    _DEPLOYMENT,
    ("batch/v1", "Job"),
    ("v1", "Pod"),
    ("v1", "PersistentVolumeClaim"),
)
# Kinds that the operator creates for a pool, or a test for itself.
_CLUSTER_SCOPED = (
    ("storage.k8s.io/v1", "StorageClass"),
    ("cloud.google.com/v1", "ComputeClass"),
    ("v1", "PersistentVolume"),
    ("v1", "Node"),
)
SAMPLES = sorted((Path(__file__).parents[2] / "manifests" / "samples").glob("*.yaml"))
_SECRETS = {
    "hf-token": {"token": "hf_x"},
    "kv-blocks": {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"},
    "serving": {"api-key": "x"},
}


def manifest(name: str, namespace: str, **changes: Any) -> Object:
    """A pool; `changes` are spec fields by path, such as tiers__lustre__capacity="18000Gi"; None removes one."""
    spec = deepcopy(SPEC)
    for path, value in changes.items():
        *parents, last = path.split("__")
        target: Any = spec
        for key in parents:
            target = target[int(key)] if key.isdigit() else target[key]
        if value is None:
            target.pop(last, None)
        else:
            target[last] = value
    return {
        "apiVersion": API[0],
        "kind": API[1],
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


class Pools:
    """The pools of one namespace, as their owner sees them."""

    def __init__(self, kube: Kube, namespace: str) -> None:
        self.kube = kube
        self.namespace = namespace

    def create(self, name: str, **changes: Any) -> Object:
        """Create a pool; see `manifest`."""
        return self.kube.create(manifest(name, self.namespace, **changes))

    def patch(self, name: str, spec: Object) -> Object:
        """Merge-patch the spec."""
        return self.kube.patch(*API, name, {"spec": spec}, self.namespace)

    def get(self, name: str) -> Object:
        return self.kube.get(*API, name, self.namespace)

    def delete(self, name: str) -> None:
        self.kube.delete(*API, name, self.namespace)

    def wait_gone(self, name: str) -> None:
        self.kube.wait_gone(*API, name, self.namespace)

    def condition(self, name: str, type_: str) -> Object:
        """A condition of the pool's status, {} if there is none."""
        found = self.get(name).get("status", {}).get("conditions", [])
        return next((one for one in found if one["type"] == type_), {})

    def wait(
        self, name: str, type_: str = "Ready", status: str = "True", reason: str | None = None
    ) -> Object:
        """Wait until a condition of the present spec has this status, and this reason if one is given."""

        def holds() -> Object:
            found, generation = self.condition(name, type_), self.get(name)["metadata"]["generation"]
            assert (found.get("status"), found.get("observedGeneration")) == (status, generation), found
            assert reason in (None, found["reason"]), found
            return found

        return eventually(holds, 30.0, f"{type_} of {name} is {status} {reason or ''}")

    def events(self, name: str, reason: str) -> Objects:
        """Events of a pool, once there is one: an Event is written after its status."""
        about = f"an Event {reason} about {name}"
        return eventually(lambda: self.kube.events(self.namespace, name, reason), 30.0, about)

    def children(self, api_version: str, kind: str) -> Objects:
        """Objects that kvtier created for the pools of this namespace."""
        selector = f"app.kubernetes.io/managed-by=kvtier,kvtier.dev/pool-namespace={self.namespace}"
        return self.kube.list(api_version, kind, labelSelector=selector)

    def child(self, api_version: str, kind: str) -> Object:
        """The only child of that kind."""
        (found,) = self.children(api_version, kind)
        return found

    def deployment_spec(self) -> Any:
        """The spec of the only Deployment of the pools."""
        return self.child(*_DEPLOYMENT)["spec"]

    def patch_deployment(self, change: Object) -> None:
        """Merge a change into that Deployment, as a user other than the operator."""
        self.kube.patch(*_DEPLOYMENT, self.child(*_DEPLOYMENT)["metadata"]["name"], change, self.namespace)


def create_namespace(kube: Kube, hint: str) -> str:
    """A new namespace named after the test. Pods can be created in it."""
    words = re.sub(r"[^a-z0-9]+", "-", hint.lower())[:_MAX_LENGTH].strip("-")
    name = f"{words}-{secrets.token_hex(3)}"
    kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    eventually(
        lambda: kube.find("v1", "ServiceAccount", "default", name), what=f"{name} has a service account"
    )
    return name


def empty_namespace(kube: Kube, name: str) -> None:
    """Delete the pools of a namespace, objects that keep controllers busy, and cluster-scoped objects with its label.

    Finalizers of pools are removed, because no operator may run after a test. The empty namespace remains
    until the control plane ends: its deletion would take a hundred requests.
    """
    with suppress(ApiError, LookupError):  # the type is not installed
        kube.delete_collection(*API, name)
        for pool in kube.list(*API, name):
            with suppress(NotFoundError):  # an operator has deleted it
                kube.patch(*API, pool["metadata"]["name"], {"metadata": {"finalizers": None}}, name)
    for kind in _BUSY:
        kube.delete_collection(*kind, name)
    for kind in _CLUSTER_SCOPED:
        kube.delete_collection(*kind, labelSelector=f"{OWNER_LABEL}={name}")


def create_dependencies(kube: Kube, namespace: str) -> None:
    """Create the Secrets, ConfigMap and service account that the samples refer to."""
    for name, data in _SECRETS.items():
        kube.create(_named("Secret", name, namespace) | {"stringData": data})
    registry = {
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": '{"auths": {}}'},
    }
    kube.create(_named("Secret", "registry", namespace) | registry)
    kube.create(_named("ConfigMap", "serving", namespace) | {"data": {"log-level": "INFO"}})
    kube.create(_named("ServiceAccount", "engines", namespace))


def _named(kind: str, name: str, namespace: str) -> Object:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": namespace}}


def create_instances(api: LustreAPIClient) -> None:
    """Create the instances that the samples refer to, and the project that hides its own.

    The Jobs of engines do not run here, so nothing creates the directory of an import.
    """
    api.project("my-project").put("shared-cache", instance(36000))
    api.project("their-project").fail(refusal("PERMISSION_DENIED"), times=-1)
    api.project(PROJECT).configure(any_directory=True)
