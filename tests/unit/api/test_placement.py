"""Which nodes the engines of a pool require."""

from kvtier.api.placement import (
    ACCELERATOR,
    COMPUTE_CLASS,
    LOCAL_SSD,
    ZONE,
    compute_class,
    fitting,
    node_selector,
    pods_per_node,
    zones,
)
from kvtier.api.v1alpha1 import KVCachePool
from unit.builders import model, node, pool
from unit.tables import table

EXISTING = pool(nodePool={"provisioner": "Existing", "nodeSelector": {"team": "search"}})


@table(
    "of, wanted",
    {
        "a ComputeClass pool requires nodes of its own class": (
            pool(),
            {COMPUTE_CLASS: compute_class(pool())},
        ),
        "an Existing pool requires its accelerator and its own labels": (
            EXISTING,
            {ACCELERATOR: "nvidia-h100-80gb", "team": "search"},
        ),
        "a Local SSD tier requires nodes whose disks serve emptyDir": (
            pool(tiers={"localSSD": {"capacity": "1Ti"}}),
            {COMPUTE_CLASS: compute_class(pool()), LOCAL_SSD: "true"},
        ),
        "a label of the user cannot replace a label that kvtier needs": (
            pool(nodePool={"provisioner": "Existing", "nodeSelector": {ACCELERATOR: "nvidia-l4"}}),
            {ACCELERATOR: "nvidia-h100-80gb"},
        ),
    },
)
def test_node_selector(of: KVCachePool, wanted: dict[str, str]) -> None:
    assert node_selector(of) == wanted


@table(
    "of, wanted",
    {
        "engines run in the zone of the Lustre instance": (pool(), ["us-central1-a"]),
        "zones of the node pool come first, in order": (
            pool(nodePool={"zones": ["us-central1-b", "us-central1-a"]}),
            ["us-central1-a", "us-central1-b"],
        ),
        "without Lustre and zones engines run anywhere": (pool(tiers={"lustre": None}), []),
    },
)
def test_zones(of: KVCachePool, wanted: list[str]) -> None:
    assert zones(of) == wanted


@table(
    "labels, any_zone, expected",
    {
        "a node with every label and in the zone fits": ({}, False, True),
        "a node with more labels fits": ({"more": "yes"}, False, True),
        "a node that lacks a label does not fit": ({"team": None}, False, False),
        "a node with another accelerator does not fit": ({ACCELERATOR: "nvidia-l4"}, False, False),
        "a node in another zone does not fit": ({ZONE: "us-central1-f"}, False, False),
        "a node without a zone does not fit": ({ZONE: None}, False, False),
        "a node in another zone fits if the zone does not matter": ({ZONE: "us-central1-f"}, True, True),
    },
)
def test_fits(labels: dict[str, str], any_zone: bool, expected: bool) -> None:
    assert fitting(EXISTING, any_zone)(node(EXISTING, labels=labels).labels) is expected


@table(
    "gpus, pods",
    {
        "a Pod with all GPUs fills its node": (8, 1),
        "smaller Pods share a node": (2, 4),
        "remaining GPUs do not count as a Pod": (3, 2),
    },
)
def test_pods_per_node(gpus: int, pods: int) -> None:
    of = pool(models=[model(tensorParallelSize=gpus)])
    assert pods_per_node(of, of.spec.models[0]) == pods
