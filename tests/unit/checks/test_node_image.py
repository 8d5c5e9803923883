"""Container-Optimized OS on candidate nodes."""

from kvtier.api.placement import OS_DISTRIBUTION, ZONE
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.checks.node_image import check
from kvtier.context import Context
from kvtier.facts.model import Node
from unit.builders import context, facts, node, pool
from unit.tables import table
from unit.verdicts import assert_says

POOL = pool()
EXISTING = pool(nodePool={"provisioner": "Existing"})
UBUNTU = node(POOL, "ubuntu-1", labels={OS_DISTRIBUTION: "ubuntu"}, os_image="Ubuntu 24.04 LTS")


def _look(of: KVCachePool, *nodes: Node) -> Context:
    return context(of, facts=facts(*nodes))


@table(
    "look, verdict",
    {
        "without Lustre every image is supported": (
            _look(pool(tiers={"lustre": None}), UBUNTU),
            "True NotNeeded",
        ),
        "candidates with COS are supported": (
            _look(POOL, node(POOL)),
            "True COS: 1 of 1 candidate nodes run Container-Optimized OS.",
        ),
        "a node with another image is named": (
            _look(POOL, node(POOL), UBUNTU),
            "False NotCOS: The node image on ubuntu-1 is 'Ubuntu 24.04 LTS', but Managed Lustre needs",
        ),
        "the message contains the image type to use": (_look(POOL, UBUNTU), "False NotCOS: COS_CONTAINERD"),
        "a custom image is found in spite of the label": (
            _look(POOL, node(POOL, os_image="My Linux")),
            "False NotCOS: 'My Linux'",
        ),
        "another label is refused in spite of the image name": (
            _look(POOL, node(POOL, labels={OS_DISTRIBUTION: "ubuntu"})),
            "False NotCOS",
        ),
        "nodes that engines cannot run on do not count": (
            _look(POOL, node(POOL, labels={ZONE: "us-east1-b"}, os_image="Ubuntu")),
            "True ComputeClassUsesCOS",
        ),
        "nodes of a ComputeClass will have COS": (
            _look(POOL),
            "True ComputeClassUsesCOS: Container-Optimized OS",
        ),
        "the image of existing nodes that do not exist yet is unknown": (
            _look(EXISTING),
            "Unknown NoCandidateNodes: so the node image is unknown. No action is needed.",
        ),
    },
)
def test_node_image(look: Context, verdict: str) -> None:
    assert_says(check(look), "NodeImageSupported", verdict)
