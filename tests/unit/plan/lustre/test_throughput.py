"""What the status says of the shared tier's throughput."""

from dataclasses import replace
from typing import Any

from kvtier.api.v1alpha1 import PoolStatus, TierStatus
from kvtier.facts.model import LustreFacts, Observed
from kvtier.plan.lustre.storage import with_throughput
from kvtier.plan.model import Part
from unit import instances
from unit.builders import facts, observed, pool, with_status
from unit.tables import table

TIER = TierStatus(name="lustre", phase="Bound", capacity="18000Gi")
BEFORE = PoolStatus(tiers=[TIER.model_copy(update={"throughput": "17.6 GB/s"})])


def seen(lustre: LustreFacts) -> Observed:
    """The Lustre API tells of an instance."""
    return observed(facts=replace(facts(), lustre=lustre))


def told(changes: dict[str, Any], world: Observed, tier: TierStatus = TIER, before: Any = None) -> str | None:
    of = with_status(pool(**changes), before or PoolStatus())
    (found,) = with_throughput(of, world, Part(tiers=(tier,))).tiers
    assert found.model_copy(update={"throughput": None}) == tier
    return found.throughput


@table(
    "changes, world, throughput",
    {
        "by the tier of the spec": ({}, observed(), "17.6 GB/s"),
        "a slower tier": ({"tiers": {"lustre": {"throughputPerTiB": 500}}}, observed(), "8.8 GB/s"),
        "the Dynamic tier": (instances.dynamic(), observed(), "439 MB/s"),
        "of an existing instance by its own tier": (
            instances.existing(),
            seen(instances.instance(throughput=500)),
            "8.8 GB/s",
        ),
        "of an existing one of the Dynamic tier": (
            instances.existing(),
            seen(instances.instance(throughput=0)),
            "439 MB/s",
        ),
        "nothing of a tier that is newer than kvtier": (
            instances.existing(),
            seen(instances.instance(throughput=2000)),
            None,
        ),
        "nothing where nobody tells the tier": (instances.by_hand(), observed(), None),
    },
)
def test_throughput(changes: dict[str, Any], world: Observed, throughput: str | None) -> None:
    assert told(changes, world) == throughput


def test_a_tier_that_does_not_exist_yet_has_none() -> None:
    assert told({}, observed(), TierStatus(name="lustre", phase="Provisioning")) is None


def test_an_instance_that_is_not_seen_for_a_while_is_as_fast_as_before() -> None:
    assert told(instances.existing(), observed(), before=BEFORE) == "17.6 GB/s"
    grown = TIER.model_copy(update={"capacity": "27000Gi"})
    assert told(instances.existing(), observed(), grown, BEFORE) is None
