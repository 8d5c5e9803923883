"""Children that the spec no longer asks for."""

from collections.abc import Mapping

from kvtier.api import placement
from kvtier.api.kinds import Object
from kvtier.api.names import ANNOTATION_POOL
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Observed
from kvtier.plan.children import model_name
from kvtier.plan.lustre.storage import storage_names
from kvtier.plan.model import Ref, to_delete

_ELSEWHERE = ("PersistentVolumeClaim", "PersistentVolume", "Job")
"""Data, which deletionPolicy decides about (`lustre.removed`), and Jobs, which their maker clears away."""


def leftovers(pool: KVCachePool, observed: Observed) -> tuple[Ref, ...]:
    """Objects to delete while the pool lives: removed models, a ComputeClass no longer used.

    Storage is judged by the same names that make it.
    """
    wanted = _wanted(pool)
    return to_delete(
        {key: obj for key, obj in observed.children.items() if key not in wanted and key[0] not in _ELSEWHERE}
    )


def _wanted(pool: KVCachePool) -> set[tuple[str, str]]:
    models = [model_name(pool, model) for model in pool.spec.models]
    keys = {(kind, name) for name in models for kind in ("Deployment", "Service")}
    if pool.spec.node_pool.provisioner == "ComputeClass":
        keys.add(("ComputeClass", placement.compute_class(pool)))
    return keys | storage_names(pool)


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
