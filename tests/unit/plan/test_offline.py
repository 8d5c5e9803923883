"""Manifests without a cluster."""

from typing import Any

from kvtier.plan.children import claim_name
from kvtier.plan.lustre.shared_tier import SharedTier
from kvtier.plan.offline import manifests
from kvtier.plan.serving import plan_serving
from unit.builders import checks, observed, pool
from unit.tables import table


@table(
    "changes, kinds",
    {
        "everything that a pool comes to": (
            {},
            ["StorageClass", "PersistentVolumeClaim", "ComputeClass", "Deployment", "Service"],
        ),
        "no storage without Lustre": ({"tiers": {"lustre": None}}, ["ComputeClass", "Deployment", "Service"]),
        "no class for existing nodes": (
            {"tiers": {"lustre": None}, "nodePool": {"provisioner": "Existing"}},
            ["Deployment", "Service"],
        ),
    },
)
def test_kinds(changes: dict[str, Any], kinds: list[str]) -> None:
    assert [one["kind"] for one in manifests(pool(**changes))] == kinds


def test_what_is_printed_is_what_the_operator_writes_but_for_the_owner() -> None:
    of = pool()
    part = plan_serving(of, observed(), checks(), SharedTier(claim_name(of)), nodes_usable=True)
    for written, printed in zip(part.applies, manifests(of)[-2:], strict=True):
        assert written["metadata"].pop("ownerReferences")
        assert printed == written


def test_a_pool_that_does_not_exist_yet_has_no_uid_to_be_owned_by() -> None:
    assert "ownerReferences" not in repr(manifests(pool(metadata={"uid": None})))
