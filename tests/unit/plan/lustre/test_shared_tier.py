"""What the status says of the shared tier, and what engines may do with it while it is copied to and maintained."""

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
    assert "data is imported from Cloud Storage" in simulation.condition("ModelsReady").message
    _import(simulation)
    assert simulation.mounted()
    assert simulation.verdict("Ready") == ("True", "AllReady")


def test_an_opportunistic_pool_serves_without_the_tier_until_the_import_is_done() -> None:
    simulation = in_use(_cached("Opportunistic"))
    assert not simulation.mounted()
    assert simulation.verdict("Ready") == ("True", "WithoutSharedTier")
    _import(simulation)
    assert simulation.mounted()
    assert simulation.verdict("Ready") == ("True", "AllReady")


def test_a_failed_copy_leaves_a_pool_ready() -> None:
    simulation = in_use(_cached("Required", exportSchedule="0 0 31 2 *"))
    _import(simulation)
    assert simulation.verdict("CloudStorageSynced") == ("False", "InvalidSchedule")
    assert simulation.verdict("Ready") == ("True", "AllReady")


@table("state, again", {"while it is well": ("ACTIVE", 300), "while it is not": ("UPGRADING", 60)})
def test_how_often_an_instance_is_looked_at(state: str, again: float) -> None:
    of = pool()
    there = (claim(of), job(of), deployment(of), live(manifest(of, "ComputeClass")))
    seen = replace(facts(node(of)), lustre=LustreFacts(replace(WELL, state=state)))
    assert plan(of, observed(*there, facts=seen), NOW).requeue_after == again


TIER = {"name": "lustre", "phase": "Bound", "capacity": "18000Gi"}
BEFORE_IT = {"status": {"tiers": [{**TIER, "throughput": "17.6 GB/s"}]}}


def _throughput(changes: dict[str, Any], capacity: str | None, seen: LustreFacts | None) -> str | None:
    """What the status says of a bound claim of this capacity."""
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
        "by the tier of the spec": ({}, None, "17.6 GB/s"),
        "a slower tier": ({"tiers": {"lustre": {"throughputPerTiB": 500}}}, None, "8.8 GB/s"),
        "the Dynamic tier": (dynamic(), None, "439 MB/s"),
        "of an existing instance by its own tier": (
            existing(),
            instances.instance(throughput=500),
            "8.8 GB/s",
        ),
        "of an existing one of the Dynamic tier": (existing(), instances.instance(throughput=0), "439 MB/s"),
        "nothing of a tier that is newer than kvtier": (
            existing(),
            instances.instance(throughput=2000),
            None,
        ),
        "nothing where nobody tells the tier": (by_hand(), None, None),
        "as before while an instance is not seen": (joined(existing(), BEFORE_IT), None, "17.6 GB/s"),
    },
)
def test_throughput(changes: dict[str, Any], seen: LustreFacts | None, throughput: str | None) -> None:
    assert _throughput(changes, "18000Gi", seen) == throughput


def test_a_tier_that_does_not_exist_yet_has_no_throughput() -> None:
    assert _throughput({}, None, None) is None


def test_an_instance_that_has_grown_unseen_has_no_known_throughput() -> None:
    assert _throughput(joined(existing(), BEFORE_IT), "27000Gi", None) is None
