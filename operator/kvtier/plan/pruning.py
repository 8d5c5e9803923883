"""Children that are no longer needed: of a pool that exists, and of a pool that was deleted."""

from kvtier.api.identity import is_storage_class
from kvtier.api.kinds import CHILD_KINDS, COMPUTE_CLASS, STORAGE_CLASS
from kvtier.api.names import PoolKey
from kvtier.api.placement import compute_class_name
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.children import Child, Children
from kvtier.plan.model import Part, Ref, key, references

_CLUSTER_WIDE = frozenset(child.kind for child in CHILD_KINDS if child.stage == "cluster")
_PRUNED = frozenset(child.kind for child in CHILD_KINDS if child.pruned)


def unwanted(pool: KVCachePool, children: Children, whole: Part) -> tuple[Ref, ...]:
    """What to delete while the pool exists: children that the entire plan (`whole`) neither keeps nor applies.

    An example is the Deployment of a removed model. Data and Jobs are never pruned: see `ChildKind.pruned`.
    """
    wanted = {*whole.keeps, *map(key, whole.applies)}
    found = [one for one in children.of(_PRUNED) if (one.kind, one.name) not in wanted]
    return references(one for one in found if _is_named(one, pool.namespace, pool.name))


def cluster_wide(children: Children, namespace: str, pool: str) -> tuple[Child, ...]:
    """The cluster-wide children of a pool."""
    return tuple(one for one in children.of(_CLUSTER_WIDE) if _is_named(one, namespace, pool))


def _is_named(child: Child, namespace: str, pool: str) -> bool:
    """Whether a child has a name that kvtier derives for this pool, if it is cluster-wide.

    Others have only the labels, for example because somebody copied a manifest. kvtier does not delete them.
    """
    if child.kind == STORAGE_CLASS.kind:
        return is_storage_class(child.name, namespace, pool)
    if child.kind == COMPUTE_CLASS.kind:
        return child.name == compute_class_name(namespace, pool)
    return True


def orphans(children: Children, pool: PoolKey) -> tuple[Ref, ...]:
    """What to delete after a pool was deleted: cluster-wide children, which cannot have an ownerReference to it.

    An object with the labels that kvtier never applied stays: it may belong to a pool with a longer name.
    """
    return references(one for one in cluster_wide(children, *pool) if one.for_pool)
