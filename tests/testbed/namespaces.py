"""Namespaces for single tests, and what a test may leave behind in and around them."""

import re
import secrets
from contextlib import suppress

from testbed.kube import ApiError, Kube, NotFoundError, Object
from testbed.waiting import eventually

OWNER_LABEL = "kvtier.dev/pool-namespace"
_MAX_LENGTH = 40

# Cluster-scoped kinds that the operator creates for a pool, or a test for itself.
_CLUSTER_SCOPED = (
    ("storage.k8s.io/v1", "StorageClass"),
    ("cloud.google.com/v1", "ComputeClass"),
    ("v1", "PersistentVolume"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
    ("scheduling.k8s.io/v1", "PriorityClass"),
    ("v1", "Node"),
)
_POOL = ("kvtier.dev/v1alpha1", "KVCachePool")


def create_namespace(kube: Kube, hint: str) -> str:
    """A new namespace whose name starts like the test's; Pods can be created in it."""
    words = re.sub(r"[^a-z0-9]+", "-", hint.lower())[:_MAX_LENGTH].strip("-")
    name = f"{words}-{secrets.token_hex(3)}"
    kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    eventually(
        lambda: kube.find("v1", "ServiceAccount", "default", name), what=f"{name} has a service account"
    )
    return name


def delete_namespace(kube: Kube, name: str) -> None:
    """Start the deletion of a namespace, and delete cluster-scoped objects labelled as its own.

    Finalizers of pools are dropped: after a test no operator may be there to honour them.
    """
    kube.delete("v1", "Namespace", name)
    for pool in _pools(kube, name):
        with suppress(NotFoundError):  # an operator was faster
            kube.patch(*_POOL, pool["metadata"]["name"], {"metadata": {"finalizers": None}}, name)
    for api_version, kind in _CLUSTER_SCOPED:
        for leftover in _owned(kube, api_version, kind, name):
            kube.delete(api_version, kind, leftover["metadata"]["name"])


def _owned(kube: Kube, api_version: str, kind: str, namespace: str) -> list[Object]:
    return kube.list(api_version, kind, labelSelector=f"{OWNER_LABEL}={namespace}")


def _pools(kube: Kube, namespace: str) -> list[Object]:
    try:
        return kube.list(*_POOL, namespace)
    except (ApiError, LookupError):  # the type is not installed
        return []
