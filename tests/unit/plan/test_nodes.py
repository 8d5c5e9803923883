"""The ComputeClass, and nodes that exist."""

from typing import Any

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Observed
from kvtier.plan.model import Part
from kvtier.plan.nodes import nodes_usable, plan_nodes
from unit.builders import checks, facts, live, manifest, node, observed, pool
from unit.tables import table

POOL = pool()
# Whether the class is written, and whether engines may be placed, is what an outcome says.
EXISTING = pool(nodePool={"provisioner": "Existing", "nodeSelector": {"team": "search"}})
CLASS = live(manifest(POOL, "ComputeClass"))


def _plan(of: KVCachePool, world: Observed, **statuses: str) -> Part:
    return plan_nodes(of, world, checks(**statuses))


@table(
    "of, world, statuses, verdict, outcome",
    {
        "a class that is not there is made, and engines need not wait for nodes": (
            POOL,
            observed(),
            {},
            ("False", "Creating", "the ComputeClass is being made"),
            (True, True),
        ),
        "a class without nodes is ready: they come on demand": (
            POOL,
            observed(CLASS),
            {},
            ("True", "OnDemand", "GKE makes nodes when a Pod asks"),
            (True, True),
        ),
        "its nodes are counted": (
            POOL,
            observed(CLASS, facts=facts(node(POOL), node(POOL, "gpu-2", ready=False))),
            {},
            ("True", "NodesReady", "1 of 2 nodes ready"),
            (True, True),
        ),
        "a cluster that has no ComputeClass is told the way out": (
            POOL,
            observed(facts=facts(compute_class_served=False)),
            {},
            ("False", "ComputeClassNotServed", "use nodePool.provisioner Existing"),
            (False, False),
        ),
        "no class is made for a machine type that does not fit": (
            POOL,
            observed(),
            {"LocalSSDSupported": "False"},
            ("False", "PrerequisitesNotMet", "the machine type does not fit the pool"),
            (False, False),
        ),
        "a class that is there is kept": (
            POOL,
            observed(CLASS),
            {"LocalSSDSupported": "False"},
            ("True", "OnDemand", ""),
            (True, True),
        ),
        "a machine type that cannot be judged is tried": (
            POOL,
            observed(),
            {"LocalSSDSupported": "Unknown"},
            ("False", "Creating", ""),
            (True, True),
        ),
        "existing nodes are used": (
            EXISTING,
            observed(facts=facts(node(EXISTING))),
            {},
            ("True", "NodesReady", "1 of 1 nodes ready"),
            (False, True),
        ),
        "existing nodes that do not exist are described": (
            EXISTING,
            observed(),
            {},
            (
                "False",
                "NoMatchingNode",
                "no node has team=search, cloud.google.com/gke-accelerator=nvidia-h100-80gb in us-central1-a",
            ),
            (False, False),
        ),
    },
)
def test_nodes(
    of: KVCachePool,
    world: Observed,
    statuses: dict[str, str],
    verdict: tuple[str, str, str],
    outcome: tuple[bool, bool],
) -> None:
    part = _plan(of, world, **statuses)
    (condition,), (writes, usable) = part.conditions, outcome
    assert (condition.type, condition.status, condition.reason) == ("NodePoolReady", *verdict[:2])
    assert verdict[2] in condition.message
    assert [one["kind"] for one in part.applies] == (["ComputeClass"] if writes else [])
    assert nodes_usable(part) is usable


def test_a_strict_pool_does_not_try_a_machine_type_that_cannot_be_judged() -> None:
    part = _plan(pool(strict=True), observed(), LocalSSDSupported="Unknown")
    assert part.conditions[0].reason == "PrerequisitesNotMet"


def _priority(of: KVCachePool) -> dict[str, Any]:
    (priority,) = manifest(of, "ComputeClass")["spec"]["priorities"]
    return dict(priority)


def test_a_class_asks_for_the_machine_that_the_pool_names() -> None:
    assert _priority(POOL) == {
        "machineType": "a3-highgpu-8g",
        "spot": False,
        "gpu": {"type": "nvidia-h100-80gb", "count": 8, "driverVersion": "latest"},
        "location": {"zones": ["us-central1-a"]},
    }
    assert manifest(POOL, "ComputeClass")["spec"]["nodePoolConfig"] == {"imageType": "cos_containerd"}


SSD = {"tiers": {"localSSD": {"capacity": "1Ti"}}}


@table(
    "changes, count",
    {
        "without the tier no disk is asked for": ({}, None),
        "with it all that the machine type comes with": (SSD, 16),
        "the number of the user comes first": (SSD | {"nodePool": {"localSSDCount": 4}}, 4),
        "a machine type without a known number is asked for none": (
            SSD | {"nodePool": {"machineType": "z9-futuregpu-8g"}},
            None,
        ),
    },
)
def test_local_ssds_of_a_class(changes: dict[str, Any], count: int | None) -> None:
    assert _priority(pool(**changes)).get("storage") == ({"localSSDCount": count} if count else None)


def test_spot_and_zones_are_passed_on_and_no_zone_is_none() -> None:
    of = pool(nodePool={"spot": True, "zones": ["us-central1-b", "us-central1-a"]})
    assert _priority(of)["spot"] is True
    assert _priority(of)["location"] == {"zones": ["us-central1-a", "us-central1-b"]}
    assert "location" not in _priority(pool(tiers={"lustre": None}))
