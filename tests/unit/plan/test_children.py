"""What all children share."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kvtier.api import names
from kvtier.plan.children import labels, owner, signature, signed
from kvtier.plan.offline import manifests
from unit.builders import context, manifest, merged, model, pool
from unit.tables import table

KINDS = ["StorageClass", "PersistentVolumeClaim", "ComputeClass", "Deployment", "Service"]


@table("kind", {f"a {kind}": kind for kind in KINDS})
def test_every_child_leads_back_to_its_pool(kind: str) -> None:
    metadata = manifest(pool(), kind)["metadata"]
    assert (
        metadata["labels"]
        == labels("team-a", "chat")
        == {
            "app.kubernetes.io/managed-by": "kvtier",
            "kvtier.dev/pool": "chat",
            "kvtier.dev/pool-namespace": "team-a",
        }
    )
    assert metadata["annotations"]["kvtier.dev/pool"] == "team-a/chat"


def test_the_children_of_a_pool_with_a_long_name_lead_back_by_a_cut_label_and_the_full_name() -> None:
    long = pool(metadata={"name": "x." * 126 + "x"})
    for child in manifests(long):
        assert len(child["metadata"]["labels"]["kvtier.dev/pool"]) <= 63
        assert child["metadata"]["annotations"]["kvtier.dev/pool"] == f"team-a/{long.name}"
        assert len(child["metadata"]["name"]) <= 63


@given(st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", fullmatch=True))
def test_no_two_children_of_one_kind_have_one_name(name: str) -> None:
    of = pool(metadata={"name": name}, models=[model(), model(name="other")])
    keys = [(child["kind"], child["metadata"]["name"]) for child in manifests(of)]
    assert len(set(keys)) == len(keys) == 7


def test_pools_of_one_name_share_no_cluster_wide_child() -> None:
    mine, theirs = pool(), pool(metadata={"namespace": "team-b"})
    for kind in ("StorageClass", "ComputeClass"):
        assert manifest(mine, kind)["metadata"]["name"] != manifest(theirs, kind)["metadata"]["name"]


def test_model_and_pool_names_that_join_alike_have_two_deployments() -> None:
    one = context(pool(metadata={"name": "a"}, models=[model(name="b-c")]))
    other = context(pool(metadata={"name": "a-b"}, models=[model(name="c")]))
    assert one.models[0].name != other.models[0].name
    assert one.lustre.claim_name != other.lustre.claim_name


def test_an_owner_reference_names_the_pool_and_never_blocks_its_deletion() -> None:
    assert owner(pool()) == {
        "apiVersion": "kvtier.dev/v1alpha1",
        "kind": "KVCachePool",
        "name": "chat",
        "uid": "pool-uid",
        "controller": True,
        "blockOwnerDeletion": False,
    }


@table(
    "change, same",
    {
        "the same manifest has the same digest": ({}, True),
        "another order of keys is the same manifest": (None, True),
        "another value is another manifest": ({"spec": {"a": 2}}, False),
        "a removed field is another manifest": ({"spec": {"b": None}}, False),
        "another order of a list is another manifest": ({"spec": {"l": [2, 1]}}, False),
    },
)
def test_the_digest_of_what_is_applied(change: dict[str, Any] | None, same: bool) -> None:
    metadata: dict[str, Any] = {"name": "x", "annotations": {"note": "y"}}
    before = {"kind": "X", "metadata": metadata, "spec": {"a": 1, "b": {}, "l": [1, 2]}}
    shuffled = {"spec": {"l": [1, 2], "b": {}, "a": 1}, "metadata": metadata, "kind": "X"}
    after = shuffled if change is None else merged(before, change)
    assert (signature(signed(before)) == signature(signed(after))) is same
    assert set(signed(before)["metadata"]["annotations"]) == {"note", names.ANNOTATION_APPLIED}


def test_a_field_that_is_no_longer_wanted_changes_the_annotation() -> None:
    one, other = (manifest(pool(nodePool={"spot": spot}), "ComputeClass") for spot in (True, False))
    assert signature(one) != signature(other)
