"""status.tiers[].throughput of the shared tier: what its capacity brings."""

from dataclasses import replace

from kvtier.api import quantities
from kvtier.api.identity import storage_class_name
from kvtier.api.kinds import Key
from kvtier.api.v1alpha1 import KVCachePool, TierStatus
from kvtier.context import build
from kvtier.data.lustre_limits import DYNAMIC, tiers
from kvtier.facts.model import Observed
from kvtier.plan.children import claim_name
from kvtier.plan.lustre import claims
from kvtier.plan.lustre.csi import plan_csi
from kvtier.plan.lustre.delete import plan_tier_deletion
from kvtier.plan.lustre.identity import volume_name
from kvtier.plan.lustre.volume import plan_static
from kvtier.plan.model import Checks, Part
from kvtier.sizing.lustre_performance import rate, throughput


def with_throughput(pool: KVCachePool, observed: Observed, part: Part) -> Part:
    """The same part, whose tiers tell their throughput."""
    return replace(part, tiers=tuple(_rated(pool, observed, tier) for tier in part.tiers))


def _rated(pool: KVCachePool, observed: Observed, tier: TierStatus) -> TierStatus:
    if tier.capacity is None:
        return tier
    level = _level(pool, observed)
    if level is None:
        return tier.model_copy(update={"throughput": _told_before(pool, tier)})
    speed = rate(throughput(level, quantities.parse(tier.capacity)))
    return tier.model_copy(update={"throughput": speed})


def _level(pool: KVCachePool, observed: Observed) -> int | str | None:
    """The performance tier, from the spec or from the instance itself; None where neither can be told."""
    lustre, facts = pool.spec.tiers.lustre, observed.facts.lustre
    if lustre is not None and lustre.tier:
        return lustre.tier
    if facts is None or facts.instance is None:
        return None
    level: int | str = facts.instance.throughput or DYNAMIC
    return level if level in tiers() else None


def _told_before(pool: KVCachePool, tier: TierStatus) -> str | None:
    """What was told of the same capacity: an instance that is not seen for a while is as fast as before."""
    before = next((one for one in pool.status.tiers if one.name == tier.name), None)
    return before.throughput if before and before.capacity == tier.capacity else None


def plan_storage(pool: KVCachePool, observed: Observed, checks: Checks, now: str) -> Part:
    """What the Lustre tier needs, and the state it is in."""
    part = replace(_plan(pool, observed, checks, now), keeps=storage_names(pool))
    return with_throughput(pool, observed, part)


def _plan(pool: KVCachePool, observed: Observed, checks: Checks, now: str) -> Part:
    lustre = pool.spec.tiers.lustre
    if lustre is None:
        return plan_tier_deletion(build(pool, observed, now))
    if lustre.provisioner == "CSI":
        return plan_csi(build(pool, observed, now), lustre, checks)
    return plan_static(build(pool, observed, now), lustre, checks)


def storage_names(pool: KVCachePool) -> tuple[Key, ...]:
    """Kind and name of the objects that the pool's storage consists of."""
    lustre = pool.spec.tiers.lustre
    if lustre is None:
        return ()
    if lustre.provisioner == "CSI":
        behind = ("StorageClass", storage_class_name(pool, lustre))
    else:
        behind = ("PersistentVolume", volume_name(pool))
    return (("PersistentVolumeClaim", claim_name(pool)), behind)


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
