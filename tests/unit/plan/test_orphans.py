"""What is swept after a pool that is gone."""

from kvtier.plan.model import Ref
from kvtier.plan.pruning import orphans
from unit.builders import claim, deployment, live, manifest, pool
from unit.instances import by_hand

POOL = pool()
CLASS, NODES = manifest(POOL, "StorageClass"), manifest(POOL, "ComputeClass")


def test_cluster_wide_children_go_and_data_stays() -> None:
    volume = manifest(pool(**by_hand()), "PersistentVolume")
    children = [live(CLASS), live(NODES), claim(POOL), deployment(POOL), live(volume)]
    found = orphans({(one["kind"], one["metadata"]["name"]): one for one in children})
    assert set(found) == {
        Ref("StorageClass", CLASS["metadata"]["name"], "StorageClass-uid"),
        Ref("ComputeClass", NODES["metadata"]["name"], "ComputeClass-uid"),
    }


def test_what_is_going_already_is_not_deleted_again() -> None:
    going = live(CLASS, metadata={"deletionTimestamp": "2026-11-29T12:00:00Z"})
    assert orphans({("StorageClass", "any"): going}) == ()


def test_what_kvtier_never_applied_is_not_deleted() -> None:
    handed_over = live(CLASS, metadata={"annotations": None})
    assert orphans({("StorageClass", "any"): handed_over}) == ()
