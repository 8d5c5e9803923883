"""Container-Optimized OS on the candidates."""

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
        "without Lustre any image will do": (_look(pool(tiers={"lustre": None}), UBUNTU), "True NotNeeded"),
        "candidates with COS are fine": (
            _look(POOL, node(POOL)),
            "True COS: every candidate node runs COS (1)",
        ),
        "a node of another image is named, and what to create instead": (
            _look(POOL, node(POOL), UBUNTU),
            "False NotCOS: ubuntu-1 run 'Ubuntu 24.04 LTS'",
        ),
        "the message has the image type to use": (_look(POOL, UBUNTU), "False NotCOS: COS_CONTAINERD"),
        "a custom image that keeps the label is still found": (
            _look(POOL, node(POOL, os_image="My Linux")),
            "False NotCOS: 'My Linux'",
        ),
        "an image name alone does not outweigh the label": (
            _look(POOL, node(POOL, labels={OS_DISTRIBUTION: "ubuntu"})),
            "False NotCOS",
        ),
        "nodes that engines cannot run on do not count": (
            _look(POOL, node(POOL, labels={ZONE: "us-east1-b"}, os_image="Ubuntu")),
            "True ComputeClassUsesCOS",
        ),
        "nodes that a ComputeClass will make have COS": (
            _look(POOL),
            "True ComputeClassUsesCOS: cos_containerd",
        ),
        "existing nodes that do not exist cannot be judged": (
            _look(EXISTING),
            "Unknown NoCandidateNodes: no node matches nodePool yet",
        ),
    },
)
def test_node_image(look: Context, verdict: str) -> None:
    assert_says(check(look), "NodeImageSupported", verdict)
