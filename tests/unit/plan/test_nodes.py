"""The ComputeClass, and existing nodes."""

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
MISFIT = "kvtier creates no ComputeClass while a prerequisite of the machine type"


@table(
    "look, fits, verdict, words, usable",
    {
        "a missing class is created, and engines do not wait for nodes": (
            NEW,
            "True",
            ("False", "Creating"),
            "kvtier is creating the ComputeClass.",
            True,
        ),
        "a class without nodes is ready, because nodes come on demand": (
            MADE,
            "True",
            ("True", "OnDemand"),
            "GKE creates nodes when a Pod uses the ComputeClass.",
            True,
        ),
        "its nodes are counted": (
            context(POOL, CLASS, facts=TWO),
            "True",
            ("True", "NodesReady"),
            "1 of 2 nodes are ready.",
            True,
        ),
        "a cluster without the CRD": (
            context(POOL, facts=UNSERVED),
            "True",
            ("False", "ComputeClassNotServed"),
            "set nodePool.provisioner to Existing.",
            False,
        ),
        "no class is created for a machine type that does not fit": (
            NEW,
            "False",
            ("False", "PrerequisitesNotMet"),
            MISFIT,
            False,
        ),
        "an existing class is kept": (MADE, "False", ("True", "OnDemand"), "", True),
        "an unknown machine type is tried": (NEW, "Unknown", ("False", "Creating"), "", True),
        "but not in a strict pool": (STRICT, "Unknown", ("False", "PrerequisitesNotMet"), MISFIT, False),
    },
)
def test_a_compute_class(
    look: Context, fits: str, verdict: tuple[str, str], words: str, usable: bool
) -> None:
    nodes = plan_nodes(look, checks(LocalSSDSupported=fits))
    assert_verdict(nodes.part.conditions[0], "NodePoolReady", *verdict, words)
    assert [one["kind"] for one in nodes.part.applies] == (["ComputeClass"] if usable else [])
    assert nodes.usable is usable


SEARCHED = (
    "No node in us-central1-a has the labels team=search, cloud.google.com/gke-accelerator=nvidia-h100-80gb. Create "
    "matching nodes"
)


@table(
    "found, verdict, words",
    {
        "that match are used": ([node(EXISTING)], ("True", "NodesReady"), "1 of 1 nodes are ready."),
        "that do not match are described": ([], ("False", "NoMatchingNode"), SEARCHED),
    },
)
def test_existing_nodes(found: list[Any], verdict: tuple[str, str], words: str) -> None:
    nodes = plan_nodes(context(EXISTING, facts=facts(*found)), checks())
    assert_verdict(nodes.part.conditions[0], "NodePoolReady", *verdict, words)
    assert (nodes.part.applies, nodes.usable) == ((), bool(found))


@pytest.mark.parametrize("provisioner", ["ComputeClass", "Existing"])
def test_nodes_are_usable_without_capacity_so_that_engines_keep_waiting(provisioner: str) -> None:
    of = pool(nodePool={"provisioner": provisioner})
    event = Event(
        "Pod", "any", "FailedScaleUp", "failed: GCE out of resources. Pod is at risk of not being scheduled"
    )
    nodes = plan_nodes(context(of, CLASS, pod_events=(event,)), checks())
    assert_verdict(
        nodes.part.conditions[0], "NodePoolReady", "False", "CapacityUnavailable", "GCE out of resources"
    )
    assert nodes.usable


@pytest.mark.parametrize(
    ("why", "advice"),
    [
        ("GCE quota exceeded", "Request more quota for this machine type and its GPUs."),
        (
            "reservation is full",
            "Check that the reservation exists, is shared with this project, and has unused",
        ),
        ("IP space exhausted", "Give the cluster's subnet a larger range for nodes or Pods."),
        ("GCE out of resources", "Reserve the machines, or choose another machine type."),
    ],
)
def test_a_failed_scale_up_is_reported_with_advice(why: str, advice: str) -> None:
    event = Event("Pod", "any", "FailedScaleUp", f"failed: {why}. Pod is at risk of not being scheduled")
    (condition,) = plan_nodes(context(POOL, CLASS, pod_events=(event,)), checks()).part.conditions
    assert_verdict(condition, "NodePoolReady", "False", "CapacityUnavailable", advice)


def _priority(of: KVCachePool) -> dict[str, Any]:
    (priority,) = manifest(of, "ComputeClass")["spec"]["priorities"]
    return dict(priority)


def test_a_class_has_the_machine_type_of_the_pool() -> None:
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
        "without the tier, no disk": ({}, None),
        "with the tier, all disks of the machine type": (SSD, 16),
        "the number of the user first": (SSD | {"nodePool": {"localSSDCount": 4}}, 4),
        "an unknown machine type, no disk": (
            SSD | {"nodePool": {"machineType": "z9-futuregpu-8g"}},
            None,
        ),
    },
)
def test_local_ssds_of_a_class(changes: dict[str, Any], count: int | None) -> None:
    assert _priority(pool(**changes)).get("storage") == ({"localSSDCount": count} if count else None)


def test_spot_and_zones_are_in_the_class_and_no_zone_is_no_location() -> None:
    of = pool(nodePool={"spot": True, "zones": ["us-central1-b", "us-central1-a"]})
    assert _priority(of)["spot"] is True
    assert _priority(of)["location"] == {"zones": ["us-central1-a", "us-central1-b"]}
    assert "location" not in _priority(pool(tiers={"lustre": None}))
