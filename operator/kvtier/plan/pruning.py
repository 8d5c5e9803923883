"""Children that are no longer needed: of a pool that exists, and of a pool that was deleted."""

from kvtier.api.kinds import CHILD_KINDS
from kvtier.facts.children import Children
from kvtier.plan.model import Part, Ref, key, references

_PRUNED = frozenset(child.kind for child in CHILD_KINDS if child.pruned)
_CLUSTER_WIDE = frozenset(child.kind for child in CHILD_KINDS if child.stage == "cluster")


def unwanted(children: Children, whole: Part) -> tuple[Ref, ...]:
    """What to delete while the pool exists: children that the entire plan (`whole`) neither keeps nor applies.

    An example is the Deployment of a removed model. Data and Jobs are never pruned: see `ChildKind.pruned`.
    """
    wanted = {*whole.keeps, *map(key, whole.applies)}
    return references(one for one in children.of(_PRUNED) if (one.kind, one.name) not in wanted)


def orphans(children: Children) -> tuple[Ref, ...]:
    """What to delete after a pool was deleted: cluster-wide children, which cannot have an ownerReference to it.

    An object with the labels that kvtier never applied stays: it may belong to a pool with a longer name.
    """
    return references(one for one in children.of(_CLUSTER_WIDE) if one.for_pool)
