"""Provisioners API and Existing: a PersistentVolume that names the instance, and a claim reserved for it."""

from dataclasses import replace

from kvtier.api import quantities
from kvtier.api.conditions import STORAGE_READY, Condition, false, true
from kvtier.api.quantities import gib
from kvtier.api.v1alpha1 import KVCachePool, LustreTier, TierStatus
from kvtier.facts.model import Observed
from kvtier.facts.objects import Object
from kvtier.plan.children import claim_name
from kvtier.plan.gates import STORAGE, blockers
from kvtier.plan.lustre.claim import claims
from kvtier.plan.lustre.identity import instance_name, volume_name
from kvtier.plan.lustre.instance import volume
from kvtier.plan.lustre.instance.provisioner import plan_instance
from kvtier.plan.lustre.instance.source import PENDING, Known, existing
from kvtier.plan.lustre.operations import last
from kvtier.plan.model import Checks, Part

_MAKING = ("Creating", "Provisioning")
_WAITING = ("PrerequisitesNotMet", "Waiting", "InstanceUnknown")


def plan_static(pool: KVCachePool, lustre: LustreTier, observed: Observed, checks: Checks, now: str) -> Part:
    """Volume and claim of an instance that is known.

    Nothing is made while a prerequisite does not hold or the instance cannot be used. What was made stays,
    whatever becomes of what is known: a tier that is mounted is not unmounted.
    """
    if lustre.provisioner == "API":
        known = plan_instance(pool, lustre, observed, checks, now)
    else:
        known = existing(lustre, observed.facts.lustre)
    claim = observed.child("PersistentVolumeClaim", claim_name(pool))
    live = observed.child("PersistentVolume", volume_name(pool))
    problem = volume.mismatch(pool, lustre, known.source, claim, live)
    refused = blockers(checks, STORAGE, pool.spec.strict)
    usable = known.source if known.condition is None or claim else None
    applies = (
        volume.manifests(pool, lustre, usable, claim, live) if usable and not (problem or refused) else ()
    )
    condition = problem or _unchanged(pool, known) or _condition(known, claim, observed, refused)
    tier = _tier(pool, known, claim, observed, condition)
    return replace(known.part, applies=applies, conditions=(condition,), tiers=(tier,))


def _unchanged(pool: KVCachePool, known: Known) -> Condition | None:
    """What was true before, while the Lustre API has not answered a process that has just begun."""
    before = next((one for one in pool.status.conditions if one.type == STORAGE_READY), None)
    return before if before and before.status == "True" and known.unseen == PENDING else None


def _condition(known: Known, claim: Object | None, observed: Observed, refused: list[Condition]) -> Condition:
    """The first of: how the bound claim is, what is wrong with the instance, what it waits for."""
    if claim and claims.phase(claim) == "Bound" and not claims.going(claim):
        return _bound(known, claim)
    if known.condition:
        return known.condition
    if claim is None and refused:
        reasons = ", ".join(f"{condition.type} is {condition.status}" for condition in refused)
        return false(STORAGE_READY, "PrerequisitesNotMet", f"nothing is created while {reasons}")
    return _unbound(claim, observed)


def _bound(known: Known, claim: Object) -> Condition:
    """An instance that is not seen is taken to be well: its Pods show best whether it is."""
    name = claim["metadata"]["name"]
    if known.source is None and known.unseen:
        said = f"claim {name} is bound to {gib(claims.capacity(claim))}; how the instance is cannot be seen"
        return true(STORAGE_READY, "Bound", f"{said}: {known.unseen}")
    if known.condition:
        return known.condition
    if known.growth:
        return known.growth
    size = known.source.capacity if known.source else claims.capacity(claim)
    return true(STORAGE_READY, "Bound", f"claim {name} is bound to {gib(size)}")


def _unbound(claim: Object | None, observed: Observed) -> Condition:
    if claim is None:
        return false(STORAGE_READY, "Creating", "volume and claim are being made")
    name = claim["metadata"]["name"]
    if claims.going(claim):
        using = f": {', '.join(observed.holders)}" if observed.holders else ""
        said = f"claim {name} was deleted and goes when no Pod uses it any more{using}"
        return false(STORAGE_READY, "ClaimDeleted", said)
    if claims.phase(claim) == "Lost":
        return false(STORAGE_READY, "VolumeLost", f"the volume of claim {name} is gone, and is made again")
    return false(STORAGE_READY, "Creating", f"claim {name} waits to be bound to its volume")


def _tier(
    pool: KVCachePool, known: Known, claim: Object | None, observed: Observed, condition: Condition
) -> TierStatus:
    size = known.source.capacity if known.source else _provisioned(pool, claim, observed)
    return TierStatus(
        name="lustre",
        phase=_phase(claim, condition),
        capacity=gib(size) if size and _counts(pool, claim) else None,
        instance=instance_name(pool, observed) if _is_there(pool, known, observed) else None,
    )


def _counts(pool: KVCachePool, claim: Object | None) -> bool:
    """Whether the instance's size is the tier's by now: a larger one that is found again is taken up first."""
    lustre = pool.spec.tiers.lustre
    bound = claim is not None and claims.phase(claim) == "Bound"
    return bound or (lustre is not None and lustre.provisioner == "Existing")


def _phase(claim: Object | None, condition: Condition) -> str:
    if condition.status == "True":
        return "Resizing" if condition.reason == "Resizing" else "Bound"
    if condition.reason in _MAKING:
        return "Provisioning"
    if condition.reason in _WAITING:
        return "Waiting"
    bound = claim is not None and claims.phase(claim) == "Bound" and not claims.going(claim)
    return "Bound" if bound and condition.status == "Unknown" else "Failed"


def _provisioned(pool: KVCachePool, claim: Object | None, observed: Observed) -> int:
    """Bytes of an instance that is not seen, as its volume has last been told."""
    live = observed.child("PersistentVolume", volume_name(pool))
    size = live["spec"].get("capacity", {}).get("storage") if live else None
    return quantities.parse(size) if size else claims.capacity(claim)


def _is_there(pool: KVCachePool, known: Known, observed: Observed) -> bool:
    """Whether the instance exists or was asked for: then the status must remember it."""
    lustre, facts = pool.spec.tiers.lustre, observed.facts.lustre
    seen = facts is not None and facts.instance is not None
    made = (
        observed.child("PersistentVolume", volume_name(pool)) or known.part.operations or last(pool, "Create")
    )
    return bool(seen or made or (lustre and lustre.instance))
