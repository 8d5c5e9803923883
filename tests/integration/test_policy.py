"""A user who may only create pools, in one namespace, reaches nothing that the installer did not grant.

The operator runs with the default policy: its cluster has nodes in my-project, and no ConfigMap.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from testbed import operator_process
from testbed.fault_injection import FaultyCluster
from testbed.gke import PROJECT, ZONE
from testbed.gke.container_api import GKEApi
from testbed.gke.nodes import NodeSpec, add_node
from testbed.kube import Kube, Object
from testbed.lustre.client import LustreProject
from testbed.lustre.documents import instance
from testbed.policy import NAME, grant_everything, install_policy, remove_policy, write_policy
from testbed.pools import API, Pools
from testbed.process import Component
from testbed.tenant import POOLS, Witness, tenant
from testbed.waiting import eventually

VOLUME, CLAIM = ("v1", "PersistentVolume"), ("v1", "PersistentVolumeClaim")
DEPLOYMENT = ("apps/v1", "Deployment")
VICTIM = "projects/their-project/locations/us-central1-a/instances/victim"
OURS = f"projects/{PROJECT}/locations/{ZONE}/instances/ours"
THEIR_CLUSTER = {"project": "their-project", "location": "us-central1", "name": "prod"}
_NOT_MADE: dict[str, Any] = dict.fromkeys(
    [f"tiers__lustre__{name}" for name in ("capacity", "throughputPerTiB", "zone", "network")]
)


def existing(name: str, **changes: Any) -> Object:
    """Changes for an existing instance."""
    lustre = {"tiers__lustre__provisioner": "Existing", "tiers__lustre__instance": name}
    return {**_NOT_MADE, **lustre, **changes}


@pytest.fixture(scope="module")
def gke() -> Iterator[GKEApi]:
    with GKEApi() as api:
        yield api


@pytest.fixture(scope="module")
def process(own_cluster: FaultyCluster, gke: GKEApi) -> Iterator[Component]:
    """An operator with its own policy, which the tests change."""
    add_node(own_cluster.kube, NodeSpec("of-the-cluster"))
    remove_policy(own_cluster.kube)
    with operator_process.operator(own_cluster.plane, KVTIER_GKE_ENDPOINT=gke.url) as found:
        yield found
    grant_everything(own_cluster.kube)
    own_cluster.kube.delete("v1", "Node", "of-the-cluster")
    own_cluster.kube.delete("storage.k8s.io/v1", "CSINode", "of-the-cluster")


@pytest.fixture
def cluster(own_cluster: FaultyCluster, process: Component) -> Iterator[FaultyCluster]:
    """The cluster, with the default policy."""
    remove_policy(own_cluster.kube)
    eventually(lambda: _grants_in_effect(process) == 0, what="the default is in effect")
    yield own_cluster
    process.require_alive()
    own_cluster.clear()


def _grants_in_effect(process: Component) -> int:
    """How many grants the policy has that the operator read last."""
    *_, last = re.findall(r"is in effect: (\d+) grants", operator_process.logged(process)) or ["-1"]
    return int(last)


@pytest.fixture
def theirs(cluster: FaultyCluster) -> LustreProject:
    """The project of somebody else, with an instance."""
    project = cluster.plane.lustre_api.project("their-project")
    project.put("victim", instance(9000))
    project.reset()
    return project


@pytest.fixture
def namespace(cluster: FaultyCluster) -> str:
    return cluster.namespace("t")


@pytest.fixture
def user(cluster: FaultyCluster, namespace: str) -> Kube:
    """A user who may do nothing but manage pools in the namespace."""
    return tenant(cluster.plane, namespace, rules=(POOLS,))


@pytest.fixture
def pools(user: Kube, namespace: str) -> Pools:
    """The pools of the user."""
    return Pools(user, namespace)


def _nothing_exists(cluster: FaultyCluster, namespace: str) -> bool:
    """Whether nothing was created for the pools of a namespace that could reach data."""
    selector = f"kvtier.dev/pool-namespace={namespace}"
    kinds = (VOLUME, CLAIM, DEPLOYMENT, ("storage.k8s.io/v1", "StorageClass"))
    return not any(cluster.kube.list(*kind, labelSelector=selector) for kind in kinds)


ATTACKS: dict[str, Object] = {
    "the instance of another team": existing(VICTIM),
    "an instance in the project of the cluster": existing(OURS),
    "an instance by its address": existing(
        VICTIM,
        tiers__lustre__address="10.90.1.4",
        tiers__lustre__filesystem="kvcache",
        tiers__lustre__capacity="9000Gi",
    ),
    "the bucket of another team": {
        "cluster": {"project": PROJECT, "location": "us-central1", "name": "none"},
        "tiers__cloudStorage": {"uri": "gs://other-teams-secrets/"},
    },
    "an instance in another project": {"cluster": THEIR_CLUSTER, "tiers__lustre__provisioner": "API"},
    "the GKE API of another project": {"cluster": THEIR_CLUSTER},
    "the network of another team": {"tiers__lustre__network": "projects/their-project/global/networks/prod"},
    "the key of another team": {
        "cluster": {"project": PROJECT, "location": "us-central1", "name": "none"},
        "tiers__lustre__provisioner": "API",
        "tiers__lustre__kmsKey": "projects/their-project/locations/us-central1/keyRings/r/cryptoKeys/k",
    },
}


@pytest.mark.parametrize("changes", ATTACKS.values(), ids=ATTACKS)
def test_a_pool_does_not_reach_what_was_not_granted(
    cluster: FaultyCluster, gke: GKEApi, theirs: LustreProject, pools: Pools, changes: Object
) -> None:
    ours = cluster.plane.lustre_api.project(PROJECT)
    ours.put("ours", instance(9000))
    ours.reset()
    witness = Witness(cluster.kube, project=theirs)
    pools.create("attack", **changes)
    found = pools.wait("attack", "AccessGranted", "False", "NotGranted")
    assert f'{{"namespaces": ["{pools.namespace}"]' in found["message"]
    pools.wait("attack", "StorageReady", "False", "PrerequisitesNotMet")
    pools.delete("attack")
    pools.wait_gone("attack")
    assert _nothing_exists(cluster, pools.namespace)
    assert witness.unchanged()
    assert theirs.calls() == []
    assert ours.calls("create", "import", "export", "update", "delete") == []
    assert ours.calls(instance=OURS) == []
    assert gke.calls("projects/their-project/locations/us-central1/clusters/prod") == []


def test_what_belongs_to_the_cluster_needs_no_grant(cluster: FaultyCluster, pools: Pools) -> None:
    pools.create("own")
    cluster.until_ready(pools, "own")
    assert pools.condition("own", "AccessGranted")["reason"] == "Granted"


def test_a_grant_takes_effect_at_once_and_only_for_its_namespace(
    cluster: FaultyCluster, theirs: LustreProject, pools: Pools
) -> None:
    other = Pools(cluster.kube, cluster.namespace("o"))
    for of in (pools, other):
        of.create("shared", **existing(VICTIM))
        of.wait("shared", "AccessGranted", "False", "NotGranted")
    assert theirs.calls() == []
    install_policy(cluster.kube, {"namespaces": [pools.namespace], "instances": [VICTIM]})
    cluster.until_ready(pools, "shared")
    (volume,) = cluster.kube.list(*VOLUME, labelSelector=f"kvtier.dev/pool-namespace={pools.namespace}")
    assert volume["spec"]["csi"]["volumeHandle"] == "their-project/us-central1-a/victim"
    assert other.condition("shared", "AccessGranted")["status"] == "False"


def test_a_pool_keeps_serving_when_its_grant_is_removed(
    cluster: FaultyCluster, theirs: LustreProject, pools: Pools
) -> None:
    install_policy(cluster.kube, {"namespaces": ["*"], "instances": [VICTIM]})
    pools.create("serving", **existing(VICTIM))
    cluster.until_ready(pools, "serving")
    storage = Witness(cluster.kube, *_children(cluster, pools.namespace, CLAIM, VOLUME))
    remove_policy(cluster.kube)
    pools.wait("serving", "AccessGranted", "False", "NotGranted")
    theirs.reset()
    pools.wait("serving", "ModelsReady")
    pools.patch("serving", {"tiers": {"cpu": {"capacity": "120Gi"}}})
    cluster.until(lambda: _engines(cluster, pools)["metadata"]["generation"] == 2, "engines are updated")
    mounted = _engines(cluster, pools)["spec"]["template"]["spec"]["volumes"]
    assert "lustre" in [volume["name"] for volume in mounted]
    assert storage.unchanged()
    assert theirs.calls() == []
    pools.delete("serving")
    cluster.until(lambda: cluster.kube.find(*API, "serving", pools.namespace) is None, "the pool is deleted")


def _engines(cluster: FaultyCluster, of: Pools) -> Object:
    """The only Deployment of the pools."""
    return Pools(cluster.kube, of.namespace).child(*DEPLOYMENT)


def _children(cluster: FaultyCluster, namespace: str, *kinds: tuple[str, str]) -> Iterator[Object]:
    for kind in kinds:
        yield from cluster.kube.list(*kind, labelSelector=f"kvtier.dev/pool-namespace={namespace}")


def test_an_invalid_change_keeps_the_last_valid_policy(
    cluster: FaultyCluster, process: Component, theirs: LustreProject, pools: Pools
) -> None:
    install_policy(cluster.kube, {"namespaces": ["*"], "instances": [VICTIM]})
    pools.create("before", **existing(VICTIM))
    pools.wait("before", "AccessGranted", "True", "Granted")
    write_policy(cluster.kube, "grants: [{namespaces: ['*'], instance: x}]")
    operator_process.await_log(process, "grants[0].instance: unknown field")
    events = eventually(lambda: cluster.kube.events(operator_process.NAMESPACE, NAME, "PolicyInvalid"))
    assert "kvtier uses the last valid policy" in events[-1]["message"]
    pools.create("after", **existing(VICTIM, nodePool__nodeSelector={"example.com/other": "nodes"}))
    pools.wait("after", "AccessGranted", "True", "Granted")


def test_a_policy_that_is_invalid_at_the_start_grants_nothing(
    cluster: FaultyCluster, process: Component, theirs: LustreProject, pools: Pools
) -> None:
    operator_process.stop(process)
    write_policy(cluster.kube, "grants: everything")
    pools.create("early", **existing(VICTIM))
    process.start()
    pools.wait("early", "AccessGranted", "False", "PolicyInvalid")
    pools.wait("early", "StorageReady", "False", "PrerequisitesNotMet")
    assert theirs.calls() == []
    assert _nothing_exists(cluster, pools.namespace)
