"""NodeImageSupported: candidate nodes run Container-Optimized OS, the only image with the Lustre client."""

from kvtier.api.conditions import NODE_IMAGE_SUPPORTED, Condition, false, true, unknown
from kvtier.api.placement import OS_DISTRIBUTION
from kvtier.api.reasons import Reason
from kvtier.context import Context
from kvtier.facts.model import Node, node_names

_COS = "Container-Optimized OS from Google"


def check(context: Context) -> Condition:
    """The GKE label and the image's own name must both say COS: a custom image keeps the label."""
    if context.lustre.spec is None:
        return true(NODE_IMAGE_SUPPORTED, Reason.NOT_NEEDED, "only the Lustre tier depends on the node image")
    nodes = context.nodes
    other = [node for node in nodes if not _is_cos(node)]
    if other:
        return false(
            NODE_IMAGE_SUPPORTED,
            Reason.NOT_COS,
            f"{node_names(other)} run {other[0].os_image!r}: Managed Lustre needs {_COS}; create the node pool with "
            "--image-type=COS_CONTAINERD",
        )
    if nodes:
        return true(NODE_IMAGE_SUPPORTED, Reason.COS, f"every candidate node runs COS ({len(nodes)})")
    if context.pool.spec.node_pool.provisioner == "ComputeClass":
        return true(
            NODE_IMAGE_SUPPORTED, Reason.COMPUTE_CLASS_USES_COS, "new nodes are made with cos_containerd"
        )
    return unknown(
        NODE_IMAGE_SUPPORTED,
        Reason.NO_CANDIDATE_NODES,
        "no node matches nodePool yet, so no image can be seen",
    )


def _is_cos(node: Node) -> bool:
    return node.labels.get(OS_DISTRIBUTION, "cos") == "cos" and node.os_image.startswith(_COS)
