"""Children that are no longer needed."""

from typing import Any

from kvtier.api.kinds import Object
from kvtier.api.names import PoolKey
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
KEY = PoolKey(POOL.namespace, POOL.name)
NO_LUSTRE = {"tiers": {"lustre": None}}
GOING: dict[str, Any] = {"metadata": {"deletionTimestamp": NOW}}


def _pruned(of: KVCachePool, *children: Object) -> tuple[Ref, ...]:
    return plan(of, observed(*children), NOW).deletes


@table(
    "changes, kinds",
    {
        "an unchanged spec: nothing": ({}, []),
        "a removed model: its Deployment and Service": (
            {"models": [model(name="other")]},
            ["Deployment", "Service"],
        ),
        "existing nodes: the ComputeClass": (
            {"nodePool": {"provisioner": "Existing"}},
            ["ComputeClass"],
        ),
        "a removed tier: the StorageClass, not the data": (NO_LUSTRE, ["StorageClass"]),
        "another throughput: the old StorageClass": (
            {"tiers": {"lustre": {"throughputPerTiB": 500}}},
            ["StorageClass"],
        ),
        "another capacity: nothing": ({"tiers": {"lustre": {"capacity": "27000Gi"}}}, []),
    },
)
def test_children_that_are_pruned_after(changes: dict[str, Any], kinds: list[str]) -> None:
    children = [live(one) for one in manifests(POOL)]
    assert [ref.kind for ref in _pruned(pool(**changes), *children)] == kinds


def test_needed_children_are_kept_even_if_none_can_be_applied() -> None:
    children = [live(one) for one in manifests(POOL)]
    done = plan(POOL, observed(*children, facts=Facts(cluster=Cluster(compute_class_served=False))), NOW)
    assert (done.applies, done.deletes) == ((), ())


VOLUME = live({"kind": "PersistentVolume", "metadata": {"name": "volume"}})


@table(
    "children",
    {
        "data, which depends on deletionPolicy": [claim(POOL), VOLUME],
        "Jobs, which the write probe deletes": [job(POOL)],
        "an object that is already being deleted": [live(manifest(POOL, "StorageClass"), **GOING)],
    },
)
def test_is_not_pruned(children: list[Object]) -> None:
    assert unwanted(POOL, observed(*children).children, Part()) == ()


def test_pruned_children_are_deleted_by_uid() -> None:
    gone = deployment(POOL)
    (ref,) = _pruned(pool(models=[model(name="other")]), gone)
    assert ref == Ref("Deployment", gone["metadata"]["name"], "Deployment-uid")


def test_an_object_with_only_the_labels_counts_as_a_child() -> None:
    assert [ref.kind for ref in _pruned(POOL, live({"kind": "Service", "metadata": {"name": "stray"}}))] == [
        "Service"
    ]


# Of a pool that was deleted.

CLASS, NODES = manifest(POOL, "StorageClass"), manifest(POOL, "ComputeClass")


def test_cluster_wide_children_are_deleted_and_data_is_kept() -> None:
    volume = manifest(pool(**by_hand()), "PersistentVolume")
    children = [live(CLASS), live(NODES), claim(POOL), deployment(POOL), live(volume)]
    assert orphans(observed(*children).children, KEY) == (
        Ref("ComputeClass", NODES["metadata"]["name"], "ComputeClass-uid"),
        Ref("StorageClass", CLASS["metadata"]["name"], "StorageClass-uid"),
    )


@table(
    "changes",
    {
        "is already being deleted": GOING,
        "was never applied by kvtier": {"metadata": {"annotations": None}},
    },
)
def test_no_orphan_is_what(changes: dict[str, Any]) -> None:
    assert orphans(observed(live(CLASS, **changes)).children, KEY) == ()
