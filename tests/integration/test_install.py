"""manifests/install.yaml, applied as a user does it."""

from collections.abc import Iterator

import pytest

from testbed import operator_process
from testbed.control_plane.cluster import Cluster
from testbed.operator_process import NAMESPACE, ROOT
from testbed.waiting import eventually

DEPLOYMENT = ("apps/v1", "Deployment", "kvtier-operator", NAMESPACE)


@pytest.fixture
def installed(control_plane: Cluster) -> Iterator[Cluster]:
    """The Deployment of the operator. Its Pods are simulated, so they do not compete with the real operator."""
    operator_process.install(control_plane.kube)
    control_plane.kubectl("apply", "--validate=strict", "-f", str(ROOT / "manifests" / "install.yaml"))
    yield control_plane
    control_plane.kube.delete(*DEPLOYMENT)


def test_two_replicas_run_in_a_namespace_that_enforces_the_restricted_profile(installed: Cluster) -> None:
    labels = installed.kube.get("v1", "Namespace", NAMESPACE)["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    eventually(lambda: installed.kube.get(*DEPLOYMENT)["status"].get("readyReplicas") == 2)


def test_the_service_account_has_only_the_permissions_of_the_role(installed: Cluster) -> None:
    user = f"system:serviceaccount:{NAMESPACE}:kvtier-operator"

    def may(*request: str) -> bool:
        return installed.kubectl("auth", "can-i", *request, f"--as={user}", "-A", check=False).returncode == 0

    assert may("patch", "kvcachepools.kvtier.dev")
    assert may("get", "secrets")
    assert not may("list", "secrets")
    assert may("delete", "persistentvolumes")
    assert not may("delete", "pods")
    assert not may("delete", "namespaces")
    assert not may("patch", "customresourcedefinitions")
