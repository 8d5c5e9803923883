"""The pool of the tests about the StorageClass and the claim, and what is planned for it."""

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Observed
from kvtier.plan.lustre.storage import plan_storage
from kvtier.plan.model import Part
from unit.builders import NOW, checks, live, manifest, pool

POOL = pool()
CLASS = live(manifest(POOL, "StorageClass"))


def of_size(capacity: str) -> KVCachePool:
    return pool(tiers={"lustre": {"capacity": capacity}})


def planned(of: KVCachePool, world: Observed, **statuses: str) -> Part:
    return plan_storage(of, world, checks(**statuses), NOW)


def request(part: Part) -> str | None:
    """What the planned claim asks for, None where no claim is planned."""
    claims = [one for one in part.applies if one["kind"] == "PersistentVolumeClaim"]
    return claims[0]["spec"]["resources"]["requests"]["storage"] if claims else None
