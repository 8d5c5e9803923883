"""An API server of a test's own, with a proxy that spoils requests, and operators that run through it."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import yaml

from testbed import gke, hands, operator_process, population
from testbed.controlplane import ControlPlane
from testbed.kube import NotFoundError, Object
from testbed.namespaces import delete_namespace
from testbed.pools import Pools
from testbed.process import Component
from testbed.proxy import Proxy
from testbed.waiting import eventually

CRDS = Path(__file__).parents[2] / "crds"
POOL = ("kvtier.dev/v1alpha1", "KVCachePool")
CHILDREN = (
    ("storage.k8s.io/v1", "StorageClass"),
    ("v1", "PersistentVolumeClaim"),
    ("cloud.google.com/v1", "ComputeClass"),
    ("apps/v1", "Deployment"),
    ("v1", "Service"),
    ("batch/v1", "Job"),
)
_LEASE = ("coordination.k8s.io/v1", "Lease", "kvtier-operator", operator_process.NAMESPACE)


def install_crd(plane: ControlPlane) -> None:
    """Install KVCachePool and wait until it is served."""
    definitions = [
        one for path in sorted(CRDS.glob("*.yaml")) for one in yaml.safe_load_all(path.read_text())
    ]
    population.install_definitions(plane.kube, definitions)


class Rig:
    """Tests may stop, starve and mislead everything here; `hands.settle` plays the controllers."""

    def __init__(self, plane: ControlPlane, proxy: Proxy) -> None:
        self.plane, self.proxy, self.kube = plane, proxy, plane.kube
        self._serial = itertools.count()

    @contextmanager
    def operator(self, *arguments: str) -> Iterator[Component]:
        """A replica behind the proxy."""
        with operator_process.operator(self.plane, *arguments, server=self.proxy.url) as process:
            yield process

    def namespace(self, prefix: str = "n") -> str:
        """A new namespace, with a short name, so that it can be read in the names of cluster-wide children."""
        name = f"{prefix}{next(self._serial)}x"
        self.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        return name

    def pools(self) -> Pools:
        """The pools of a new namespace."""
        return Pools(self.kube, self.namespace())

    def clear(self) -> None:
        """Leave no fault, no Lease and no pool to the next test."""
        self.proxy.remove()
        self.drop_lease()
        for pool in self.kube.list(*POOL):  # no controller empties a namespace here
            metadata = pool["metadata"]
            self.clear_pool(Pools(self.kube, metadata["namespace"]), metadata["name"])
        for namespace in self.kube.list("v1", "Namespace"):
            if (
                namespace["metadata"]["name"].endswith("x")
                and "deletionTimestamp" not in namespace["metadata"]
            ):
                delete_namespace(self.kube, namespace["metadata"]["name"])

    def steal_lease(self, holder: str) -> None:
        """Somebody else holds the Lease from now on."""
        name, namespace = _LEASE[2:]
        self.kube.patch(
            *_LEASE[:2], name, {"spec": {"holderIdentity": holder, "leaseDurationSeconds": 60}}, namespace
        )

    def drop_lease(self) -> None:
        """As if the Lease of a killed leader had run out."""
        self.kube.delete(*_LEASE)

    def clear_pool(self, pools: Pools, name: str) -> None:
        """Delete a pool and all its children, without an operator."""
        pools.delete(name)
        self.drop_finalizers(POOL, name, pools.namespace)
        for kind in CHILDREN:
            for child in pools.children(*kind):
                metadata = child["metadata"]
                self.kube.delete(*kind, metadata["name"], metadata.get("namespace"))
                self.drop_finalizers(kind, metadata["name"], metadata.get("namespace"))

    def drop_finalizers(self, kind: tuple[str, str], name: str, namespace: str | None) -> None:
        """Let an object go that is being deleted; no controller does that here."""
        with suppress(NotFoundError):
            self.kube.patch(*kind, name, {"metadata": {"finalizers": None}}, namespace)

    def lease(self) -> Object:
        """The Lease's spec, {} while there is none."""
        try:
            found: Object = self.kube.get(*_LEASE)["spec"]
        except NotFoundError:
            return {}
        return found

    def until(self, condition: Callable[[], Any], what: str = "", timeout: float = 40.0) -> None:
        """Wait for a condition while claims get bound and engines ready."""

        def settled() -> Any:
            hands.settle(self.kube, self.plane.lustre_api)
            return condition()

        eventually(settled, timeout, what)

    def until_ready(self, pools: Pools, name: str) -> None:
        """Wait until a pool is Ready for its present spec."""

        def ready() -> bool:
            found = pools.condition(name, "Ready")
            generation = pools.get(name)["metadata"]["generation"]
            assert (found.get("status"), found.get("observedGeneration")) == ("True", generation), found
            return True

        self.until(ready, f"{name} is ready")


@contextmanager
def rig(*, crd: bool = True) -> Iterator[Rig]:
    """A running rig; without ``crd`` the operator finds no KVCachePool."""
    with ControlPlane(controllers=False, nodes=False, csi=False) as plane, Proxy(plane) as proxy:
        plane.kube.apply(gke.csi_driver())
        operator_process.install(plane.kube)
        if crd:
            install_crd(plane)
        yield Rig(plane, proxy)
