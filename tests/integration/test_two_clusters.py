"""Two clusters with the same manifests and one Google Cloud project: neither touches the instance of the other."""

from collections.abc import Iterator

import pytest

from integration.instances import through_api, until, until_condition, until_gone, until_ready
from testbed import operator_process
from testbed.control_plane.cluster import Cluster
from testbed.fault_injection import FaultyCluster
from testbed.kube import Kube
from testbed.lustre.client import LustreProject
from testbed.policy import EVERYTHING, install_policy
from testbed.pools import API, Pools

pytestmark = [pytest.mark.usefixtures("operator"), pytest.mark.timeout(240)]


WITHOUT_INSTANCES = {kind: values for kind, values in EVERYTHING.items() if kind != "instances"}


def _uid(kube: Kube) -> str:
    return str(kube.get("v1", "Namespace", "kube-system")["metadata"]["uid"])


@pytest.fixture
def second(faulty: FaultyCluster, control_plane: Cluster, namespace: str) -> Iterator[Pools]:
    """The namespace of the test in a second cluster, whose operator uses the Lustre API of the first."""
    install_policy(faulty.kube, WITHOUT_INSTANCES)
    faulty.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    environment = {operator_process.LUSTRE_ENDPOINT: control_plane.lustre_api.url}
    with operator_process.operator(faulty.plane, server=faulty.proxy.url, **environment):
        yield Pools(faulty.kube, namespace)


def _annotate(pools: Pools, instance: str) -> None:
    adopt = {"metadata": {"annotations": {"kvtier.dev/adopt-instance": instance}}}
    pools.kube.patch(*API, "chat", adopt, pools.namespace)


@pytest.fixture
def used(pools: Pools, lustre_project: LustreProject) -> str:
    """The pool "chat" of the first cluster is ready; the name of its instance."""
    pools.create("chat", **through_api(lustre_project))
    until_ready(pools, "chat")
    (name,) = lustre_project.instances()
    return str(name)


def test_the_instance_of_another_cluster_is_neither_used_nor_deleted(
    pools: Pools, second: Pools, lustre_project: LustreProject, used: str
) -> None:
    before = lustre_project.instances()
    assert before[used]["labels"]["kvtier-cluster-uid"] == _uid(pools.kube)
    second.create("chat", deletionPolicy="Delete", **through_api(lustre_project))
    told = until_condition(second, "chat", "False", "InstanceNotOurs")
    assert f"with uid {_uid(pools.kube)}" in told["message"]
    _annotate(second, used)
    looks = iter(range(4))
    until(second, "chat", lambda: next(looks, None) is None)
    assert second.condition("chat", "StorageReady")["reason"] == "InstanceNotOurs", "nobody has granted it"
    second.delete("chat")
    until_gone(second, "chat")
    event, *_ = second.events("chat", "DataKept")
    assert used in event["message"]
    assert lustre_project.instances() == before
    assert [one.kind for one in lustre_project.calls("update", "delete")] == []


def test_a_pool_of_a_second_cluster_gets_an_instance_under_another_name(
    second: Pools, lustre_project: LustreProject, used: str
) -> None:
    second.create("chat-2", deletionPolicy="Delete", **through_api(lustre_project))
    until(second, "chat-2", lambda: len(lustre_project.instances()) == 2)
    (made,) = [one for name, one in lustre_project.instances().items() if name != used]
    assert made["labels"]["kvtier-cluster-uid"] == _uid(second.kube)


def test_with_a_grant_and_an_annotation_the_instance_of_another_cluster_is_adopted(
    pools: Pools, second: Pools, lustre_project: LustreProject, used: str
) -> None:
    created = second.create("chat", **through_api(lustre_project))
    until_condition(second, "chat", "False", "InstanceNotOurs")
    install_policy(second.kube, WITHOUT_INSTANCES, {"namespaces": [second.namespace], "instances": [used]})
    _annotate(second, used)

    def adopted() -> bool:
        labels = lustre_project.instances()[used]["labels"]
        return bool(labels["kvtier-pool-uid"] == created["metadata"]["uid"])

    until(second, "chat", adopted)
    event, *_ = second.events("chat", "InstanceTakenOver")
    assert f"with uid {_uid(pools.kube)}" in event["message"]
    until_condition(pools, "chat", "False", "InstanceNotOurs")
    pools.patch("chat", {"deletionPolicy": "Delete"})
    pools.delete("chat")
    until_gone(pools, "chat")
    assert list(lustre_project.instances()) == [used]
    assert lustre_project.calls("delete") == []
