"""Manifests without a cluster, as `kvtier render` prints them."""

from typing import Any

from kvtier.plan.lustre.shared_tier import Access
from kvtier.plan.offline import manifests, rendered
from kvtier.plan.serving import plan_serving
from unit import instances
from unit.builders import checks, context, model, pool
from unit.tables import table

SERVED = ["ComputeClass", "Deployment", "Service"]
NO_LUSTRE: dict[str, Any] = {"tiers": {"lustre": None}}


@table(
    "changes, kinds, left_out",
    {
        "all of what the CSI driver makes": ({}, ["StorageClass", "PersistentVolumeClaim", *SERVED], []),
        "nothing of a tier that is not there": (NO_LUSTRE, SERVED, []),
        "no class for existing nodes": (
            {**NO_LUSTRE, "nodePool": {"provisioner": "Existing"}},
            ["Deployment", "Service"],
            [],
        ),
        "all of an existing instance that is given by hand": (
            instances.by_hand(),
            ["PersistentVolume", "PersistentVolumeClaim", *SERVED],
            [],
        ),
        "no volume of an instance that is yet to be made": (
            instances.api(),
            ["PersistentVolumeClaim", *SERVED],
            ["kvtier asks the Lustre API for instance", "the instance's address is known once it is made"],
        ),
        "nothing of an existing instance that only the API knows": (
            instances.existing(),
            SERVED,
            [f"{instances.NAME} are read through the Lustre API, unless"],
        ),
    },
)
def test_rendered(changes: dict[str, Any], kinds: list[str], left_out: list[str]) -> None:
    found = rendered(pool(**changes))
    assert [one["kind"] for one in found.manifests] == kinds
    assert [part in sentence for part, sentence in zip(left_out, found.left_out, strict=True)] == [
        True
    ] * len(left_out)


@table(
    "changes",
    {
        "made by kvtier": instances.api(),
        "of the Dynamic tier": instances.dynamic(),
        "existing": instances.existing(),
        "given by hand": instances.by_hand(),
    },
)
def test_nothing_is_made_up_of_an_instance(changes: dict[str, Any]) -> None:
    text = repr(rendered(pool(**changes)).manifests)
    assert "ADDRESS" not in text
    assert "FILESYSTEM" not in text


def test_engines_mount_the_claim_whether_it_is_rendered_or_not() -> None:
    found = rendered(pool(**instances.existing())).manifests
    (deployment,) = [one for one in found if one["kind"] == "Deployment"]
    assert "persistentVolumeClaim" in repr(deployment)


@table(
    "changes, sentences",
    {
        "a ConfigMap that only the cluster has": (
            {"modelConfigFrom": {"configMapKeyRef": {"name": "configs"}}},
            1,
        ),
        "not where the number is given": (
            {"modelConfigFrom": {"configMapKeyRef": {"name": "configs"}}, "blocksPerChunk": 32},
            0,
        ),
        "not of a document at hand": ({"modelConfigFrom": {"inline": "{}"}}, 0),
    },
)
def test_a_document_that_is_not_read_is_named(changes: dict[str, Any], sentences: int) -> None:
    found = rendered(pool(models=[model(**changes)])).left_out
    assert ["its ConfigMap is not read here" in sentence for sentence in found] == [True] * sentences


def test_what_is_rendered_is_what_the_operator_writes_but_for_the_owner() -> None:
    look = context(pool())
    access = Access(look.lustre.claim_name)
    written = plan_serving(look, checks(), access, nodes_usable=True).applies
    assert len(written) == 2
    for one, offline in zip(written, manifests(pool())[-2:], strict=True):
        assert one["metadata"].pop("ownerReferences")
        assert offline == one


def test_a_pool_that_does_not_exist_yet_has_no_uid_to_be_owned_by() -> None:
    assert "ownerReferences" not in repr(manifests(pool(metadata={"uid": None})))
