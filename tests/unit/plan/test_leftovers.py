"""Children that the spec no longer asks for."""

from typing import Any

from kvtier.api.kinds import Object
from kvtier.plan.offline import manifests
from kvtier.plan.pruning import leftovers
from unit.builders import claim, deployment, job, live, manifest, model, observed, pool
from unit.tables import table

TWO = pool(models=[model(), model(name="old")])
ONE = pool()
GOING: dict[str, Any] = {"metadata": {"deletionTimestamp": "2026-11-29T12:00:00Z"}}


def _all(of: Any) -> list[Object]:
    return [live(one) for one in manifests(of)]


def _kinds(of: Any, *children: Object) -> list[str]:
    return sorted(ref.kind for ref in leftovers(of, observed(*children)))


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
        "a removed tier leaves the class over, and keeps the data": (
            {"tiers": {"lustre": None}},
            ["StorageClass"],
        ),
        "another throughput leaves the old class over": (
            {"tiers": {"lustre": {"throughputPerTiB": 500}}},
            ["StorageClass"],
        ),
        "another capacity leaves nothing over": ({"tiers": {"lustre": {"capacity": "27000Gi"}}}, []),
    },
)
def test_leftovers(changes: dict[str, Any], kinds: list[str]) -> None:
    assert _kinds(pool(**changes), *_all(ONE)) == kinds


def test_jobs_are_seen_to_where_they_are_made() -> None:
    assert _kinds(pool(tiers={"lustre": None}), job(ONE)) == []


def test_what_goes_is_named_by_its_uid() -> None:
    gone = deployment(TWO)
    (ref,) = leftovers(pool(models=[model(name="other")]), observed(gone))
    assert (ref.kind, ref.name, ref.uid) == ("Deployment", gone["metadata"]["name"], "Deployment-uid")


NO_LUSTRE = {"tiers": {"lustre": None}}
DATA = [claim(ONE), live({"kind": "PersistentVolume", "metadata": {"name": "volume"}})]


@table("policy", {"under Retain": "Retain", "under Delete": "Delete"})
@table("changes", {"of a tier that is there": {}, "of a tier that was removed": NO_LUSTRE})
def test_data_is_seen_to_elsewhere(policy: str, changes: dict[str, Any]) -> None:
    assert _kinds(pool(deletionPolicy=policy, **changes), *DATA) == []


def test_what_is_going_already_is_not_deleted_again() -> None:
    going = [live(manifest(ONE, "StorageClass"), **GOING), claim(ONE, **GOING)]
    assert _kinds(pool(deletionPolicy="Delete", **NO_LUSTRE), *going) == []


def test_an_object_that_only_carries_the_labels_is_taken_for_a_child() -> None:
    stray = live({"kind": "Service", "metadata": {"name": "stray"}})
    assert _kinds(ONE, stray) == ["Service"]
