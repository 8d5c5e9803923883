"""Through the operator, a tenant neither changes nor deletes storage of others."""

from collections.abc import Iterator
from typing import Any

import pytest

from integration.instances import CLAIM, VOLUME, until
from kvtier.api import identity, names
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.plan.children import labels
from testbed.control_plane.cluster import Cluster
from testbed.gke import LUSTRE_DRIVER
from testbed.kube import Kube, Object
from testbed.lustre.csi_driver import LustreService
from testbed.pools import API, Pools, create_namespace, empty_namespace, manifest
from testbed.tenant import Witness, tenant
from testbed.waiting import eventually

pytestmark = [pytest.mark.usefixtures("operator"), pytest.mark.timeout(240)]

NFS = {"nfs": {"server": "10.0.0.1", "path": "/exports/archive"}}
LUSTRE = {
    "csi": {
        "driver": LUSTRE_DRIVER,
        "volumeHandle": "p/us-central1-a/archive",
        "volumeAttributes": {"ip": "10.0.0.2", "filesystem": "archive"},
    }
}
CLASS = ("storage.k8s.io/v1", "StorageClass")


@pytest.fixture
def mine(control_plane: Cluster, namespace: str) -> Pools:
    """The pools of the namespace, as a tenant sees them."""
    return Pools(tenant(control_plane, namespace), namespace)


@pytest.fixture
def archive(kube: Kube, namespace: str) -> Iterator[Any]:
    """Create a PersistentVolume of the administrator, with Retain; it is removed after the test."""
    made: list[str] = []

    def create(source: Object, storage_class: str, **metadata: Any) -> Object:
        name = f"archive-{namespace}"
        made.append(name)
        spec = {
            "accessModes": ["ReadWriteMany"],
            "capacity": {"storage": "9000Gi"},
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": storage_class,
            **source,
        }
        return kube.create(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": name, **metadata},
                "spec": spec,
            }
        )

    yield create
    for name in made:
        kube.delete(*VOLUME, name)


def _forged(namespace: str, volume: Object, **spec: Any) -> Object:
    """A PVC with the name, labels and annotations of the PVC of the pool "chat", for a volume of others."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": names.claim("chat"),
            "namespace": namespace,
            "labels": labels(namespace, "chat"),
            "annotations": {names.ANNOTATION_POOL: f"{namespace}/chat"},
        },
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": volume["spec"]["storageClassName"],
            "volumeName": volume["metadata"]["name"],
            "resources": {"requests": {"storage": "9000Gi"}},
            **spec,
        },
    }


def _until_bound(kube: Kube, volume: Object) -> Object:
    """The PersistentVolume once Kubernetes has bound it and its PVC, which is the last that Kubernetes changes."""

    def bound() -> Object | None:
        found = kube.get(*VOLUME, volume["metadata"]["name"])
        claim = found["spec"].get("claimRef")
        if claim is None or found["status"].get("phase") != "Bound":
            return None
        of = kube.get(*CLAIM, claim["name"], claim["namespace"])
        return found if of["status"].get("phase") == "Bound" else None

    found = eventually(bound, 30.0, f"{volume['metadata']['name']} is bound")
    assert found is not None
    return found


def _delete_pool(pools: Pools) -> None:
    pools.delete("chat")
    until(pools, "chat", lambda: not pools.kube.find(*API, "chat", pools.namespace), "the pool is deleted")


@pytest.mark.parametrize("source", [NFS, LUSTRE], ids=["NFS", "Lustre"])
def test_a_volume_of_the_administrator_is_kept_with_a_forged_pvc(
    kube: Kube, mine: Pools, archive: Any, source: Object
) -> None:
    volume = archive(source, "archive")
    claim = mine.kube.create(_forged(mine.namespace, volume))
    witness = Witness(
        kube, _until_bound(kube, volume), kube.get(*CLAIM, claim["metadata"]["name"], mine.namespace)
    )
    mine.create("chat", deletionPolicy="Delete")
    mine.wait("chat", "StorageReady", "False", "ClaimMismatch")
    _delete_pool(mine)
    assert witness.unchanged()
    event, *_ = mine.events("chat", "DataKept")
    assert f"for this pool: PVC {claim['metadata']['name']}" in event["message"]


def test_a_static_volume_in_the_class_of_the_pool_keeps_its_reclaim_policy(
    kube: Kube, mine: Pools, archive: Any
) -> None:
    volume = archive(LUSTRE, _class_name(mine))
    mine.kube.create(_forged(mine.namespace, volume))
    _until_bound(kube, volume)
    mine.create("chat", deletionPolicy="Delete")
    mine.wait("chat", "StorageReady", "True", "Bound")
    _delete_pool(mine)
    left = kube.get(*VOLUME, volume["metadata"]["name"])
    assert left["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    event, *_ = mine.events("chat", "DataKept")
    assert f"for this pool: PersistentVolume {volume['metadata']['name']}" in event["message"]


def test_a_pvc_that_names_the_volume_of_another_tenant_reads_and_deletes_nothing(
    kube: Kube, control_plane: Cluster, mine: Pools, lustre: LustreService
) -> None:
    theirs = Pools(kube, create_namespace(kube, "victim"))
    theirs.create("chat")
    theirs.wait("chat", "StorageReady", "True")
    victim = kube.get(*VOLUME, theirs.child(*CLAIM)["spec"]["volumeName"])
    witness = Witness(kube, victim, theirs.child(*CLAIM), theirs.child(*CLASS))
    mine.kube.create(_forged(mine.namespace, victim))
    mine.create("chat", deletionPolicy="Delete")
    mine.wait("chat", "StorageReady", "False", "ClaimMismatch")
    reported = [one for one in mine.get("chat")["status"]["tiers"] if one["name"] == "lustre"]
    assert [one.get("instance") for one in reported] != [victim["spec"]["csi"]["volumeHandle"]]
    assert victim["metadata"]["name"] not in str(reported)
    _delete_pool(mine)
    assert witness.unchanged()
    empty_namespace(kube, theirs.namespace)


def test_cluster_wide_objects_of_others_are_kept(kube: Kube, mine: Pools) -> None:
    copied = {
        "apiVersion": CLASS[0],
        "kind": CLASS[1],
        "metadata": {
            "name": f"copied-{mine.namespace}",
            "labels": labels(mine.namespace, "chat"),
            "annotations": {names.ANNOTATION_POOL: f"{mine.namespace}/chat"},
        },
        "provisioner": LUSTRE_DRIVER,
    }
    witness = Witness(kube, kube.create(copied))
    mine.create("chat")
    mine.wait("chat", "StorageReady", "True")
    _delete_pool(mine)
    assert witness.unchanged()


def _class_name(pools: Pools) -> str:
    """Name of the StorageClass of the pool "chat"."""
    of = KVCachePool.model_validate(manifest("chat", pools.namespace))
    assert of.spec.tiers.lustre is not None
    return identity.storage_class_name(of, of.spec.tiers.lustre)
