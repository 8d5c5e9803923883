"""Prerequisites of an instance before pools mount it, on a real control plane."""

import json
from typing import Any

import pytest
import yaml

from integration.instances import CLAIM, DEPLOYMENT, VOLUME, existing, through_api, until_condition
from integration.own_nodes import Nodes
from integration.test_cli import kvtier
from kvtier.api.names import filesystem
from testbed.control_plane.cluster import Cluster
from testbed.kube import Kube
from testbed.lustre.client import LustreProject
from testbed.lustre.documents import instance, refusal
from testbed.pools import LEGACY_PORT, OTHER_NETWORK, SAME_NETWORK, Pools, manifest
from testbed.waiting import eventually

pytestmark = pytest.mark.usefixtures("operator")

CLASS = ("storage.k8s.io/v1", "StorageClass")
BY_HAND: dict[str, Any] = {
    "tiers__lustre__address": "10.1.2.3",
    "tiers__lustre__filesystem": "byhand",
    "tiers__lustre__capacity": "18000Gi",
}


@pytest.fixture
def named(namespace: str) -> dict[str, Any]:
    """Changes that give the file system the name of this test, because all tests share one cluster."""
    return {"tiers__lustre__filesystem": filesystem("test", namespace)}


@pytest.fixture
def nodes(kube: Kube, namespace: str) -> Nodes:
    """One node for all pools of the test."""
    nodes = Nodes(kube, namespace)
    nodes.add("shared")
    return nodes


def test_the_second_pool_with_a_file_system_name_waits_until_the_first_is_deleted(
    pools: Pools, nodes: Nodes, named: dict[str, Any]
) -> None:
    pools.create("first", deletionPolicy="Delete", **named, **nodes.pool())
    pools.wait("first", "FilesystemUnique", "True", "Unique")
    pools.wait("first", "StorageReady")
    pools.create("second", **named, **nodes.pool())
    found = pools.wait("second", "FilesystemUnique", "False", "FilesystemNameTaken")
    assert f"{pools.namespace}/first uses file system name" in found["message"]
    pools.wait("second", "StorageReady", "False", "PrerequisitesNotMet")
    assert len(pools.children(*CLAIM)) == 1
    pools.delete("first")
    pools.wait("second", "FilesystemUnique", "True", "Unique")
    pools.wait("second", "StorageReady")


def test_an_older_pool_does_not_take_the_name_of_a_pool_that_has_the_file_system(
    pools: Pools, nodes: Nodes, named: dict[str, Any]
) -> None:
    pools.create("older", tiers__lustre=None, tiers__localSSD=None, **nodes.pool())
    pools.wait("older", "FilesystemUnique", "True", "NotNeeded")
    pools.create("younger", **named, **nodes.pool())
    pools.wait("younger", "StorageReady")
    lustre = manifest("older", pools.namespace, **named)["spec"]["tiers"]["lustre"]
    pools.patch("older", {"tiers": {"lustre": lustre}})
    found = pools.wait("older", "FilesystemUnique", "False", "FilesystemNameTaken")
    assert f"Pool {pools.namespace}/younger uses file system name" in found["message"]
    pools.wait("younger", "FilesystemUnique", "True", "Unique")
    assert len(pools.children(*CLAIM)) == 1


def test_a_volume_of_a_deleted_pool_is_named(pools: Pools, nodes: Nodes, named: dict[str, Any]) -> None:
    pools.create("first", **named, **nodes.pool())
    pools.wait("first", "StorageReady")
    pools.delete("first")
    pools.wait_gone("first")
    pools.create("second", **named, **nodes.pool())
    pools.wait("second", "FilesystemUnique", "Unknown", "ForeignVolume")
    pools.wait("second", "StorageReady")


def test_pools_on_different_nodes_can_use_the_same_file_system_name(
    pools: Pools, named: dict[str, Any]
) -> None:
    for name in ("first", "second"):
        pools.create(name, **named)
    for name in ("first", "second"):
        pools.wait(name, "FilesystemUnique", "True", "Unique")


def test_a_second_pool_on_an_existing_instance_is_refused_with_a_remedy(
    pools: Pools, nodes: Nodes, lustre_project: LustreProject
) -> None:
    lustre_project.put("shared", instance(filesystem=_theirs(pools)))
    pools.create("first", **existing(lustre_project), **nodes.pool())
    until_condition(pools, "first", "True", "Unique", "FilesystemUnique")
    pools.create("second", **existing(lustre_project), **nodes.pool())
    found = until_condition(pools, "second", "False", "InstanceShared", "FilesystemUnique")
    assert "Add these models to that pool" in found["message"]
    assert len(pools.children(*VOLUME)) <= 1
    assert pools.children(*CLASS) == []


def test_a_volume_that_kvtier_did_not_create_is_named_and_blocks_nothing(
    pools: Pools, nodes: Nodes, named: dict[str, Any]
) -> None:
    name, (filesystem,) = f"{pools.namespace}-theirs", named.values()
    pools.kube.create(_volume(name, filesystem))
    try:
        pools.create("chat", **named, **nodes.pool())
        found = pools.wait("chat", "FilesystemUnique", "Unknown", "ForeignVolume")
        assert f"File system name {filesystem} is also used by PersistentVolume {name}" in found["message"]
        pools.wait("chat", "StorageReady")
    finally:
        pools.kube.delete("v1", "PersistentVolume", name)


def _volume(name: str, filesystem: str) -> dict[str, Any]:
    attributes = {"ip": "10.9.9.9", "filesystem": filesystem}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "9000Gi"},
            "accessModes": ["ReadWriteMany"],
            "persistentVolumeReclaimPolicy": "Retain",
            "csi": {
                "driver": "lustre.csi.storage.gke.io",
                "volumeHandle": f"other/us-central1-a/{name}",
                "volumeAttributes": attributes,
            },
        },
    }


@pytest.mark.parametrize(
    ("cluster", "legacy", "verdict"),
    [
        (SAME_NETWORK, True, ("PortMatched", "LegacyInstance")),
        (LEGACY_PORT, False, ("PortMatched", "LegacyCluster")),
        (OTHER_NETWORK, False, ("NetworkMatched", "OtherNetwork")),
    ],
    ids=["an instance at the legacy port", "a cluster at the legacy port", "another network"],
)
def test_an_existing_instance_on_the_wrong_port_is_not_mounted(
    pools: Pools, lustre_project: LustreProject, cluster: Any, legacy: bool, verdict: tuple[str, str]
) -> None:
    lustre_project.put("shared", instance(filesystem=_theirs(pools), gkeSupportEnabled=legacy))
    pools.create("chat", **existing(lustre_project), cluster=cluster)
    until_condition(pools, "chat", "False", verdict[1], verdict[0])
    until_condition(pools, "chat", "False", "PrerequisitesNotMet")
    assert pools.children(*VOLUME) == pools.children(*CLAIM) == pools.children(*DEPLOYMENT) == []


def test_an_existing_instance_on_the_port_of_the_nodes_is_mounted(
    pools: Pools, lustre_project: LustreProject
) -> None:
    lustre_project.put("shared", instance(filesystem=_theirs(pools)))
    pools.create("chat", **existing(lustre_project), cluster=SAME_NETWORK, strict=True)
    for type_, reason in (
        ("NetworkMatched", "SameNetwork"),
        ("PortMatched", "Matched"),
        ("FilesystemUnique", "Unique"),
        ("CapacityValid", "Existing"),
    ):
        until_condition(pools, "chat", "True", reason, type_)
    until_condition(pools, "chat", "True", "Bound")
    assert pools.children(*CLASS) == []


def test_a_capacity_larger_than_the_instance_is_refused(pools: Pools, lustre_project: LustreProject) -> None:
    lustre_project.put("shared", instance(filesystem="byhand", capacity_gib=9000))
    pools.create("chat", **existing(lustre_project, **BY_HAND))
    found = until_condition(pools, "chat", "False", "LargerThanInstance", "CapacityValid")
    assert "has 9000Gi. Set lustre.capacity to 9000Gi." in found["message"]
    assert pools.children(*VOLUME) == []


def test_a_fact_that_could_not_be_read_is_unknown_and_blocks_a_strict_pool(
    pools: Pools, lustre_project: LustreProject
) -> None:
    lustre_project.fail(refusal("PERMISSION_DENIED"), times=-1)
    for name in ("lenient", "strict"):
        pools.create(name, **existing(lustre_project, name, **BY_HAND), strict=name == "strict")
    until_condition(pools, "lenient", "Unknown", "InstanceNotSeen", "PortMatched")
    until_condition(pools, "lenient", "True", "Bound")
    until_condition(pools, "strict", "False", "PrerequisitesNotMet")


def test_a_pool_without_lustre_has_no_pvc_and_an_api_instance_has_no_storage_class(
    pools: Pools, lustre_project: LustreProject
) -> None:
    pools.create("bare", tiers__lustre=None)
    pools.create("made", **through_api(lustre_project))
    pools.wait("bare")
    until_condition(pools, "made", "True", "Made", "PortMatched")
    eventually(lambda: lustre_project.calls("create"))
    assert pools.children(*CLASS) == []
    assert [one["metadata"]["labels"]["kvtier.dev/pool"] for one in pools.children(*CLAIM)] in ([], ["made"])


def test_kvtier_check_reads_the_instance_volumes_and_pools(
    pools: Pools, nodes: Nodes, lustre_project: LustreProject, control_plane: Cluster
) -> None:
    name = lustre_project.put("shared", instance(filesystem=_theirs(pools), gkeSupportEnabled=True))
    pools.create("first", **existing(lustre_project), **nodes.pool())
    text = yaml.safe_dump(manifest("second", pools.namespace, **existing(lustre_project), **nodes.pool()))
    environment = {
        "KUBECONFIG": str(control_plane.kubeconfig),
        "KVTIER_LUSTRE_ENDPOINT": control_plane.lustre_api.url,
    }
    done = kvtier("check", "-f", "-", "-o", "json", text=text, **environment)
    found = {one["type"]: one for one in json.loads(done.stdout)[f"{pools.namespace}/second"]}
    assert done.returncode == 1
    assert found["FilesystemUnique"]["reason"] == "InstanceShared"
    assert name in found["FilesystemUnique"]["message"]
    assert found["CapacityValid"]["message"] == "The instance has 9000Gi."
    assert "The instance listens on port 6988." in found["PortMatched"]["message"]


def _theirs(pools: Pools) -> str:
    """A file system name of this test only, because other tests leave volumes."""
    return filesystem(pools.namespace, "theirs")
