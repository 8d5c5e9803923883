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
        return true(NODE_IMAGE_SUPPORTED, Reason.NOT_NEEDED, "The pool has no Lustre tier.")
    nodes = context.nodes
    other = [node for node in nodes if not _is_cos(node)]
    if other:
        return false(
            NODE_IMAGE_SUPPORTED,
            Reason.NOT_COS,
            f"The node image on {node_names(other)} is {other[0].os_image!r}, but Managed Lustre needs {_COS}. "
            "Recreate the node pool with --image-type=COS_CONTAINERD.",
        )
    if nodes:
        return true(
            NODE_IMAGE_SUPPORTED,
            Reason.COS,
            f"{len(nodes)} of {len(nodes)} candidate nodes run Container-Optimized OS.",
        )
    if context.pool.spec.node_pool.provisioner == "ComputeClass":
        return true(
            NODE_IMAGE_SUPPORTED,
            Reason.COMPUTE_CLASS_USES_COS,
            "GKE creates the nodes with Container-Optimized OS.",
        )
    return unknown(
        NODE_IMAGE_SUPPORTED,
        Reason.NO_CANDIDATE_NODES,
        "No node matches nodePool yet, so the node image is unknown. No action is needed.",
    )


def _is_cos(node: Node) -> bool:
    return node.labels.get(OS_DISTRIBUTION, "cos") == "cos" and node.os_image.startswith(_COS)
