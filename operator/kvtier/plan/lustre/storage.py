"""The storage of the shared tier, by who makes the instance."""

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.model import Observed
from kvtier.plan.children import claim_name
from kvtier.plan.lustre.claim import claims
from kvtier.plan.lustre.claim.csi import plan_csi, storage_class_name
from kvtier.plan.lustre.identity import volume_name
from kvtier.plan.lustre.instance.static import plan_static
from kvtier.plan.lustre.removed import plan_removed
from kvtier.plan.lustre.throughput import with_throughput
from kvtier.plan.model import Checks, Part


def plan_storage(pool: KVCachePool, observed: Observed, checks: Checks, now: str) -> Part:
    """What the Lustre tier needs, and the state it is in."""
    return with_throughput(pool, observed, _plan(pool, observed, checks, now))


def _plan(pool: KVCachePool, observed: Observed, checks: Checks, now: str) -> Part:
    lustre = pool.spec.tiers.lustre
    if lustre is None:
        return plan_removed(pool, observed, now)
    if lustre.provisioner == "CSI":
        return plan_csi(pool, lustre, observed, checks, now)
    return plan_static(pool, lustre, observed, checks, now)


def storage_names(pool: KVCachePool) -> set[tuple[str, str]]:
    """Kind and name of the objects that the pool's storage consists of."""
    lustre = pool.spec.tiers.lustre
    if lustre is None:
        return set()
    if lustre.provisioner == "CSI":
        behind = ("StorageClass", storage_class_name(pool, lustre))
    else:
        behind = ("PersistentVolume", volume_name(pool))
    return {("PersistentVolumeClaim", claim_name(pool)), behind}


def bound(pool: KVCachePool, observed: Observed) -> str | None:
    """Name of the pool's claim once it is bound, and is the one that the spec describes; else None."""
    claim, lustre = observed.child("PersistentVolumeClaim", claim_name(pool)), pool.spec.tiers.lustre
    if lustre is None or claim is None or claims.phase(claim) != "Bound" or claims.going(claim):
        return None
    if lustre.provisioner == "CSI":
        described = claim["spec"].get("storageClassName") == storage_class_name(pool, lustre)
    else:
        described = claim["spec"].get("volumeName") == volume_name(pool)
    return claim_name(pool) if described else None
