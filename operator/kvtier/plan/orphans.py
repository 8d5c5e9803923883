"""What a pool that no longer exists has left behind."""

from collections.abc import Mapping

from kvtier.api.names import ANNOTATION_POOL
from kvtier.facts.objects import Object
from kvtier.plan.model import Ref, to_delete

_CLUSTER_WIDE = ("StorageClass", "ComputeClass")


def orphans(children: Mapping[tuple[str, str], Object]) -> tuple[Ref, ...]:
    """Cluster-wide children, which no ownerReference can reach. Claims and volumes are data and stay.

    So does what has the labels, but was never applied by kvtier: its pool may yet come, under a longer name.
    """
    return to_delete(
        {
            key: obj
            for key, obj in children.items()
            if key[0] in _CLUSTER_WIDE and ANNOTATION_POOL in obj["metadata"].get("annotations", {})
        }
    )
