"""Engines in the zone of their Lustre instance."""

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
        "without Lustre every zone is valid": (
            _look(pool(tiers={"lustre": None}, nodePool={"zones": ["us-east1-b"]})),
            "True NotNeeded",
        ),
        "engines run in the zone of the instance": (
            _look(POOL, node(POOL)),
            "True Matched: Engines run in us-central1-a.",
        ),
        "zones without that of the instance are refused": (
            _look(pool(nodePool={"zones": ["us-east1-b", "us-east1-c"]})),
            "False ZoneMismatch: The zones of nodePool are us-east1-b, us-east1-c, but the Lustre instance is in "
            "us-central1-a. Add",
        ),
        "other zones are allowed in addition": (
            _look(pool(nodePool={"zones": ["us-central1-a", "us-central1-b"]})),
            "True Matched: us-central1-a, us-central1-b",
        ),
        "matching nodes only in another zone are refused": (
            _look(EXISTING, node(EXISTING, labels={ZONE: "us-east1-b"})),
            "False NoNodeInZone: No node that matches nodePool is in us-central1-a. Their zones: us-east1-b. "
            "Create nodes in us-central1-a.",
        ),
        "nodes without a zone label count as another zone": (
            _look(EXISTING, node(EXISTING, labels={ZONE: None})),
            "False NoNodeInZone: Their zones: unknown.",
        ),
        "nodes of a ComputeClass are created in the zone": (_look(POOL, EAST), "True Matched"),
        "one node in the zone is enough": (_look(POOL, EAST, node(POOL, "near")), "True Matched"),
        "the name of an existing instance contains the zone": (
            _look(pool(**existing())),
            "True Matched: Engines run in us-central1-a",
        ),
        "zones without that of an existing instance are refused": (
            _look(pool(**existing(), nodePool={"zones": ["us-east1-b"]})),
            "False ZoneMismatch: the Lustre instance is in us-central1-a. Add us-central1-a to",
        ),
        "no matching node at all is allowed": (_look(POOL), "True Matched"),
    },
)
def test_zone(look: Context, verdict: str) -> None:
    assert_says(check(look), "ZoneMatched", verdict)
