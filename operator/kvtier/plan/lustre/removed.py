"""A shared tier that has left the spec of a pool that lives on: its data, by deletionPolicy."""

from dataclasses import replace

from kvtier.api.quantities import gib
from kvtier.api.v1alpha1 import KVCachePool, OperationStatus, TierStatus
from kvtier.facts.model import Observed
from kvtier.plan.children import claim_name, mounts_lustre
from kvtier.plan.lustre.claim import claims
from kvtier.plan.lustre.identity import instance_name, volume_name
from kvtier.plan.lustre.instance.deletion import may_exist
from kvtier.plan.lustre.operations import POLL_SECONDS, follow
from kvtier.plan.lustre.removal import driven, remove
from kvtier.plan.model import Part


def plan_removed(pool: KVCachePool, observed: Observed, now: str) -> Part:
    """What goes of it, and a status that remembers an instance for as long as it may be there.

    Case 1: nothing is there -> nothing is said.
    Case 2: Retain -> all stays.
    Case 3: Delete, and an engine mounts it -> it is waited for.
    Case 4: Delete -> claim, volume and instance go.
    """
    claim = observed.child("PersistentVolumeClaim", claim_name(pool))
    volume = observed.child("PersistentVolume", volume_name(pool))
    if not (claim or volume or driven(pool, observed) or may_exist(pool, observed, now)):
        return Part()
    tier = TierStatus(
        name="lustre",
        phase="Retained",
        capacity=gib(claims.capacity(claim)) if claims.capacity(claim) else None,
        instance=instance_name(pool, observed),
    )
    if pool.spec.deletion_policy == "Retain":
        known = may_exist(pool, observed, now)
        return Part(tiers=(tier,), operations=_operations(pool, observed, now)) if known else Part()
    going = tier.model_copy(update={"phase": "Deleting"})
    if any(mounts_lustre(obj) for (kind, _), obj in observed.children.items() if kind == "Deployment"):
        return Part(tiers=(going,), operations=_operations(pool, observed, now), again=POLL_SECONDS)
    step = remove(pool, observed, now)
    if not step.waits:
        return step.part
    operations = step.part.operations or _operations(pool, observed, now)
    return replace(step.part, tiers=(going,), operations=operations, again=POLL_SECONDS)


def _operations(pool: KVCachePool, observed: Observed, now: str) -> tuple[OperationStatus, ...]:
    return follow(pool, observed.facts, "Create", None, now).operations
