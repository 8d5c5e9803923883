"""The tenant of the test bed has no rights outside the namespace, and a witness notices changes."""

import pytest

from testbed.control_plane.cluster import Cluster
from testbed.kube import ApiError, Kube, Object
from testbed.pools import Pools, manifest
from testbed.tenant import POOLS, Witness, tenant


def _volume(namespace: str) -> Object:
    """A PersistentVolume of the administrator."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"nfs-{namespace}", "labels": {"kvtier.dev/pool-namespace": namespace}},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "capacity": {"storage": "1Gi"},
            "nfs": {"server": "10.0.0.1", "path": "/"},
        },
    }


def test_a_tenant_may_manage_pools_and_nothing_outside_the_namespace(
    control_plane: Cluster, namespace: str
) -> None:
    user = tenant(control_plane, namespace)
    Pools(user, namespace).create("chat")
    with pytest.raises(ApiError, match="cannot create resource"):
        user.create(manifest("chat", "default"))
    with pytest.raises(ApiError, match="cannot patch resource"):
        user.patch("kvtier.dev/v1alpha1", "KVCachePool", "chat", {}, namespace, subresource="status")
    with pytest.raises(ApiError, match="cannot list resource"):
        user.list("v1", "PersistentVolume")


def test_a_user_may_have_rights_on_pools_only(control_plane: Cluster, namespace: str) -> None:
    user = tenant(control_plane, namespace, rules=(POOLS,))
    with pytest.raises(ApiError, match="cannot list resource"):
        user.list("v1", "PersistentVolumeClaim", namespace)


def test_a_witness_notices_a_change(kube: Kube, namespace: str) -> None:
    made = kube.create(_volume(namespace))
    witness = Witness(kube, made)
    assert witness.unchanged()
    kube.patch(
        "v1",
        "PersistentVolume",
        made["metadata"]["name"],
        {"spec": {"persistentVolumeReclaimPolicy": "Delete"}},
    )
    with pytest.raises(AssertionError):
        witness.unchanged()
