"""Engines near their Lustre instance."""

from kvtier.api.placement import ZONE
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.checks.zone import check
from kvtier.context import Context
from kvtier.facts.model import Node
from unit.builders import context, facts, node, pool
from unit.instances import existing
from unit.tables import table
from unit.verdicts import assert_says

POOL = pool()
EXISTING = pool(nodePool={"provisioner": "Existing"})
EAST = node(POOL, labels={ZONE: "us-east1-b"})


def _look(of: KVCachePool, *nodes: Node) -> Context:
    return context(of, facts=facts(*nodes))


@table(
    "look, verdict",
    {
        "without Lustre every zone is right": (
            _look(pool(tiers={"lustre": None}, nodePool={"zones": ["us-east1-b"]})),
            "True NotNeeded",
        ),
        "engines follow the instance": (_look(POOL, node(POOL)), "True Matched: run in us-central1-a"),
        "zones that leave out the instance's are refused, and what to add": (
            _look(pool(nodePool={"zones": ["us-east1-b", "us-east1-c"]})),
            "False ZoneMismatch: is us-east1-b, us-east1-c, the Lustre instance is in us-central1-a: add",
        ),
        "zones may be more than the instance's": (
            _look(pool(nodePool={"zones": ["us-central1-a", "us-central1-b"]})),
            "True Matched: us-central1-a, us-central1-b",
        ),
        "nodes that match but are all elsewhere are a mistake": (
            _look(EXISTING, node(EXISTING, labels={ZONE: "us-east1-b"})),
            "False NoNodeInZone: are in us-east1-b, none is in us-central1-a",
        ),
        "nodes that name no zone are elsewhere": (
            _look(EXISTING, node(EXISTING, labels={ZONE: None})),
            "False NoNodeInZone: are in ?, none",
        ),
        "a ComputeClass makes nodes in the zone": (_look(POOL, EAST), "True Matched"),
        "one node in the zone is enough": (_look(POOL, EAST, node(POOL, "near")), "True Matched"),
        "an existing instance has its zone in its name": (
            _look(pool(**existing())),
            "True Matched: engines run in us-central1-a",
        ),
        "zones that leave it out are refused": (
            _look(pool(**existing(), nodePool={"zones": ["us-east1-b"]})),
            "False ZoneMismatch: the Lustre instance is in us-central1-a: add that zone",
        ),
        "no node at all is no mistake yet": (_look(POOL), "True Matched"),
    },
)
def test_zone(look: Context, verdict: str) -> None:
    assert_says(check(look), "ZoneMatched", verdict)
