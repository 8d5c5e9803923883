"""The Lustre tier in the status, and its use by engines during copies and maintenance."""

from dataclasses import replace
from typing import Any

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Counters, LustreFacts
from kvtier.plan.lustre.shared_tier import plan_storage
from kvtier.plan.plan import plan
from unit import instances
from unit.builders import (
    NOW,
    checks,
    claim,
    context,
    deployment,
    facts,
    job,
    joined,
    live,
    manifest,
    node,
    observed,
    pool,
)
from unit.instances import api, by_hand, dynamic, existing
from unit.simulation import DEPLOYMENT, Simulation, in_use, made
from unit.tables import table

WELL = made(pool(**api()))


def _cached(mode: str, **cloud_storage: Any) -> KVCachePool:
    tiers = {"cloudStorage": {"uri": "gs://bucket/cache/", **cloud_storage}}
    return pool(**joined(api(), {"mode": mode, "tiers": tiers}))


def _import(simulation: Simulation) -> None:
    simulation.answer(done=True, counters=Counters(found=1, copied=1))
    simulation.at()
    simulation.start_engines()
    simulation.at()


def test_a_required_pool_starts_its_engines_after_the_import() -> None:
    simulation = in_use(_cached("Required"))
    assert simulation.verbs() == ["import"]
    assert DEPLOYMENT not in simulation.kinds()
    simulation.answer()
    simulation.at()
    assert DEPLOYMENT not in simulation.kinds()
    assert simulation.verdict("ModelsReady") == ("False", "Waiting")
    assert "the import from Cloud Storage is in progress" in simulation.condition("ModelsReady").message
    _import(simulation)
    assert simulation.mounted()
    assert simulation.verdict("Ready") == ("True", "AllReady")


def test_an_opportunistic_pool_serves_without_the_tier_until_the_import_ends() -> None:
    simulation = in_use(_cached("Opportunistic"))
    assert not simulation.mounted()
    assert simulation.verdict("Ready") == ("True", "WithoutSharedTier")
    _import(simulation)
    assert simulation.mounted()
    assert simulation.verdict("Ready") == ("True", "AllReady")


def test_a_pool_stays_ready_after_a_failed_copy() -> None:
    simulation = in_use(_cached("Required", exportSchedule="0 0 31 2 *"))
    _import(simulation)
    assert simulation.verdict("CloudStorageSynced") == ("False", "InvalidSchedule")
    assert simulation.verdict("Ready") == ("True", "AllReady")


@table("state, again", {"active": ("ACTIVE", 300), "under maintenance": ("UPGRADING", 60)})
def test_the_interval_between_reads_of_an_instance(state: str, again: float) -> None:
    of = pool()
    there = (claim(of), job(of), deployment(of), live(manifest(of, "ComputeClass")))
    seen = replace(facts(node(of)), lustre=LustreFacts(replace(WELL, state=state)))
    assert plan(of, observed(*there, facts=seen), NOW).requeue_after == again


TIER = {"name": "lustre", "phase": "Bound", "capacity": "18000Gi"}
BEFORE_IT = {"status": {"tiers": [{**TIER, "throughput": "17.6 GB/s"}]}}


def _throughput(changes: dict[str, Any], capacity: str | None, seen: LustreFacts | None) -> str | None:
    """The throughput in the status for a bound PVC of this capacity."""
    of = pool(**changes)
    look = context(
        of, claim(of, "Bound" if capacity else "Pending", capacity), facts=replace(facts(), lustre=seen)
    )
    (tier,) = plan_storage(look, checks()).tiers
    assert tier.capacity == capacity
    return tier.throughput


@table(
    "changes, seen, throughput",
    {
        "of the performance tier in the spec": ({}, None, "17.6 GB/s"),
        "of a slower performance tier": ({"tiers": {"lustre": {"throughputPerTiB": 500}}}, None, "8.8 GB/s"),
        "of the Dynamic tier": (dynamic(), None, "439 MB/s"),
        "of an existing instance": (
            existing(),
            instances.instance(throughput=500),
            "8.8 GB/s",
        ),
        "of an existing instance in the Dynamic tier": (
            existing(),
            instances.instance(throughput=0),
            "439 MB/s",
        ),
        "none for a performance tier that is newer than kvtier": (
            existing(),
            instances.instance(throughput=2000),
            None,
        ),
        "none for an unknown performance tier": (by_hand(), None, None),
        "unchanged while the instance is unknown": (joined(existing(), BEFORE_IT), None, "17.6 GB/s"),
    },
)
def test_throughput(changes: dict[str, Any], seen: LustreFacts | None, throughput: str | None) -> None:
    assert _throughput(changes, "18000Gi", seen) == throughput


def test_a_tier_that_does_not_exist_yet_has_no_throughput() -> None:
    assert _throughput({}, None, None) is None


def test_the_throughput_is_unknown_if_an_unknown_instance_was_resized() -> None:
    assert _throughput(joined(existing(), BEFORE_IT), "27000Gi", None) is None
