"""What a pool that no longer exists has left behind."""

from collections.abc import Mapping

from kvtier.facts.model import Object
from kvtier.plan.model import Ref

_CLUSTER_WIDE = ("StorageClass", "ComputeClass")


def orphans(children: Mapping[tuple[str, str], Object]) -> tuple[Ref, ...]:
    """Cluster-wide children, which no ownerReference can reach. Claims are data and stay."""
    return tuple(
        Ref(kind, name, obj["metadata"].get("uid", ""))
        for (kind, name), obj in children.items()
        if kind in _CLUSTER_WIDE and not obj["metadata"].get("deletionTimestamp")
    )
