"""Which Lustre instance belongs to a pool, by its full name and by its file system."""

from kvtier.api.identity import new_filesystem as filesystem
from kvtier.api.identity import volume_name
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts import identity
from kvtier.facts.model import Observed

__all__ = ["filesystem", "instance_name", "volume_name"]


def instance_name(pool: KVCachePool, observed: Observed) -> str | None:
    return identity.instance_name(pool, observed.children, observed.facts.volumes)
