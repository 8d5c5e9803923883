"""The ComputeClass, and nodes that exist."""

from typing import Any

import pytest

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.context import Context
from kvtier.facts.model import Event
from kvtier.plan.nodes import plan_nodes
from unit.builders import checks, context, facts, live, manifest, node, pool
from unit.tables import table
from unit.verdicts import assert_verdict

POOL = pool()
EXISTING = pool(nodePool={"provisioner": "Existing", "nodeSelector": {"team": "search"}})
CLASS = live(manifest(POOL, "ComputeClass"))


NEW, MADE, STRICT = context(POOL), context(POOL, CLASS), context(pool(strict=True))
TWO = facts(node(POOL), node(POOL, "gpu-2", ready=False))
UNSERVED = facts(compute_class_served=False)
MISFIT = "the machine type does not fit the pool"


@table(
    "look, fits, verdict, words, usable",
    {
        "a class that is not there is made, and engines need not wait for nodes": (
            NEW,
            "True",
            ("False", "Creating"),
            "the ComputeClass is being made",
            True,
        ),
        "a class without nodes is ready: they come on demand": (
            MADE,
            "True",
            ("True", "OnDemand"),
            "GKE makes nodes when a Pod asks",
            True,
        ),
        "its nodes are counted": (
            context(POOL, CLASS, facts=TWO),
            "True",
            ("True", "NodesReady"),
            "1 of 2 nodes ready",
            True,
        ),
        "a cluster that has no ComputeClass gets the way out": (
            context(POOL, facts=UNSERVED),
            "True",
            ("False", "ComputeClassNotServed"),
            "use nodePool.provisioner Existing",
            False,
        ),
        "no class is made for a machine type that does not fit": (
            NEW,
            "False",
            ("False", "PrerequisitesNotMet"),
            MISFIT,
            False,
        ),
        "a class that is there is kept": (MADE, "False", ("True", "OnDemand"), "", True),
        "a machine type that cannot be judged is tried": (NEW, "Unknown", ("False", "Creating"), "", True),
        "but not for a strict pool": (STRICT, "Unknown", ("False", "PrerequisitesNotMet"), MISFIT, False),
    },
)
def test_a_compute_class(
    look: Context, fits: str, verdict: tuple[str, str], words: str, usable: bool
) -> None:
    nodes = plan_nodes(look, checks(LocalSSDSupported=fits))
    assert_verdict(nodes.part.conditions[0], "NodePoolReady", *verdict, words)
    assert [one["kind"] for one in nodes.part.applies] == (["ComputeClass"] if usable else [])
    assert nodes.usable is usable


SEARCHED = "no node has team=search, cloud.google.com/gke-accelerator=nvidia-h100-80gb in us-central1-a"


@table(
    "found, verdict, words",
    {
        "that are there are used": ([node(EXISTING)], ("True", "NodesReady"), "1 of 1 nodes ready"),
        "that are not there are described": ([], ("False", "NoMatchingNode"), SEARCHED),
    },
)
def test_existing_nodes(found: list[Any], verdict: tuple[str, str], words: str) -> None:
    nodes = plan_nodes(context(EXISTING, facts=facts(*found)), checks())
    assert_verdict(nodes.part.conditions[0], "NodePoolReady", *verdict, words)
    assert (nodes.part.applies, nodes.usable) == ((), bool(found))


@pytest.mark.parametrize("provisioner", ["ComputeClass", "Existing"])
def test_engines_go_on_asking_for_nodes_that_the_cloud_does_not_have(provisioner: str) -> None:
    of = pool(nodePool={"provisioner": provisioner})
    event = Event(
        "Pod", "any", "FailedScaleUp", "failed: GCE out of resources. Pod is at risk of not being scheduled"
    )
    nodes = plan_nodes(context(of, CLASS, pod_events=(event,)), checks())
    assert_verdict(
        nodes.part.conditions[0], "NodePoolReady", "False", "CapacityUnavailable", "GCE out of resources"
    )
    assert nodes.usable


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
