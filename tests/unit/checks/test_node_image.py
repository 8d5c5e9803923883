"""Container-Optimized OS on the candidates."""

from typing import Any

from kvtier.api.placement import OS_DISTRIBUTION, ZONE
from kvtier.checks.node_image import check
from kvtier.facts.model import Facts
from unit.builders import facts, node, pool
from unit.tables import table
from unit.verdicts import assert_verdict

POOL = pool()
EXISTING = pool(nodePool={"provisioner": "Existing"})
UBUNTU = node(POOL, "ubuntu-1", labels={OS_DISTRIBUTION: "ubuntu"}, os_image="Ubuntu 24.04 LTS")


@table(
    "of, seen, verdict",
    {
        "without Lustre any image will do": (
            pool(tiers={"lustre": None}),
            facts(UBUNTU),
            ("True", "NotNeeded", ""),
        ),
        "candidates with COS are fine": (
            POOL,
            facts(node(POOL)),
            ("True", "COS", "every candidate node runs COS (1)"),
        ),
        "a node of another image is named, and what to create instead": (
            POOL,
            facts(node(POOL), UBUNTU),
            ("False", "NotCOS", "ubuntu-1 run 'Ubuntu 24.04 LTS'"),
        ),
        "the message has the image type to use": (POOL, facts(UBUNTU), ("False", "NotCOS", "COS_CONTAINERD")),
        "a custom image that keeps the label is still found": (
            POOL,
            facts(node(POOL, os_image="My Linux")),
            ("False", "NotCOS", "'My Linux'"),
        ),
        "an image name alone does not outweigh the label": (
            POOL,
            facts(node(POOL, labels={OS_DISTRIBUTION: "ubuntu"})),
            ("False", "NotCOS", ""),
        ),
        "nodes that engines cannot run on do not count": (
            POOL,
            facts(node(POOL, labels={ZONE: "us-east1-b"}, os_image="Ubuntu")),
            ("True", "ComputeClassUsesCOS", ""),
        ),
        "nodes that a ComputeClass will make have COS": (
            POOL,
            facts(),
            ("True", "ComputeClassUsesCOS", "cos_containerd"),
        ),
        "existing nodes that do not exist cannot be judged": (
            EXISTING,
            facts(),
            ("Unknown", "NoCandidateNodes", "no node matches nodePool yet"),
        ),
    },
)
def test_node_image(of: Any, seen: Facts, verdict: tuple[str, str, str]) -> None:
    assert_verdict(check(of, seen), "NodeImageSupported", *verdict)
