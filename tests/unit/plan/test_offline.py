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
        "all objects for the CSI driver": ({}, ["StorageClass", "PersistentVolumeClaim", *SERVED], []),
        "no storage without a Lustre tier": (NO_LUSTRE, SERVED, []),
        "no class for existing nodes": (
            {**NO_LUSTRE, "nodePool": {"provisioner": "Existing"}},
            ["Deployment", "Service"],
            [],
        ),
        "all objects of an existing instance with all fields in the spec": (
            instances.by_hand(),
            ["PersistentVolume", "PersistentVolumeClaim", *SERVED],
            [],
        ),
        "no PersistentVolume of an instance that kvtier creates": (
            instances.api(),
            ["PersistentVolumeClaim", *SERVED],
            [
                "through the Lustre API, without a manifest.",
                "the instance has no address until it is created.",
            ],
        ),
        "no storage of an existing instance without fields in the spec": (
            instances.existing(),
            SERVED,
            [f"{instances.NAME} from the Lustre API, unless"],
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
        "created by kvtier": instances.api(),
        "of the Dynamic tier": instances.dynamic(),
        "existing": instances.existing(),
        "existing, with all fields in the spec": instances.by_hand(),
    },
)
def test_no_placeholder_of_an_instance_is_rendered(changes: dict[str, Any]) -> None:
    text = repr(rendered(pool(**changes)).manifests)
    assert "ADDRESS" not in text
    assert "FILESYSTEM" not in text


def test_engines_mount_the_pvc_whether_it_is_rendered_or_not() -> None:
    found = rendered(pool(**instances.existing())).manifests
    (deployment,) = [one for one in found if one["kind"] == "Deployment"]
    assert "persistentVolumeClaim" in repr(deployment)


@table(
    "changes, sentences",
    {
        "a ConfigMap in the cluster": (
            {"modelConfigFrom": {"configMapKeyRef": {"name": "configs"}}},
            1,
        ),
        "not with blocksPerChunk in the spec": (
            {"modelConfigFrom": {"configMapKeyRef": {"name": "configs"}}, "blocksPerChunk": 32},
            0,
        ),
        "not for an inline document": ({"modelConfigFrom": {"inline": "{}"}}, 0),
    },
)
def test_a_config_map_that_is_not_read_is_named(changes: dict[str, Any], sentences: int) -> None:
    found = rendered(pool(models=[model(**changes)])).left_out
    assert ["The ConfigMap of model llama is not read here." in sentence for sentence in found] == [
        True
    ] * sentences


UNTESTED = {"models": [model(engine={"version": "0.34"})]}
ACCEPTED = {"acknowledgedConditions": [{"type": "EngineSupported", "reason": "Untested"}]}


@table(
    "changes, words",
    {
        "a version that kvtier does not know": (
            UNTESTED,
            "EngineSupported is False: Model llama uses vLLM 0.34",
        ),
        "a type that the GPU does not support": (
            {"models": [model(kvCacheDtype="fp8_inc")]},
            "KVCacheDtypeSupported is False: Model llama cannot be served",
        ),
    },
)
def test_engines_that_the_operator_would_not_create_are_named(changes: dict[str, Any], words: str) -> None:
    (sentence,) = rendered(pool(**changes)).left_out
    assert sentence.startswith(f"kvtier does not create these engines while {words}")


def test_engines_for_which_the_user_vouches_are_rendered_like_others() -> None:
    assert rendered(pool(**UNTESTED, **ACCEPTED)).left_out == ()


def test_rendered_manifests_equal_those_of_the_operator_except_for_the_owner() -> None:
    look = context(pool())
    access = Access(look.lustre.claim_name)
    written = plan_serving(look, checks(), access, nodes_usable=True).applies
    assert len(written) == 2
    for one, offline in zip(written, manifests(pool())[-2:], strict=True):
        assert one["metadata"].pop("ownerReferences")
        assert offline == one


def test_a_pool_without_a_uid_has_no_owner_references() -> None:
    assert "ownerReferences" not in repr(manifests(pool(metadata={"uid": None})))
