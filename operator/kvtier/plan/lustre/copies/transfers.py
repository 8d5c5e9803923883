"""CloudStorageSynced: copies between the shared tier and Cloud Storage, one at a time."""

from kvtier.api.conditions import Condition
from kvtier.api.v1alpha1 import CloudStorageTier, KVCachePool, TierStatus
from kvtier.facts.model import Instance, Observed
from kvtier.plan.lustre.copies import copies
from kvtier.plan.lustre.copies.copying import copying
from kvtier.plan.lustre.copies.last_export import LastExport, last_export
from kvtier.plan.lustre.copies.unseen import unseen
from kvtier.plan.lustre.operations import POLL_SECONDS
from kvtier.plan.model import Part, soonest
from kvtier.plan.notices import COPY_FAILURES

__all__ = ["LastExport", "imported", "last_export", "plan_transfers"]

_LOOK_SECONDS = 60.0
"""While engines wait for an import that cannot be asked for."""

_IMPORTING = "Importing"
"""Phase of the tier while engines wait for the import."""


def plan_transfers(pool: KVCachePool, observed: Observed, usable: bool, now: str) -> Part:
    """The transfer that is under way or due; `usable` is whether the tier can be written to by now.

    Case 1: no Cloud Storage -> what was copied is remembered.
    Case 2: the instance cannot be seen -> nothing is asked for; engines do not wait for that for ever.
    Case 3: the import is not settled -> it goes first, and engines wait for it.
    Case 4: a time of the schedule has come -> one export, however many times were missed.
    """
    tier, seen = pool.spec.tiers.cloud_storage, observed.facts.lustre
    if tier is None:
        known = copies.remembered(pool, observed.facts, now)
        return Part(operations=tuple(one for one in known if copies.begun(one)))
    reached = usable or copies.reached(pool, observed)
    if seen is None or seen.instance is None:
        return _blind(pool, tier, observed, reached, now)
    hold = _hold(pool, seen.instance, usable)
    both = copying(pool, observed.facts, seen.instance, hold, now)
    condition = both.condition()
    return Part(
        conditions=(condition,),
        tiers=(_tier(condition, reached, both.engines_wait),),
        calls=(*both.imports.calls, *both.exports.calls),
        operations=(*both.imports.operations, *both.exports.operations),
        again=both.again(),
    )


def imported(pool: KVCachePool, part: Part) -> bool:
    """Whether engines need not wait for the import any more."""
    return all(tier.phase != _IMPORTING for tier in part.tiers)


def _blind(pool: KVCachePool, tier: CloudStorageTier, observed: Observed, reached: bool, now: str) -> Part:
    condition, wait = unseen(pool, tier, observed, reached, now)
    known = copies.remembered(pool, observed.facts, now)
    polls = [POLL_SECONDS for one in known if one.state == "Running"]
    looks = [] if wait is None else [wait, _LOOK_SECONDS]
    status = _tier(condition, reached, wait is not None)
    return Part(conditions=(condition,), tiers=(status,), operations=known, again=soonest(*looks, *polls))


def _hold(pool: KVCachePool, instance: Instance, usable: bool) -> str:
    """Why no copy may begin now, empty if one may."""
    changing = [one.kind for one in pool.status.operations if one.state == "Running"]
    if not usable:
        return "the shared tier cannot be written to now"
    if {"Create", "Update", "Delete"}.intersection(changing):
        return "the instance is being changed"
    return "" if instance.state == "ACTIVE" else f"the instance is {instance.state}"


def _tier(condition: Condition, reached: bool, engines_wait: bool) -> TierStatus:
    phase = "Failed" if condition.reason in COPY_FAILURES else "Configured"
    if engines_wait:
        phase = _IMPORTING
    return TierStatus(name="cloudStorage", phase=phase if reached else copies.WAITING)
