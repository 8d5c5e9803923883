"""The operator, for tests that want pools to be reconciled."""

from collections.abc import Iterator

import pytest

from testbed import gke_documents, operator_process
from testbed.cluster import Cluster
from testbed.gke_api import GKEApi
from testbed.kube import Kube
from testbed.pools import NETWORK, OTHER_NETWORK, SAME_NETWORK, Pools
from testbed.process import Component


@pytest.fixture(scope="session")
def operator(control_plane: Cluster) -> Iterator[Component]:
    """A replica of the operator for this worker; one of all workers' replicas leads.

    Each asks its own worker's GKE API, so all of them know the same clusters.
    """
    operator_process.install(control_plane.kube)
    with GKEApi() as api:
        for cluster, network in ((SAME_NETWORK, NETWORK), (OTHER_NETWORK, f"{NETWORK}-other")):
            name = "projects/{project}/locations/{location}/clusters/{name}".format(**cluster)
            api.put(name, gke_documents.cluster(network))
        with operator_process.operator(control_plane, KVTIER_GKE_ENDPOINT=api.url) as process:
            yield process


@pytest.fixture
def pools(kube: Kube, namespace: str) -> Pools:
    """The pools of the test's namespace."""
    return Pools(kube, namespace)
