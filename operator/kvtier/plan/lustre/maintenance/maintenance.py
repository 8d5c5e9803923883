"""MaintenanceScheduled: what Google has announced for the instance, and what engines do about it."""

from datetime import datetime

from kvtier.api.conditions import MAINTENANCE_SCHEDULED, Condition
from kvtier.api.v1alpha1 import KVCachePool, LustreTier
from kvtier.facts.model import Instance, Observed
from kvtier.plan.lustre.maintenance import bypass, report
from kvtier.plan.model import Part
from kvtier.plan.summary import BYPASSED

_MOVING = ("UPGRADING", "REPAIRING")


def plan_maintenance(pool: KVCachePool, observed: Observed, now: str) -> Part:
    """The announcement as a condition, and Events when it comes and when engines leave or return."""
    lustre, seen = pool.spec.tiers.lustre, observed.facts.lustre
    if lustre is None:
        return Part()
    before = next((c for c in pool.status.conditions if c.type == MAINTENANCE_SCHEDULED), None)
    after = _condition(pool, lustre, observed, before, now)
    window = seen.instance.window if seen and seen.instance else None
    return Part(
        conditions=(after,),
        notices=report.notices(before, after, window),
        again=bypass.next_change(window, now),
    )


def bypassed(pool: KVCachePool, part: Part) -> bool:
    """Whether engines should run without the tier now."""
    return any(condition.reason == BYPASSED for condition in part.conditions)


def _condition(
    pool: KVCachePool, lustre: LustreTier, observed: Observed, before: Condition | None, now: str
) -> Condition:
    """Where things stand.

    Case 1: the instance is not known -> Unknown.
    Case 2: engines have left the tier -> they stay away until the maintenance is over; while nobody tells, too.
    Case 3: the API does not tell -> Unknown, and engines stay where they are.
    Case 4: the window is near and engines should not ride it -> they leave the tier.
    Case 5: else they stay: what comes, what goes on, or nothing.
    """
    seen = observed.facts.lustre
    if seen is None:
        return report.unseen(None)
    leaves = lustre.maintenance == "Bypass" and pool.spec.mode == "Opportunistic"
    away = before is not None and before.reason == BYPASSED
    if leaves and away and (seen.error or bypass.lasts(seen.instance, now)):
        return report.left(seen.instance, _over(seen.instance, now), seen.error)
    if seen.error is not None:
        return report.unseen(seen.error)
    if leaves and seen.instance and bypass.begins(seen.instance.window, now):
        return report.left(seen.instance, False, None)
    return _using(seen.instance, lustre, leaves, now)


def _using(instance: Instance | None, lustre: LustreTier, leaves: bool, now: str) -> Condition:
    if instance is None:
        return report.none(None, lustre)
    window = None if _over(instance, now) else instance.window
    if instance.state in _MOVING:
        return report.going_on(instance, window)
    if window is None:
        return report.none(instance, lustre)
    if datetime.fromisoformat(now) >= bypass.span(window)[0]:
        return report.going_on(instance, window)
    return report.announced(instance, window, leaves)


def _over(instance: Instance | None, now: str) -> bool:
    """Whether a window is told that has passed."""
    window = instance.window if instance else None
    return window is not None and datetime.fromisoformat(now) >= bypass.span(window)[1]
