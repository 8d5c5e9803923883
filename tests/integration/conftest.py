"""The operator, for tests that want pools to be reconciled."""

from collections.abc import Iterator

import pytest

from testbed import operator_process
from testbed.control_plane.cluster import Cluster
from testbed.fault_injection import FaultyCluster, faulty_cluster
from testbed.gke import NETWORK, container_api
from testbed.gke.container_api import GKEApi
from testbed.kube import Kube
from testbed.lustre.client import LustreProject
from testbed.policy import grant_everything
from testbed.pools import LEGACY_PORT, OTHER_NETWORK, SAME_NETWORK, Pools
from testbed.process import Component


@pytest.fixture(scope="session")
def operator(control_plane: Cluster) -> Iterator[Component]:
    """A replica of the operator for this worker. One of the replicas of all workers leads.

    Each replica uses the GKE API of its own worker, so all GKE APIs have the same clusters.
    """
    operator_process.install(control_plane.kube)
    grant_everything(control_plane.kube)
    with GKEApi() as api:
        legacy = {"lustreCsiDriverConfig": {"enabled": True, "enableLegacyLustrePort": True}}
        for cluster, document in (
            (SAME_NETWORK, container_api.cluster(NETWORK)),
            (OTHER_NETWORK, container_api.cluster(f"{NETWORK}-other")),
            (LEGACY_PORT, container_api.cluster(NETWORK, addonsConfig=legacy)),
        ):
            name = "projects/{project}/locations/{location}/clusters/{name}".format(**cluster)
            api.put(name, document)
        with operator_process.operator(
            control_plane, "--google-seconds=1", KVTIER_GKE_ENDPOINT=api.url
        ) as process:
            yield process


@pytest.fixture
def pools(kube: Kube, namespace: str) -> Pools:
    """The pools in the namespace of the test."""
    return Pools(kube, namespace)


@pytest.fixture
def lustre_project(control_plane: Cluster, namespace: str) -> Iterator[LustreProject]:
    """The Google Cloud project of the test in the Managed Lustre API. It has the name of the namespace."""
    project = control_plane.lustre_api.project(namespace)
    yield project
    project.reset()


@pytest.fixture(scope="session")
def own_cluster() -> Iterator[FaultyCluster]:
    """A separate control plane for this worker, with fault injection. The test plays the controllers."""
    with faulty_cluster() as made:
        yield made


@pytest.fixture
def faulty(own_cluster: FaultyCluster) -> Iterator[FaultyCluster]:
    """The separate cluster of the worker, without an operator and without objects of earlier tests.

    Its policy grants everything, whatever an earlier test has written into it.
    """
    grant_everything(own_cluster.kube)
    yield own_cluster
    own_cluster.drop_lease()
    own_cluster.clear()


@pytest.fixture(scope="module")
def module_operator(own_cluster: FaultyCluster) -> Iterator[Component]:
    """One operator for all tests of a module. They must not use `faulty`, which is for other operators."""
    with own_cluster.operator() as process:
        yield process


@pytest.fixture
def operated(own_cluster: FaultyCluster, module_operator: Component) -> Iterator[FaultyCluster]:
    """The separate cluster of the worker, with the operator of the module."""
    yield own_cluster
    module_operator.require_alive()
    own_cluster.clear()
