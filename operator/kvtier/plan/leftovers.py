"""Children that the spec no longer asks for."""

from kvtier.api import placement
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Observed
from kvtier.plan.children import claim_name, model_name, mounts_lustre
from kvtier.plan.model import Ref, to_delete
from kvtier.plan.storage import storage_class_name


def leftovers(pool: KVCachePool, observed: Observed) -> tuple[Ref, ...]:
    """Objects to delete while the pool lives: removed models, a ComputeClass no longer used.

    Storage is judged by the same names that make it, and its data by deletionPolicy: a claim whose tier
    left the spec is deleted only under Delete, and only once no Deployment mounts it.
    """
    wanted = _wanted(pool)
    mounted = any(mounts_lustre(obj) for (kind, _), obj in observed.children.items() if kind == "Deployment")
    return to_delete(
        {
            key: obj
            for key, obj in observed.children.items()
            if key not in wanted and _may_go(key[0], pool, mounted)
        }
    )


def _wanted(pool: KVCachePool) -> set[tuple[str, str]]:
    models = [model_name(pool, model) for model in pool.spec.models]
    keys = {(kind, name) for name in models for kind in ("Deployment", "Service")}
    if pool.spec.node_pool.provisioner == "ComputeClass":
        keys.add(("ComputeClass", placement.compute_class(pool)))
    if pool.spec.tiers.lustre:
        keys.add(("PersistentVolumeClaim", claim_name(pool)))
        keys.add(("StorageClass", storage_class_name(pool, pool.spec.tiers.lustre)))
    return keys


def _may_go(kind: str, pool: KVCachePool, mounted: bool) -> bool:
    return kind != "PersistentVolumeClaim" or (pool.spec.deletion_policy == "Delete" and not mounted)
