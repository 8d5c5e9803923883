"""Prerequisites on a real control plane: kvtier creates nothing before they are met, and notices when they are."""

import pytest

from integration.own_nodes import Nodes
from testbed.gke import LUSTRE_DRIVER
from testbed.gke.nodes import LUSTRE_ZONE_LABEL
from testbed.kube import Kube
from testbed.pools import OTHER_NETWORK, SAME_NETWORK, Pools
from testbed.waiting import eventually

pytestmark = pytest.mark.usefixtures("operator")

DEPLOYMENT = ("apps/v1", "Deployment")
CLAIM = ("v1", "PersistentVolumeClaim")


@pytest.fixture
def nodes(kube: Kube, namespace: str) -> Nodes:
    return Nodes(kube, namespace)


def test_old_nodes_block_storage_until_they_are_replaced(pools: Pools, nodes: Nodes) -> None:
    old = nodes.add("old", kubelet="v1.33.2-gke.1110999")
    pools.create("versions", **nodes.pool())
    found = pools.wait("versions", "GKEVersionSupported", "False", "NodesTooOld")
    assert "1.33.2-gke.1111000" in found["message"]
    pools.wait("versions", "StorageReady", "False", "PrerequisitesNotMet")
    assert pools.children(*CLAIM) == []
    assert pools.children(*DEPLOYMENT) == []
    nodes.add("new")
    nodes.remove(old)
    pools.wait("versions")


def test_an_unreadable_node_version_is_unknown_and_blocks_only_a_strict_pool(
    pools: Pools, nodes: Nodes
) -> None:
    nodes.add("odd", kubelet="v1.36.3+k0s")
    pools.create("lenient", **nodes.pool())
    pools.create("strict", strict=True, **nodes.pool())
    pools.wait("lenient", "GKEVersionSupported", "Unknown", "NodeVersionNotRecognised")
    pools.wait("lenient")
    pools.wait("strict", "StorageReady", "False", "PrerequisitesNotMet")
    assert len(pools.children(*CLAIM)) == 1


def test_another_node_image_blocks_engines(pools: Pools, nodes: Nodes) -> None:
    nodes.add("ubuntu", os="ubuntu")
    pools.create("images", **nodes.pool())
    found = pools.wait("images", "NodeImageSupported", "False", "NotCOS")
    assert "Ubuntu" in found["message"]
    pools.wait("images", "StorageReady", "True")
    assert pools.children(*DEPLOYMENT) == []


def test_nodes_without_the_driver_block_storage_until_it_registers(pools: Pools, nodes: Nodes) -> None:
    name = nodes.add("bare", lustre=False)
    pools.create("drivers", **nodes.pool())
    pools.wait("drivers", "LustreDriverEnabled", "False", "NotRegistered")
    assert pools.children(*CLAIM) == []
    driver = {"name": LUSTRE_DRIVER, "nodeID": name, "topologyKeys": [LUSTRE_ZONE_LABEL]}
    nodes.kube.patch("storage.k8s.io/v1", "CSINode", name, {"spec": {"drivers": [driver]}})
    pools.wait("drivers")


def test_nodes_in_another_zone_are_named(pools: Pools, nodes: Nodes) -> None:
    nodes.add("far", zone="us-central1-b")
    pools.create("zones", **nodes.pool())
    found = pools.wait("zones", "ZoneMatched", "False", "NoNodeInZone")
    assert "us-central1-b" in found["message"]
    assert pools.children(*CLAIM) == []


def test_a_missing_secret_blocks_engines_until_it_is_created(pools: Pools, kube: Kube) -> None:
    pools.create("gated", models__0__tokenSecretRef={"name": "hf-token"})
    found = pools.wait("gated", "CredentialsPresent", "False", "SecretMissing")
    assert "create secret generic hf-token" in found["message"]
    pools.wait("gated", "StorageReady")
    assert pools.children(*DEPLOYMENT) == []
    metadata = {"name": "hf-token", "namespace": pools.namespace}
    kube.create(
        {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"token": "very-secret"}}
    )
    pools.wait("gated")
    variables = pools.child(*DEPLOYMENT)["spec"]["template"]["spec"]["containers"][0]["env"]
    (token,) = (v for v in variables if v["name"] == "HF_TOKEN")
    assert token["valueFrom"] == {"secretKeyRef": {"name": "hf-token", "key": "token"}}
    assert "very-secret" not in str(pools.get("gated"))


def test_too_much_local_ssd_is_refused_with_the_numbers(pools: Pools) -> None:
    pools.create("disks", tiers__localSSD__capacity="6000Gi")
    found = pools.wait("disks", "LocalSSDSupported", "False", "TooLarge")
    assert (
        "136Gi for model weights and logs do not fit into the 5254Gi for Pods on Local SSD (16 x 375Gi)."
        in found["message"]
    )
    assert pools.children(*DEPLOYMENT) == []


def test_the_network_is_unknown_without_the_clusters_name(pools: Pools) -> None:
    pools.create("network")
    found = pools.wait("network", "NetworkMatched", "Unknown", "ClusterNotGiven")
    assert "spec.cluster" in found["message"]


def test_the_clusters_own_network_is_matched_through_the_gke_api(pools: Pools) -> None:
    pools.create("network", cluster=SAME_NETWORK, strict=True)
    pools.wait("network", "NetworkMatched", "True", "SameNetwork")
    pools.wait("network")


def test_nothing_is_created_for_an_instance_in_another_network(pools: Pools) -> None:
    pools.create("network", cluster=OTHER_NETWORK)
    pools.wait("network", "NetworkMatched", "False", "OtherNetwork")
    pools.wait("network", "StorageReady", "False", "PrerequisitesNotMet")
    assert pools.children(*CLAIM) == []
    assert pools.children(*DEPLOYMENT) == []


def test_the_user_can_vouch_for_an_instance_in_another_network(pools: Pools) -> None:
    accepted = [{"type": "NetworkMatched", "reason": "OtherNetwork"}]
    pools.create("hub", cluster=OTHER_NETWORK, strict=True, acknowledgedConditions=accepted)
    found = pools.wait("hub", "NetworkMatched", "Unknown", "OtherNetwork")
    assert "The pool accepts this in spec.acknowledgedConditions" in found["message"]
    pools.wait("hub")
    pools.patch("hub", {"acknowledgedConditions": None})
    pools.wait("hub", "Ready", "False", "OtherNetwork")
    assert pools.children(*DEPLOYMENT) != [], "engines that run keep running"


def test_for_a_cluster_that_does_not_exist_the_network_is_unknown_with_a_remedy(pools: Pools) -> None:
    pools.create("network", cluster=SAME_NETWORK | {"name": "nowhere"})
    found = pools.wait("network", "NetworkMatched", "Unknown")
    assert "spec.cluster" in found["message"]
    pools.wait("network")


def test_engines_run_in_a_namespace_that_enforces_the_restricted_profile(pools: Pools, kube: Kube) -> None:
    label = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    kube.patch("v1", "Namespace", pools.namespace, label)
    pools.create("restricted")
    pools.wait("restricted")


@pytest.mark.parametrize(
    "name", ["a", "1st.pool", "n" * 253, ".".join(["long"] * 50)], ids=lambda n: f"{n[:9]}-{len(n)}"
)
def test_a_pool_of_any_valid_name_becomes_ready(pools: Pools, name: str) -> None:
    pools.create(name)
    pools.wait(name)
    service = pools.child("v1", "Service")
    selector = ",".join(f"{key}={value}" for key, value in service["spec"]["selector"].items())
    assert _pods(pools, selector) == _pods(pools, "kvtier.dev/model")


def _pods(pools: Pools, selector: str) -> set[str]:
    """Names of the Pods that a selector finds, once there are any."""
    found = eventually(lambda: pools.kube.list("v1", "Pod", pools.namespace, labelSelector=selector))
    return {pod["metadata"]["name"] for pod in found}
