"""Children that the spec no longer asks for."""

from typing import Any

from kvtier.facts.model import Object
from kvtier.plan.leftovers import leftovers
from kvtier.plan.offline import manifests
from unit.builders import claim, deployment, live, manifest, model, observed, pool
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


def test_what_goes_is_named_by_its_uid() -> None:
    gone = deployment(TWO)
    (ref,) = leftovers(pool(models=[model(name="other")]), observed(gone))
    assert (ref.kind, ref.name, ref.uid) == ("Deployment", gone["metadata"]["name"], "Deployment-uid")


NO_LUSTRE = {"tiers": {"lustre": None}}
MOUNTING, FREE = deployment(ONE), deployment(pool(**NO_LUSTRE))


@table(
    "policy, engine, kinds",
    {
        "Retain keeps the claim of a removed tier": ("Retain", FREE, []),
        "Delete deletes it once no engine mounts it": ("Delete", FREE, ["PersistentVolumeClaim"]),
        "Delete waits while an engine mounts it": ("Delete", MOUNTING, []),
    },
)
def test_the_claim_of_a_removed_tier(policy: str, engine: Object, kinds: list[str]) -> None:
    assert _kinds(pool(deletionPolicy=policy, **NO_LUSTRE), claim(ONE), engine) == kinds


def test_a_claim_that_the_spec_asks_for_is_never_deleted() -> None:
    assert _kinds(pool(deletionPolicy="Delete"), claim(ONE)) == []


def test_a_removed_model_that_mounts_the_claim_goes_before_it() -> None:
    of = pool(deletionPolicy="Delete", models=[model(name="other")], **NO_LUSTRE)
    assert _kinds(of, claim(ONE), MOUNTING) == ["Deployment"]
    assert _kinds(of, claim(ONE)) == ["PersistentVolumeClaim"]


def test_what_is_going_already_is_not_deleted_again() -> None:
    going = [live(manifest(ONE, "StorageClass"), **GOING), claim(ONE, **GOING)]
    assert _kinds(pool(deletionPolicy="Delete", **NO_LUSTRE), *going) == []


def test_an_object_that_only_carries_the_labels_is_taken_for_a_child() -> None:
    stray = live({"kind": "Service", "metadata": {"name": "stray"}})
    assert _kinds(ONE, stray) == ["Service"]
