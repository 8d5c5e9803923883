"""The whole decision: a pool, a world and a time in, a plan out."""

import copy
from dataclasses import replace
from typing import Any

import pytest

from kvtier.api.v1alpha1 import KVCachePool, PoolStatus
from kvtier.facts.children import Children
from kvtier.facts.model import Event, Facts, Observed
from kvtier.plan.model import Plan, key
from kvtier.plan.offline import manifests
from kvtier.plan.plan import plan
from unit.builders import (
    NOW,
    claim,
    deleted,
    deployment,
    document,
    facts,
    job,
    joined,
    live,
    manifest,
    model,
    mounts_lustre,
    node,
    observed,
    pool,
    with_status,
)
from unit.tables import table

POOL = pool()
FULL = pool(tiers={"localSSD": {"capacity": "2000Gi"}})


def _world(of: KVCachePool, ready: int = 1) -> Observed:
    """A cluster in which everything of a pool is there."""
    storage = [live(manifest(of, "StorageClass")), claim(of), job(of)] if of.spec.tiers.lustre else []
    rest = [live(manifest(of, kind)) for kind in ("ComputeClass", "Service")]
    return observed(*storage, *rest, deployment(of, ready=ready), facts=facts(node(of)))


def _status(planned: Plan) -> PoolStatus:
    assert planned.status is not None
    return planned.status


def _kinds(planned: Plan) -> list[str]:
    return [one["kind"] for one in planned.applies]


def _conditions(planned: Plan) -> dict[str, tuple[str, str]]:
    return {one.type: (one.status, one.reason) for one in _status(planned).conditions}


WORLDS: dict[str, tuple[KVCachePool, Observed]] = {
    "a pool that is new": (FULL, observed()),
    "a pool that is complete": (FULL, _world(FULL)),
    "a pool whose prerequisites fail": (POOL, observed(facts=Facts())),
    "a pool that goes": (deleted(deletionPolicy="Delete"), _world(POOL)),
    "a pool with children to prune": (
        pool(tiers={"lustre": None}, models=[model(name="other")]),
        _world(POOL),
    ),
}


@table("of, world", WORLDS)
def test_the_same_input_has_the_same_answer_and_stays_as_it_was(of: KVCachePool, world: Observed) -> None:
    before = copy.deepcopy((of, world))
    first = plan(of, world, NOW)
    assert plan(*copy.deepcopy(before), NOW) == first
    assert (of, world) == before


@pytest.mark.parametrize("reverse", [False, True])
def test_the_order_in_which_children_were_seen_does_not_count(reverse: bool) -> None:
    world = _world(FULL)
    shuffled = replace(
        world,
        children=Children(dict(sorted(world.children.by_key.items(), reverse=reverse))),
    )
    assert plan(FULL, shuffled, NOW) == plan(FULL, world, NOW)


def test_a_new_pool_gets_storage_and_nodes_first_and_engines_later() -> None:
    first = plan(POOL, observed(), NOW)
    assert _kinds(first) == ["StorageClass", "PersistentVolumeClaim", "ComputeClass"]
    assert first.finalizer
    assert _status(first).phase == "Provisioning"


def test_a_complete_pool_wants_exactly_what_is_there() -> None:
    done = plan(FULL, _world(FULL), NOW)
    there = {child for child in _world(FULL).children.by_key if child[0] != "Job"}
    assert set(map(key, done.applies)) == there, "a Job that has ended is a record"
    assert done.deletes == ()
    assert (_status(done).phase, _status(done).models_ready) == ("Ready", "1/1")


def test_every_condition_of_a_complete_pool() -> None:
    assert _conditions(plan(FULL, _world(FULL), NOW)) == {
        "Ready": ("True", "AllReady"),
        "GKEVersionSupported": ("True", "Supported"),
        "LustreDriverEnabled": ("True", "Enabled"),
        "NodeImageSupported": ("True", "COS"),
        "ZoneMatched": ("True", "Matched"),
        "NetworkMatched": ("Unknown", "ClusterNotGiven"),
        "PortMatched": ("True", "Made"),
        "FilesystemUnique": ("True", "Unique"),
        "CapacityValid": ("True", "Valid"),
        "LocalSSDSupported": ("True", "Fits"),
        "CPUTierFits": ("True", "Fits"),
        "EngineSupported": ("True", "Supported"),
        "KVCacheDtypeSupported": ("True", "NotNeeded"),
        "ModelConfigValid": ("True", "Known"),
        "CredentialsPresent": ("True", "Present"),
        "StorageReady": ("True", "Bound"),
        "TierWritable": ("True", "Written"),
        "MaintenanceScheduled": ("Unknown", "InstanceUnknown"),
        "NodePoolReady": ("True", "NodesReady"),
        "ModelsReady": ("True", "AllReady"),
        "EvictionHealthy": ("Unknown", "NotManaged"),
    }


def test_tiers_stand_fastest_first_with_what_they_hold() -> None:
    of = pool(tiers={"localSSD": {"capacity": "2000Gi"}, "objectStorage": {"bucket": "blocks"}})
    tiers = _status(plan(of, _world(of), NOW)).tiers
    assert [(tier.name, tier.phase, tier.capacity, tier.tokens) for tier in tiers] == [
        ("cpu", "Configured", "100Gi", 819_200),
        ("localSSD", "Configured", "2000Gi", 16_384_000),
        ("lustre", "Bound", "18000Gi", 147_456_000),
        ("objectStorage", "Configured", None, None),
    ]


def test_a_pool_of_gpu_memory_alone_says_nothing_of_storage_and_eviction() -> None:
    bare = pool(tiers={"cpu": None, "lustre": None})
    assert not {"StorageReady", "EvictionHealthy"} & set(_conditions(plan(bare, _world(bare), NOW)))


@table(
    "models, ready, counted",
    {
        "a model with all its Pods counts": ([model()], 1, "1/1"),
        "a model that lacks one does not": ([model(replicas=2)], 1, "0/1"),
        "a model that is not there does not": ([model(), model(name="new")], 1, "1/2"),
        "a model that is not there does not count for wanting no Pods": (
            [model(), model(name="new", replicas=0)],
            1,
            "1/2",
        ),
    },
)
def test_models_ready(models: list[Any], ready: int, counted: str) -> None:
    assert _status(plan(pool(models=models), _world(POOL, ready), NOW)).models_ready == counted


def test_a_shrink_is_refused_while_replicas_go_on() -> None:
    before = pool(status={"tiers": [{"name": "lustre", "phase": "Bound", "capacity": "18000Gi"}]})
    spec = {"tiers": {"lustre": {"capacity": "9000Gi"}}, "models": [model(replicas=4)]}
    shrunk = pool(**joined(spec, {"status": before.status.model_dump(by_alias=True, exclude_none=True)}))
    done = plan(shrunk, _world(POOL), NOW)
    kinds = {one["kind"]: one for one in done.applies}
    assert kinds["Deployment"]["spec"]["replicas"] == 4
    assert "PersistentVolumeClaim" not in kinds
    assert _conditions(done)["Ready"] == ("False", "WouldShrink")


def test_a_removed_tier_under_delete_takes_its_instance_with_it() -> None:
    gone = pool(tiers={"lustre": None}, deletionPolicy="Delete")
    done = plan(gone, observed(claim(POOL), deployment(gone)), NOW)
    assert [ref.kind for ref in done.deletes] == ["PersistentVolumeClaim"]
    volumes = [one for one in done.applies if one["kind"] == "PersistentVolume"]
    assert [volume["spec"] for volume in volumes] == [{"persistentVolumeReclaimPolicy": "Delete"}]


def test_a_status_that_did_not_change_is_the_same_document() -> None:
    first = _status(plan(FULL, _world(FULL), "2026-11-29T10:00:00Z"))
    assert _status(plan(with_status(FULL, first), _world(FULL), NOW)) == first


def test_a_pool_with_the_least_spec_is_planned() -> None:
    least = {"nodePool": document()["spec"]["nodePool"], "models": [{"name": "m", "model": "x"}]}
    small = KVCachePool.model_validate({"metadata": {"name": "p"}, "spec": least})
    assert plan(small, observed(), NOW).status is not None
    assert manifests(small)


@table(
    "mode, jobs, kinds",
    {
        "a Required pool tries a bound tier out first": (
            "Required",
            [],
            ["StorageClass", "PersistentVolumeClaim", "Job", "ComputeClass"],
        ),
        "and starts engines when it is proven": (
            "Required",
            [job(POOL)],
            ["StorageClass", "PersistentVolumeClaim", "ComputeClass", "Deployment", "Service"],
        ),
        "an Opportunistic one starts them meanwhile": (
            "Opportunistic",
            [],
            ["StorageClass", "PersistentVolumeClaim", "Job", "ComputeClass", "Deployment", "Service"],
        ),
    },
)
def test_the_shared_tier_is_proven_before_engines_mount_it(
    mode: str, jobs: list[Any], kinds: list[str]
) -> None:
    world = observed(live(manifest(POOL, "StorageClass")), claim(POOL), *jobs)
    done = plan(pool(mode=mode), world, NOW)
    assert _kinds(done) == kinds
    mounts = [mounts_lustre(one) for one in done.applies if one["kind"] == "Deployment"]
    assert mounts in ([], [bool(jobs)])


@table(
    "mode, ready, phase",
    {
        "blocks a Required pool": ("Required", ("False", "ProbeFailed"), "Blocked"),
        "is what an Opportunistic one serves without": (
            "Opportunistic",
            ("True", "WithoutSharedTier"),
            "Ready",
        ),
    },
)
def test_a_tier_that_cannot_be_written_to(mode: str, ready: tuple[str, str], phase: str) -> None:
    storage = [live(manifest(POOL, "StorageClass")), claim(POOL), job(POOL, "Failed")]
    engines = [deployment(POOL), live(manifest(POOL, "Service"))] if mode == "Opportunistic" else []
    done = plan(pool(mode=mode), observed(*storage, *engines, live(manifest(POOL, "ComputeClass"))), NOW)
    assert _status(done).phase == phase
    assert _conditions(done)["Ready"] == ready


def test_the_engines_that_ask_for_nodes_stay_while_there_are_none() -> None:
    event = Event("Pod", "any", "FailedScaleUp", "ZONE_RESOURCE_POOL_EXHAUSTED")
    done = plan(FULL, replace(_world(FULL, ready=0), pod_events=(event,)), NOW)
    assert "Deployment" in _kinds(done)
    assert done.deletes == ()
    assert (_status(done).phase, _conditions(done)["Ready"]) == ("Blocked", ("False", "CapacityUnavailable"))
