"""Children that nobody asks for any more: of a pool that lives, and of one that is gone."""

from kvtier.api.kinds import CHILD_KINDS
from kvtier.facts.children import Children
from kvtier.plan.model import Part, Ref, key, references

_PRUNED = frozenset(child.kind for child in CHILD_KINDS if child.pruned)
_CLUSTER_WIDE = frozenset(child.kind for child in CHILD_KINDS if child.stage == "cluster")


def unwanted(children: Children, whole: Part) -> tuple[Ref, ...]:
    """What to delete while the pool lives: children that are neither kept nor applied by `whole`, the entire plan.

    Such as those of a model that was removed. Data and Jobs are never among them: see `ChildKind.pruned`.
    """
    wanted = {*whole.keeps, *map(key, whole.applies)}
    return references(one for one in children.of(_PRUNED) if (one.kind, one.name) not in wanted)


def orphans(children: Children) -> tuple[Ref, ...]:
    """What to delete of a pool that is gone: cluster-wide children, which no ownerReference can reach.

    What has the labels, but was never applied by kvtier, stays: its pool may yet come, under a longer name.
    """
    return references(one for one in children.of(_CLUSTER_WIDE) if one.for_pool)
