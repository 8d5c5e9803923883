"""What others write into a namespace, such as a PVC with kvtier's labels, gives a pool no power over their storage."""

from dataclasses import replace
from typing import Any

import pytest

from kvtier.api import identity
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.identity import instance_name
from kvtier.facts.volumes import Volume, Volumes
from kvtier.plan.lustre.delete import delete_tier
from kvtier.plan.lustre.final_export import plan_final_export
from kvtier.plan.model import Plan
from kvtier.plan.plan import plan
from unit.builders import (
    NOW,
    claim,
    context,
    deleted,
    driver_volume,
    facts,
    live,
    manifest,
    merged,
    observed,
    pool,
)
from unit.instances import CLUSTER
from unit.tables import table

DELETE, RETAIN = deleted(deletionPolicy="Delete"), deleted()
BOUND = claim(pool())
CLASS = BOUND["spec"]["storageClassName"]
NAME = BOUND["metadata"]["name"]


def _claim(**spec: Any) -> Any:
    """The PVC of the pool's name, with kvtier's labels, as somebody wrote it."""
    return live(BOUND, spec=spec)


def _volume(**changes: Any) -> Volume:
    """A PersistentVolume of the driver that is bound to the PVC, with `changes`."""
    fields: dict[str, Any] = {
        "name": "pv-1",
        "uid": "volume-uid",
        "handle": "p/z/theirs",
        "storage_class": CLASS,
        "phase": "Bound",
        "reclaim": "Retain",
        "claim": ("team-a", NAME),
        "claim_uid": BOUND["metadata"]["uid"],
        "provisioned": True,
    }
    return Volume(**{**fields, **changes})


def _plan(
    of: KVCachePool, *children: Any, volumes: tuple[Volume, ...] = (), others: tuple[str, ...] = ()
) -> Plan:
    known = Volumes({one.name: one for one in volumes}, frozenset(others))
    return plan(of, observed(*children, facts=replace(facts(), volumes=known)), NOW)


def _effects(planned: Plan) -> tuple[list[str], list[str]]:
    return [one["kind"] for one in planned.applies], [one.kind for one in planned.deletes]


@table(
    "of, written",
    {
        "a PersistentVolume of another driver": (DELETE, "nfs"),
        "a PersistentVolume of another driver, with Retain": (RETAIN, "nfs"),
        "a StorageClass of somebody else": (DELETE, "premium"),
        "the StorageClass of a pool with a similar name": (DELETE, f"{CLASS}x"),
        "no StorageClass": (DELETE, ""),
    },
)
def test_a_pvc_that_kvtier_did_not_create_is_kept_with_its_volume(of: KVCachePool, written: str) -> None:
    volumes = (_volume(storage_class=written),) if written != "nfs" else ()
    done = _plan(of, _claim(storageClassName=written), volumes=volumes, others=("pv-1",))
    assert _effects(done) == ([], [])
    assert not done.finalizer
    kept = [event for event in done.events if event.reason == "DataKept"]
    if of is DELETE:
        (event,) = kept
        assert f"for this pool: PVC {NAME}" in event.message
        assert ("PersistentVolume pv-1" in event.message) is bool(volumes)


def test_a_pvc_of_another_name_is_kept() -> None:
    other = live(BOUND, metadata={"name": "archive"})
    assert _effects(_plan(DELETE, other, volumes=(_volume(claim=("team-a", "archive")),))) == ([], [])


@table(
    "changes",
    {
        "that the driver did not create": {"provisioned": False},
        "of another StorageClass": {"storage_class": "premium"},
        "of another PVC": {"claim": ("team-b", NAME)},
        "of an earlier PVC of this name": {"claim_uid": "gone"},
    },
)
def test_the_pvc_of_the_pool_is_deleted_without_a_change_of_a_volume(changes: dict[str, Any]) -> None:
    done = _plan(DELETE, BOUND, volumes=(_volume(**changes),))
    assert _effects(done) == ([], ["PersistentVolumeClaim"])


def test_the_deletion_waits_until_the_volume_of_the_pvc_was_read() -> None:
    done = _plan(DELETE, BOUND)
    assert _effects(done) == ([], [])
    assert done.status is not None
    assert done.status.conditions[0].message == (
        f"kvtier waits until it has read PersistentVolume pv-1 of PVC {NAME}."
    )


def test_a_removed_tier_leaves_a_pvc_that_kvtier_did_not_create() -> None:
    of = pool(tiers={"lustre": None}, deletionPolicy="Delete")
    done = _plan(of, _claim(storageClassName="premium"), volumes=(_volume(storage_class="premium"),))
    assert "PersistentVolumeClaim" not in _effects(done)[1]
    assert "PersistentVolume" not in _effects(done)[0]


@table(
    "volume, known",
    {
        "of its own PVC": (_volume(), True),
        "reserved for a PVC of its name": (_volume(claim_uid="", phase="Available"), True),
        "of another tenant": (_volume(claim=("team-b", NAME)), False),
        "of an earlier PVC": (_volume(claim_uid="gone"), False),
        "that nobody uses": (_volume(claim=None, claim_uid=""), False),
    },
)
def test_a_pvc_names_the_instance_only_of_a_volume_that_is_reserved_for_it(
    volume: Volume, known: bool
) -> None:
    of, children = pool(), observed(_claim(volumeName="pv-1")).children
    found = instance_name(of, children, Volumes({"pv-1": volume}))
    assert (found == "projects/p/locations/z/instances/theirs") is known


@table(
    "recorded, known",
    {
        "of the driver": ("pvc-1", True),
        "of the pool itself": (identity.instance_id(pool()), True),
        "of others": ("theirs", False),
    },
)
def test_the_status_of_a_removed_tier_names_only_instances_of_kvtier_and_the_driver(
    recorded: str, known: bool
) -> None:
    name = f"projects/p/locations/z/instances/{recorded}"
    status = {"tiers": [{"name": "lustre", "phase": "Retained", "instance": name}]}
    of = pool(tiers={"lustre": None}, status=status)
    assert instance_name(of, observed().children, Volumes()) == (name if known else None)


EXPORTS: dict[str, Any] = {
    "cluster": CLUSTER,
    "tiers": {"cloudStorage": {"uri": "gs://mine/", "exportBeforeDeletion": True}},
    "status": {
        "tiers": [
            {"name": "lustre", "phase": "Bound", "instance": "projects/p/locations/z/instances/theirs"},
            {"name": "cloudStorage", "phase": "Configured"},
        ]
    },
}


@table(
    "children, volume, exported",
    {
        "its own": ([BOUND], _volume(), True),
        "of another StorageClass": (
            [_claim(storageClassName="premium")],
            _volume(storage_class="premium"),
            False,
        ),
        "of another tenant": ([_claim(volumeName="pv-1")], _volume(claim=("team-b", NAME)), False),
        "that the status names": ([], _volume(claim=("team-b", NAME)), False),
    },
)
def test_only_data_that_is_deleted_with_the_pool_is_exported(
    children: list[Any], volume: Volume, exported: bool
) -> None:
    world = replace(facts(), volumes=Volumes({"pv-1": volume}))
    export = plan_final_export(context(deleted(deletionPolicy="Delete", **EXPORTS), *children, facts=world))
    assert bool(export.part.calls) is exported


@pytest.mark.parametrize(("namespace", "name"), [("team-a", "chat"), ("n" * 63, "c" * 40), ("0-team", "a.b")])
def test_the_storage_classes_of_a_pool_are_recognized(namespace: str, name: str) -> None:
    of = pool(metadata={"name": name, "namespace": namespace})
    for throughput in (500, 1000):
        lustre = of.spec.tiers.lustre
        assert lustre is not None
        made = identity.storage_class_name(of, lustre.model_copy(update={"throughput_per_tib": throughput}))
        assert identity.is_storage_class(made, namespace, name)
        assert not identity.is_storage_class(made, namespace, f"{name}x")
        assert not identity.is_storage_class(f"{made[:-1]}!", namespace, name)


@pytest.mark.parametrize("kind", ["StorageClass", "ComputeClass"])
@pytest.mark.parametrize("of", [pool(), DELETE])
def test_a_copy_of_a_cluster_wide_object_is_kept(kind: str, of: KVCachePool) -> None:
    copied = merged(live(manifest(pool(), kind)), {"metadata": {"name": "by-an-administrator"}})
    assert "by-an-administrator" not in [ref.name for ref in plan(of, observed(copied), NOW).deletes]


def test_a_step_of_the_driver_is_taken_for_the_own_volume() -> None:
    """The tests above show nothing unless the same objects, as kvtier and the driver create them, are deleted."""
    step = delete_tier(context(DELETE, BOUND))
    (switch,) = step.part.applies
    assert switch["metadata"]["name"] == driver_volume(BOUND)["metadata"]["name"]
    assert [ref.name for ref in step.part.deletes] == [NAME]
