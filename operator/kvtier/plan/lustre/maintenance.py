"""When engines leave the shared tier because of maintenance, and when they come back: one roll each way."""

from datetime import datetime, timedelta

from kvtier.api.conditions import MAINTENANCE_SCHEDULED, Condition, false, true, unknown
from kvtier.api.quantities import GIB
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool, LustreTier
from kvtier.data import table
from kvtier.data.lustre_limits import DYNAMIC
from kvtier.facts.model import Instance, Observed, Window
from kvtier.plan.events import PoolEvent
from kvtier.plan.model import Part

LEAD = timedelta(minutes=30)
"""What rolling the engines may take: model weights are loaded anew. Later in the window it is not worth it."""

_WINDOW = timedelta(hours=1)
"""How long a window is whose end is not told: docs.cloud.google.com/managed-lustre/docs/maintenance."""

_USABLE = ("ACTIVE", "UPDATING")


def span(window: Window) -> tuple[datetime, datetime]:
    """Start and end."""
    start = datetime.fromisoformat(window.start)
    end = datetime.fromisoformat(window.end) if window.end else start
    return start, end if end > start else start + _WINDOW


def begins(window: Window | None, now: str) -> bool:
    """Whether it is time to leave."""
    if window is None:
        return False
    start, end = span(window)
    return start - LEAD <= datetime.fromisoformat(now) < max(start, end - LEAD)


def lasts(instance: Instance | None, now: str) -> bool:
    """Whether engines that have left stay away: until the window has passed, or is off, and the instance is well.

    A window that moves by less than the lead, or a clock that is put back a little, brings nobody back.
    """
    if instance is None or instance.state not in _USABLE:
        return True
    if instance.window is None:
        return False
    start, end = span(instance.window)
    return start - 2 * LEAD <= datetime.fromisoformat(now) < end


def next_change(window: Window | None, now: str) -> float | None:
    """Seconds until the next moment that counts, None if there is none."""
    if window is None:
        return None
    start, end = span(window)
    waits = [(moment - datetime.fromisoformat(now)).total_seconds() for moment in (start - LEAD, start, end)]
    return min((wait for wait in waits if wait > 0), default=None)


def _announced(instance: Instance, window: Window, leaves: bool) -> Condition:
    """What comes; `leaves` is whether engines will leave the tier."""
    effect = f"reads and writes hang for {_minutes()}{_extreme(instance)} and go on by themselves"
    if leaves:
        since = _text(span(window)[0] - LEAD)
        effect = f"engines are rolled from {since} on to run without the shared tier, and back after it"
        effect += _extreme(instance)
    return _true(Reason.SCHEDULED, f"Google maintains {_named(instance)} {_between(window)}: {effect}")


def _in_progress(instance: Instance, window: Window | None) -> Condition:
    """What goes on while engines use the tier."""
    when = f" ({_between(window)})" if window else ""
    hang = f"reads and writes may hang for {_minutes()}{_extreme(instance)} and go on by themselves"
    if instance.state == "REPAIRING":
        return _true(
            Reason.IN_PROGRESS,
            f"Google repairs {_named(instance)}: engines keep the tier, and reads and writes may hang meanwhile; if it "
            "stays so, ask Google's support",
        )
    return _true(
        Reason.IN_PROGRESS,
        f"maintenance of {_named(instance)} is in progress{when}: engines keep the tier, {hang}",
    )


def _bypassed(instance: Instance | None, over: bool, error: str | None) -> Condition:
    """Engines run without the tier; `over` is whether the window has passed."""
    without = "engines run without the shared tier"
    if error is not None:
        return _true(
            Reason.BYPASSED, f"{without}, and whether its maintenance is over cannot be told: {error}"
        )
    if instance is None:
        return _true(Reason.BYPASSED, f"{without}, and its instance does not exist any more")
    if instance.window is None or over:
        return _true(
            Reason.BYPASSED, f"{without} until {_named(instance)}, which is {instance.state}, is ACTIVE again"
        )
    when = _between(instance.window)
    return _true(
        Reason.BYPASSED, f"{without} because of maintenance of {_named(instance)} {when}{_extreme(instance)}"
    )


def _none_scheduled(instance: Instance | None, lustre: LustreTier) -> Condition:
    """Nothing comes, as far as the API tells."""
    if instance is None:
        return false(MAINTENANCE_SCHEDULED, Reason.NONE_SCHEDULED, "there is no instance yet")
    text = f"no maintenance of {_named(instance)} is announced"
    if lustre.maintenance_window is None:
        text += "; the Lustre API announces it only for instances that have a maintenance window"
    return false(MAINTENANCE_SCHEDULED, Reason.NONE_SCHEDULED, text)


def _unseen(error: str | None) -> Condition:
    """The API does not tell."""
    if error is not None:
        return unknown(MAINTENANCE_SCHEDULED, Reason.LUSTRE_API_UNAVAILABLE, error)
    return unknown(
        MAINTENANCE_SCHEDULED,
        Reason.INSTANCE_UNKNOWN,
        "which instance the tier is is known when its claim is bound, or sooner with spec.cluster",
    )


def _changes(before: Condition | None, after: Condition, window: Window | None) -> tuple[PoolEvent, ...]:
    """Events of what has changed since the status was written."""
    was = before.reason if before else ""
    told = (
        [PoolEvent("Normal", "TierBypassed", after.message)] if after.reason == Reason.BYPASSED != was else []
    )
    if was == Reason.BYPASSED != after.reason:
        told.append(
            PoolEvent("Normal", "TierResumed", f"engines go back to the shared tier: {after.message}")
        )
    news = (
        before is None
        or was != Reason.SCHEDULED
        or (window is not None and _between(window) not in before.message)
    )
    if after.reason == Reason.SCHEDULED and news:
        told.append(PoolEvent("Normal", "MaintenanceScheduled", after.message))
    return tuple(told)


def _true(reason: Reason, message: str) -> Condition:
    return true(MAINTENANCE_SCHEDULED, reason, message)


def _named(instance: Instance) -> str:
    return f"instance {instance.name.rpartition('/')[2]}"


def _between(window: Window) -> str:
    start, end = span(window)
    return f"from {_text(start)} to {_text(end)}"


def _text(moment: object) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _minutes() -> str:
    usual = table("lustre_maintenance")["usualMinutes"]
    return f"{usual['least']} to {usual['most']} minutes"


def _extreme(instance: Instance) -> str:
    known = table("lustre_maintenance")
    most = known["extremeAbove"].get(instance.throughput or DYNAMIC)
    if most is None or instance.capacity <= most * GIB:
        return ""
    return f" (at this size perhaps for up to {known['extremeHours']} hours)"


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
        events=_changes(before, after, window),
        again=next_change(window, now),
    )


def bypassed(pool: KVCachePool, part: Part) -> bool:
    """Whether engines should run without the tier now."""
    return any(condition.reason == Reason.BYPASSED for condition in part.conditions)


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
        return _unseen(None)
    leaves = lustre.maintenance == "Bypass" and pool.spec.mode == "Opportunistic"
    away = before is not None and before.reason == Reason.BYPASSED
    if leaves and away and (seen.error or lasts(seen.instance, now)):
        return _bypassed(seen.instance, _over(seen.instance, now), seen.error)
    if seen.error is not None:
        return _unseen(seen.error)
    if leaves and seen.instance and begins(seen.instance.window, now):
        return _bypassed(seen.instance, False, None)
    return _using(seen.instance, lustre, leaves, now)


def _using(instance: Instance | None, lustre: LustreTier, leaves: bool, now: str) -> Condition:
    if instance is None:
        return _none_scheduled(None, lustre)
    window = None if _over(instance, now) else instance.window
    if instance.state in _MOVING:
        return _in_progress(instance, window)
    if window is None:
        return _none_scheduled(instance, lustre)
    if datetime.fromisoformat(now) >= span(window)[0]:
        return _in_progress(instance, window)
    return _announced(instance, window, leaves)


def _over(instance: Instance | None, now: str) -> bool:
    """Whether a window is told that has passed."""
    window = instance.window if instance else None
    return window is not None and datetime.fromisoformat(now) >= span(window)[1]
