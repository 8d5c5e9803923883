"""The StorageClass itself, and when a claim counts as bound."""

from typing import Any

from kvtier.api.names import filesystem
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.plan.children import claim_name
from kvtier.plan.lustre.storage import bound
from kvtier.plan.plan import plan
from unit.builders import NOW, claim, facts, live, manifest, node, observed, pool, requesting
from unit.tables import table

POOL = pool()


def test_the_class_is_what_the_lustre_driver_wants() -> None:
    made = manifest(POOL, "StorageClass")
    assert made["provisioner"] == "lustre.csi.storage.gke.io"
    parameters = made["parameters"]
    assert parameters["perUnitStorageThroughput"] == "1000"
    assert parameters["network"] == "projects/my-project/global/networks/default"
    assert parameters["filesystem"] == filesystem("team-a", "chat")
    assert all(isinstance(value, str) for value in parameters.values())
    assert made["allowedTopologies"][0]["matchLabelExpressions"] == [
        {"key": "topology.gke.io/zone", "values": ["us-central1-a"]}
    ]
    assert (made["reclaimPolicy"], made["volumeBindingMode"]) == ("Retain", "Immediate")
    assert made["allowVolumeExpansion"] is True


def test_a_file_system_name_of_the_user_is_taken() -> None:
    of = pool(tiers={"lustre": {"filesystem": "Scratch1"}})
    assert manifest(of, "StorageClass")["parameters"]["filesystem"] == "Scratch1"


@table(
    "lustre",
    {
        "another throughput": {"throughputPerTiB": 500},
        "another network": {"network": "projects/my-project/global/networks/other"},
        "another file system": {"filesystem": "other"},
        "another zone": {"zone": "us-central1-b"},
    },
)
def test_another_class_has_another_name(lustre: dict[str, Any]) -> None:
    other = manifest(pool(tiers={"lustre": lustre}), "StorageClass")
    assert other["metadata"]["name"] != manifest(POOL, "StorageClass")["metadata"]["name"]


def test_another_capacity_is_no_other_class() -> None:
    other = manifest(pool(tiers={"lustre": {"capacity": "27000Gi"}}), "StorageClass")
    assert other == manifest(POOL, "StorageClass")


def test_the_claim_is_shared_by_all_pods_and_outlives_its_pool() -> None:
    made = manifest(POOL, "PersistentVolumeClaim")
    assert made["spec"]["accessModes"] == ["ReadWriteMany"]
    assert "ownerReferences" not in made["metadata"]


@table(
    "of, found, is_bound",
    {
        "a bound claim is bound": (POOL, claim(POOL), True),
        "a claim that grows is bound": (POOL, claim(POOL, spec=requesting("27000Gi")), True),
        "a claim that waits is not": (POOL, claim(POOL, "Pending"), False),
        "a lost claim is not": (POOL, claim(POOL, "Lost"), False),
        "a claim that the spec no longer asks for is not the pool's": (
            pool(tiers={"lustre": None}),
            claim(POOL),
            False,
        ),
    },
)
def test_bound(of: Any, found: Any, is_bound: bool) -> None:
    assert bound(of, observed(found)) == (claim_name(POOL) if is_bound else None)


def test_no_claim_is_not_bound() -> None:
    assert bound(POOL, observed()) is None


@table(
    "of",
    {
        "a Required pool": POOL,
        "an Opportunistic pool": pool(mode="Opportunistic"),
        "a pool whose data goes with it": pool(deletionPolicy="Delete"),
        "a pool whose engines may run in several zones": pool(
            nodePool={"zones": ["us-central1-a", "us-central1-b"]}
        ),
        "a pool on existing nodes": pool(nodePool={"provisioner": "Existing"}),
    },
)
def test_no_claim_waits_for_a_pod_that_waits_for_it(of: KVCachePool) -> None:
    assert manifest(of, "StorageClass")["volumeBindingMode"] == "Immediate"


def test_engines_of_an_opportunistic_pool_start_while_its_claim_waits() -> None:
    of = pool(mode="Opportunistic")
    storage = [live(manifest(of, "StorageClass")), claim(of, "Pending")]
    world = observed(*storage, live(manifest(of, "ComputeClass")), facts=facts(node(of)))
    assert "Deployment" in [one["kind"] for one in plan(of, world, NOW).applies]
