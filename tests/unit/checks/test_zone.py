"""Engines near their Lustre instance."""

from kvtier.api.placement import ZONE
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.checks.zone import check
from kvtier.facts.model import Node
from unit.builders import context, facts, node, pool
from unit.instances import existing
from unit.tables import table
from unit.verdicts import assert_says

POOL = pool()
EXISTING = pool(nodePool={"provisioner": "Existing"})
EAST = node(POOL, labels={ZONE: "us-east1-b"})


@table(
    "of, nodes, verdict",
    {
        "without Lustre every zone is right": (
            pool(tiers={"lustre": None}, nodePool={"zones": ["us-east1-b"]}),
            [],
            "True NotNeeded",
        ),
        "engines follow the instance": (POOL, [node(POOL)], "True Matched: run in us-central1-a"),
        "zones that leave out the instance's are refused, and what to add": (
            pool(nodePool={"zones": ["us-east1-b", "us-east1-c"]}),
            [],
            "False ZoneMismatch: is us-east1-b, us-east1-c, the Lustre instance is in us-central1-a: add",
        ),
        "zones may be more than the instance's": (
            pool(nodePool={"zones": ["us-central1-a", "us-central1-b"]}),
            [],
            "True Matched: us-central1-a, us-central1-b",
        ),
        "nodes that match but are all elsewhere are a mistake": (
            EXISTING,
            [node(EXISTING, labels={ZONE: "us-east1-b"})],
            "False NoNodeInZone: are in us-east1-b, none is in us-central1-a",
        ),
        "nodes that name no zone are elsewhere": (
            EXISTING,
            [node(EXISTING, labels={ZONE: None})],
            "False NoNodeInZone: are in ?, none",
        ),
        "a ComputeClass makes nodes in the zone": (POOL, [EAST], "True Matched"),
        "one node in the zone is enough": (POOL, [EAST, node(POOL, "near")], "True Matched"),
        "an existing instance has its zone in its name": (
            pool(**existing()),
            [],
            "True Matched: engines run in us-central1-a",
        ),
        "zones that leave it out are refused": (
            pool(**existing(), nodePool={"zones": ["us-east1-b"]}),
            [],
            "False ZoneMismatch: the Lustre instance is in us-central1-a: add that zone",
        ),
        "no node at all is no mistake yet": (POOL, [], "True Matched"),
    },
)
def test_zone(of: KVCachePool, nodes: list[Node], verdict: str) -> None:
    assert_says(check(context(of, facts=facts(*nodes))), "ZoneMatched", verdict)
