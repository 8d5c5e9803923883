"""The whole planner: pool, observed state and time in, plan out."""

import copy
from dataclasses import replace
from typing import Any

import pytest

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.children import Children
from kvtier.facts.model import Event, Facts, Observed
from kvtier.plan.model import Plan, key
from kvtier.plan.offline import manifests
from kvtier.plan.plan import plan
from unit.builders import NOW, deleted, document, model, mounts_lustre, observed, pool
from unit.simulation import Simulation, in_use
from unit.tables import table

POOL = pool()
FULL = pool(tiers={"localSSD": {"capacity": "2000Gi"}})
LATER = "2026-11-30T12:00:00Z"


def _kinds(planned: Plan) -> list[str]:
    return [one["kind"] for one in planned.applies]


def _mounts(planned: Plan) -> list[bool]:
    return [mounts_lustre(one) for one in planned.applies if one["kind"] == "Deployment"]


def _conditions(of: KVCachePool) -> dict[str, tuple[str, str]]:
    return {one.type: (one.status, one.reason) for one in of.status.conditions}


OTHER = pool(tiers={"lustre": None}, models=[model(name="other")])
WORLDS: dict[str, tuple[KVCachePool, Observed]] = {
    "a new pool": (FULL, observed()),
    "a complete pool": (FULL, in_use(FULL).observed()),
    "a pool whose prerequisites fail": (POOL, observed(facts=Facts())),
    "a deleted pool": (deleted(deletionPolicy="Delete"), in_use(POOL).observed()),
    "a pool with children to prune": (OTHER, in_use(POOL).observed()),
}


@table("of, world", WORLDS)
def test_the_same_input_gives_the_same_plan_and_does_not_change(of: KVCachePool, world: Observed) -> None:
    before = copy.deepcopy((of, world))
    first = plan(of, world, NOW)
    assert plan(*copy.deepcopy(before), NOW) == first
    assert (of, world) == before


@pytest.mark.parametrize("reverse", [False, True])
def test_the_order_of_children_does_not_matter(reverse: bool) -> None:
    world = in_use(FULL).observed()
    shuffled = Children(dict(sorted(world.children.by_key.items(), reverse=reverse)))
    assert plan(FULL, replace(world, children=shuffled), NOW) == plan(FULL, world, NOW)


def test_a_new_pool_gets_storage_and_nodes_first_and_engines_later() -> None:
    new = Simulation()
    first = new.at()
    assert _kinds(first) == ["StorageClass", "PersistentVolumeClaim", "ComputeClass"]
    assert first.finalizer
    assert new.pool.status.phase == "Provisioning"


def test_the_plan_of_a_complete_pool_is_what_exists() -> None:
    complete = in_use(FULL)
    done = complete.at()
    there = {child for child in complete.objects if child[0] != "Job"}
    assert set(map(key, done.applies)) == there, "a Job that has ended is a record"
    assert done.deletes == ()
    assert (complete.pool.status.phase, complete.pool.status.models_ready) == ("Ready", "1/1")


def test_every_condition_of_a_complete_pool() -> None:
    assert _conditions(in_use(FULL).pool) == {
        "Ready": ("True", "AllReady"),
        "AccessGranted": ("True", "Granted"),
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


def test_tiers_are_listed_fastest_first_with_their_tokens() -> None:
    of = pool(tiers={"localSSD": {"capacity": "2000Gi"}, "objectStorage": {"bucket": "blocks"}})
    tiers = in_use(of).pool.status.tiers
    assert [(tier.name, tier.phase, tier.capacity, tier.tokens) for tier in tiers] == [
        ("cpu", "Configured", "100Gi", 819_200),
        ("localSSD", "Configured", "2000Gi", 16_384_000),
        ("lustre", "Bound", "18000Gi", 147_456_000),
        ("objectStorage", "Configured", None, None),
    ]


def test_a_pool_without_tiers_has_no_conditions_about_storage_and_eviction() -> None:
    bare = in_use(pool(tiers={"cpu": None, "lustre": None}))
    assert not {"StorageReady", "EvictionHealthy"} & set(_conditions(bare.pool))


@table(
    "models, counted",
    {
        "a model with all its Pods counts": ([model()], "1/1"),
        "a model that lacks a Pod does not": ([model(replicas=2)], "0/1"),
        "a model without a Deployment does not": ([model(), model(name="new")], "1/2"),
        "also with zero replicas": ([model(), model(name="new", replicas=0)], "1/2"),
    },
)
def test_models_ready(models: list[Any], counted: str) -> None:
    simulation = in_use(POOL)
    simulation.edit(models=models)
    simulation.at()
    assert simulation.pool.status.models_ready == counted


def test_a_smaller_capacity_is_refused_while_replicas_are_updated() -> None:
    simulation = in_use(POOL)
    simulation.edit(tiers={"lustre": {"capacity": "9000Gi"}}, models=[model(replicas=4)])
    kinds = {one["kind"]: one for one in simulation.at().applies}
    assert kinds["Deployment"]["spec"]["replicas"] == 4
    assert "PersistentVolumeClaim" not in kinds
    assert simulation.verdict("Ready") == ("False", "WouldShrink")


def test_with_delete_a_removed_tier_is_deleted_with_its_instance() -> None:
    simulation = in_use(pool(deletionPolicy="Delete"))
    simulation.edit(tiers={"lustre": None})
    assert [ref.kind for ref in simulation.at().deletes] == ["StorageClass", "Job"], (
        "engines still mount the tier"
    )
    done = simulation.at()
    assert [ref.kind for ref in done.deletes] == ["PersistentVolumeClaim"]
    volumes = [one for one in done.applies if one["kind"] == "PersistentVolume"]
    assert [volume["spec"] for volume in volumes] == [{"persistentVolumeReclaimPolicy": "Delete"}]


def test_an_unchanged_status_is_the_same_document() -> None:
    simulation = in_use(FULL)
    before = simulation.pool.status
    assert simulation.at(LATER).status == before


def test_a_pool_with_the_smallest_spec_has_a_plan() -> None:
    least = {"nodePool": document()["spec"]["nodePool"], "models": [{"name": "m", "model": "x"}]}
    small = KVCachePool.model_validate({"metadata": {"name": "p"}, "spec": least})
    assert plan(small, observed(), NOW).status is not None
    assert manifests(small)


BASE, ENGINES = ["StorageClass", "PersistentVolumeClaim", "ComputeClass"], ["Deployment", "Service"]


@pytest.mark.parametrize("mode", ["Required", "Opportunistic"])
def test_the_write_probe_succeeds_before_engines_mount_the_tier(mode: str) -> None:
    simulation = Simulation(pool(mode=mode))
    simulation.at()
    simulation.bind()
    unproven = simulation.at()
    early = ENGINES if mode == "Opportunistic" else []
    assert sorted(_kinds(unproven)) == sorted([*BASE, "Job", *early])
    assert _mounts(unproven) == ([False] if early else [])
    simulation.end_job()
    proven = simulation.at()
    assert (_kinds(proven), _mounts(proven)) == ([*BASE, *ENGINES], [True])


@table(
    "mode, ready, phase",
    {
        "blocks a Required pool": ("Required", ("False", "ProbeFailed"), "Blocked"),
        "does not block an Opportunistic pool": (
            "Opportunistic",
            ("True", "WithoutSharedTier"),
            "Ready",
        ),
    },
)
def test_a_tier_that_engines_cannot_write_to(mode: str, ready: tuple[str, str], phase: str) -> None:
    simulation = Simulation(pool(mode=mode))
    simulation.at()
    simulation.bind()
    simulation.at()
    simulation.end_job("Failed")
    simulation.start_engines()
    simulation.at()
    assert simulation.pool.status.phase == phase
    assert simulation.verdict("Ready") == ready


def test_engines_that_wait_for_nodes_are_kept() -> None:
    simulation = in_use(FULL)
    simulation.change("Deployment", status={"readyReplicas": 0})
    simulation.pod_events = (Event("Pod", "any", "FailedScaleUp", "ZONE_RESOURCE_POOL_EXHAUSTED"),)
    done = simulation.at()
    assert "Deployment" in _kinds(done)
    assert done.deletes == ()
    assert simulation.pool.status.phase == "Degraded"
    assert simulation.verdict("Ready") == ("False", "CapacityUnavailable")
