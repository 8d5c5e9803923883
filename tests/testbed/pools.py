"""KVCachePools in tests: a small valid spec to vary, and what became of it."""

from copy import deepcopy
from typing import Any

from testbed.kube import Kube, Object, Objects
from testbed.waiting import eventually

API = ("kvtier.dev/v1alpha1", "KVCachePool")
NETWORK = "projects/testbed-project/global/networks/default"
# Clusters that the GKE API of the tests knows (tests/integration/conftest.py).
SAME_NETWORK = {"project": "testbed-project", "location": "us-central1", "name": "same-network"}
OTHER_NETWORK = SAME_NETWORK | {"name": "other-network"}
LEGACY_PORT = SAME_NETWORK | {"name": "legacy-port"}

SPEC: Object = {
    "tiers": {
        "cpu": {"capacity": "100Gi"},
        "localSSD": {"capacity": "500Gi"},
        "lustre": {
            "capacity": "9000Gi",
            "throughputPerTiB": 1000,
            "zone": "us-central1-a",
            "network": NETWORK,
        },
    },
    "nodePool": {
        "machineType": "a3-highgpu-8g",
        "accelerator": {"type": "nvidia-h100-80gb", "count": 8},
    },
    "models": [{"name": "chat", "model": "example/model", "tensorParallelSize": 8}],
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
        """A condition of the pool's status, {} while there is none."""
        found = self.get(name).get("status", {}).get("conditions", [])
        return next((one for one in found if one["type"] == type_), {})

    def wait(
        self, name: str, type_: str = "Ready", status: str = "True", reason: str | None = None
    ) -> Object:
        """Wait until a condition has this status, and this reason if one is given, about the present spec."""

        def holds() -> Object:
            found, generation = self.condition(name, type_), self.get(name)["metadata"]["generation"]
            assert (found.get("status"), found.get("observedGeneration")) == (status, generation), found
            assert reason in (None, found["reason"]), found
            return found

        return eventually(holds, 30.0, f"{type_} of {name} is {status} {reason or ''}")

    def children(self, api_version: str, kind: str) -> Objects:
        """Objects that kvtier made for the pools of this namespace."""
        selector = f"app.kubernetes.io/managed-by=kvtier,kvtier.dev/pool-namespace={self.namespace}"
        return self.kube.list(api_version, kind, labelSelector=selector)

    def child(self, api_version: str, kind: str) -> Object:
        """The only child of that kind."""
        (found,) = self.children(api_version, kind)
        return found
