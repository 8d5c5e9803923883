"""The operator, for tests that want pools to be reconciled."""

from collections.abc import Iterator

import pytest

from testbed import gke_documents, operator_process
from testbed.cluster import Cluster
from testbed.gke_api import GKEApi
from testbed.kube import Kube
from testbed.lustre_client import LustreProject
from testbed.pools import LEGACY_PORT, NETWORK, OTHER_NETWORK, SAME_NETWORK, Pools
from testbed.process import Component
from testbed.rig import Rig, rig


@pytest.fixture(scope="session")
def operator(control_plane: Cluster) -> Iterator[Component]:
    """A replica of the operator for this worker; one of all workers' replicas leads.

    Each asks its own worker's GKE API, so all of them know the same clusters.
    """
    operator_process.install(control_plane.kube)
    with GKEApi() as api:
        legacy = {"lustreCsiDriverConfig": {"enabled": True, "enableLegacyLustrePort": True}}
        for cluster, document in (
            (SAME_NETWORK, gke_documents.cluster(NETWORK)),
            (OTHER_NETWORK, gke_documents.cluster(f"{NETWORK}-other")),
            (LEGACY_PORT, gke_documents.cluster(NETWORK, addonsConfig=legacy)),
        ):
            name = "projects/{project}/locations/{location}/clusters/{name}".format(**cluster)
            api.put(name, document)
        with operator_process.operator(
            control_plane, "--google-seconds=1", KVTIER_GKE_ENDPOINT=api.url
        ) as process:
            yield process


@pytest.fixture
def pools(kube: Kube, namespace: str) -> Pools:
    """The pools of the test's namespace."""
    return Pools(kube, namespace)


@pytest.fixture
def lustre_project(control_plane: Cluster, namespace: str) -> Iterator[LustreProject]:
    """The Google Cloud project of the test, as the Managed Lustre API knows it; it is named like the namespace."""
    project = control_plane.lustre_api.project(namespace)
    yield project
    project.reset()


@pytest.fixture(scope="module")
def shared_rig() -> Iterator[Rig]:
    """A control plane of the module's own, whose requests can be spoiled; the test plays the controllers."""
    with rig() as made:
        yield made


@pytest.fixture
def spoiled(shared_rig: Rig) -> Iterator[Rig]:
    """The rig without what earlier tests have left."""
    yield shared_rig
    shared_rig.clear()
