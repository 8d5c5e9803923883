"""Children that nobody asks for any more."""

from typing import Any

from kvtier.api.kinds import Object
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Cluster, Facts
from kvtier.plan.model import Part, Ref
from kvtier.plan.offline import manifests
from kvtier.plan.plan import plan
from kvtier.plan.pruning import orphans, unwanted
from unit.builders import NOW, claim, deployment, job, live, manifest, model, observed, pool
from unit.instances import by_hand
from unit.tables import table

POOL = pool()
NO_LUSTRE = {"tiers": {"lustre": None}}
GOING: dict[str, Any] = {"metadata": {"deletionTimestamp": NOW}}


def _pruned(of: KVCachePool, *children: Object) -> tuple[Ref, ...]:
    return plan(of, observed(*children), NOW).deletes


@table(
    "changes, kinds",
    {
        "a spec that asks for everything leaves nothing over": ({}, []),
        "a removed model leaves its Deployment and Service over": (
            {"models": [model(name="other")]},
            ["Deployment", "Service"],
        ),
        "existing nodes leave the ComputeClass over": (
            {"nodePool": {"provisioner": "Existing"}},
            ["ComputeClass"],
        ),
        "a removed tier leaves the class over, and keeps the data": (NO_LUSTRE, ["StorageClass"]),
        "another throughput leaves the old class over": (
            {"tiers": {"lustre": {"throughputPerTiB": 500}}},
            ["StorageClass"],
        ),
        "another capacity leaves nothing over": ({"tiers": {"lustre": {"capacity": "27000Gi"}}}, []),
    },
)
def test_what_the_spec_no_longer_asks_for(changes: dict[str, Any], kinds: list[str]) -> None:
    children = [live(one) for one in manifests(POOL)]
    assert [ref.kind for ref in _pruned(pool(**changes), *children)] == kinds


def test_what_the_spec_asks_for_stays_although_nothing_of_it_can_be_applied() -> None:
    children = [live(one) for one in manifests(POOL)]
    done = plan(POOL, observed(*children, facts=Facts(cluster=Cluster(compute_class_served=False))), NOW)
    assert (done.applies, done.deletes) == ((), ())


VOLUME = live({"kind": "PersistentVolume", "metadata": {"name": "volume"}})


@table(
    "children",
    {
        "data, which deletionPolicy decides about": [claim(POOL), VOLUME],
        "Jobs, which their concern deletes": [job(POOL)],
        "what is being deleted already": [live(manifest(POOL, "StorageClass"), **GOING)],
    },
)
def test_is_not_pruned(children: list[Object]) -> None:
    assert unwanted(observed(*children).children, Part()) == ()


def test_what_goes_is_named_by_its_uid() -> None:
    gone = deployment(POOL)
    (ref,) = _pruned(pool(models=[model(name="other")]), gone)
    assert ref == Ref("Deployment", gone["metadata"]["name"], "Deployment-uid")


def test_an_object_that_only_carries_the_labels_is_taken_for_a_child() -> None:
    assert [ref.kind for ref in _pruned(POOL, live({"kind": "Service", "metadata": {"name": "stray"}}))] == [
        "Service"
    ]


# Of a pool that is gone.

CLASS, NODES = manifest(POOL, "StorageClass"), manifest(POOL, "ComputeClass")


def test_cluster_wide_children_go_and_data_stays() -> None:
    volume = manifest(pool(**by_hand()), "PersistentVolume")
    children = [live(CLASS), live(NODES), claim(POOL), deployment(POOL), live(volume)]
    assert orphans(observed(*children).children) == (
        Ref("ComputeClass", NODES["metadata"]["name"], "ComputeClass-uid"),
        Ref("StorageClass", CLASS["metadata"]["name"], "StorageClass-uid"),
    )


@table(
    "changes",
    {
        "is being deleted already": GOING,
        "was never applied by kvtier": {"metadata": {"annotations": None}},
    },
)
def test_no_orphan_is_what(changes: dict[str, Any]) -> None:
    assert orphans(observed(live(CLASS, **changes)).children) == ()
