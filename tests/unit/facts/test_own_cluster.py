"""The uid of the cluster is read once, and a failure to read it says what to do."""

from kvtier.facts.model import OwnCluster
from kvtier.facts.own_cluster import OwnClusterReader
from kvtier.kube.client import ApiError
from kvtier.plan.lustre.ownership import without_cluster
from unit.memory import MemoryClient

SYSTEM = {"kind": "Namespace", "metadata": {"name": "kube-system", "uid": "cluster-uid"}}


async def test_the_uid_is_read_once() -> None:
    client = MemoryClient(SYSTEM)
    reader = OwnClusterReader(client)
    assert [await reader.read(), await reader.read()] == [OwnCluster("cluster-uid")] * 2
    assert len(client.reads) == 1


async def test_a_refused_read_is_repeated_and_reported() -> None:
    client = MemoryClient(SYSTEM)
    client.refuse = lambda request: ApiError(403, "Forbidden", "namespaces is forbidden")
    reader = OwnClusterReader(client)
    assert without_cluster(await reader.read()).message == (
        "kvtier creates no Lustre instance while it cannot label it for this cluster. Namespace kube-system, whose uid "
        "identifies this cluster, could not be read: namespaces is forbidden. Allow kvtier to get it: kubectl apply -f "
        "manifests/install.yaml"
    )
    client.refuse = lambda request: None
    assert await reader.read() == OwnCluster("cluster-uid")


async def test_a_cluster_without_the_namespace_is_unknown() -> None:
    found = without_cluster(await OwnClusterReader(MemoryClient()).read())
    assert found.message.endswith("Namespace kube-system, whose uid identifies this cluster, does not exist.")
