"""Maintenance of the Lustre instance: what Google scheduled, and whether engines run without the Lustre tier.

Engines that bypass maintenance roll out once before it, and once after it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from kvtier.api.conditions import MAINTENANCE_SCHEDULED, Condition, false, find, true, unknown
from kvtier.api.quantities import GIB
from kvtier.api.reasons import Reason
from kvtier.api.sentences import sentences
from kvtier.api.times import parse
from kvtier.context import Context
from kvtier.data import table
from kvtier.data.lustre_limits import DYNAMIC
from kvtier.facts.model import Instance, Window
from kvtier.plan.events import PoolEvent
from kvtier.plan.lustre.instance import USABLE
from kvtier.plan.model import Part

_LEAD = timedelta(minutes=30)
"""Time for the rollout of the engines, which load their weights again. In the last 30 minutes it is not worth it."""

_LENGTH = timedelta(hours=1)
"""Length of a window without an end (docs.cloud.google.com/managed-lustre/docs/maintenance)."""

_MAINTAINED = ("UPGRADING", "REPAIRING")


@dataclass(frozen=True)
class Maintenance:
    """MaintenanceScheduled, and Events when maintenance is scheduled and when engines leave or return.

    `bypass`: engines should run without the Lustre tier now.
    """

    part: Part = field(default_factory=Part)
    bypass: bool = False


class _Period(NamedTuple):
    """When the maintenance takes place."""

    start: datetime
    end: datetime

    def __str__(self) -> str:
        return f"from {_text(self.start)} to {_text(self.end)}"


def plan_maintenance(context: Context) -> Maintenance:
    """Maintenance that is scheduled or in progress, and whether engines bypass it.

    Case 1: no Lustre tier -> report nothing.
    Case 2: the instance is unknown -> Unknown.
    Case 3: the window is near, and the spec says Bypass -> engines leave the tier.
    Case 4: engines left -> they stay away until the maintenance is over, and while the API returns nothing.
    Case 5: otherwise engines use the tier -> report maintenance that is scheduled, in progress, or neither.
    """
    spec, lustre, now = context.lustre.spec, context.lustre, parse(context.now)
    if spec is None:
        return Maintenance()
    # Only this condition records that engines left the tier.
    last = find(context.pool.status.conditions, MAINTENANCE_SCHEDULED)
    away = last is not None and last.reason == Reason.BYPASSED
    bypasses = spec.maintenance == "Bypass" and context.pool.spec.mode == "Opportunistic"
    period = _period(lustre.instance.window) if lustre.instance else None
    bypass = bypasses and lustre.api is not None and _leave(lustre.instance, period, away, now)
    if bypass:
        condition = _bypassed(lustre.instance, period, lustre.error, now)
    elif lustre.instance:
        condition = _used(lustre.instance, period, bypasses, spec.maintenance_window is not None, now)
    else:
        condition = _without_instance(lustre.api is not None, lustre.error)
    events = (*_rolls(away, bypass, condition.message), *_announcements(last, condition))
    return Maintenance(Part(conditions=(condition,), events=events, again=_next_moment(period, now)), bypass)


def _period(window: Window | None) -> _Period | None:
    if window is None:
        return None
    start = parse(window.start)
    end = parse(window.end) if window.end else start
    return _Period(start, end if end > start else start + _LENGTH)


def _leave(instance: Instance | None, period: _Period | None, away: bool, now: datetime) -> bool:
    """Whether engines that bypass maintenance run without the tier now. `away`: they already do."""
    if away and _lasts(instance, period, now):
        return True
    return period is not None and period.start - _LEAD <= now < max(period.start, period.end - _LEAD)


def _lasts(instance: Instance | None, period: _Period | None, now: datetime) -> bool:
    """Whether engines that left stay away: until the window is over or cancelled, and the instance is usable.

    They do not return for a window that moves by less than the lead, or for a clock that is set back a little.
    """
    if instance is None or instance.state not in USABLE:
        return True
    return period is not None and period.start - 2 * _LEAD <= now < period.end


def _next_moment(period: _Period | None, now: datetime) -> float | None:
    """Seconds until engines leave, or maintenance starts or ends; None if none of these is ahead."""
    if period is None:
        return None
    waits = [(moment - now).total_seconds() for moment in (period.start - _LEAD, *period)]
    return min((wait for wait in waits if wait > 0), default=None)


def _rolls(away: bool, bypass: bool, message: str) -> Iterator[PoolEvent]:
    """Events when engines leave the tier, and when they return."""
    if bypass and not away:
        yield PoolEvent("Normal", "TierBypassed", message)
    if away and not bypass:
        yield PoolEvent("Normal", "TierResumed", f"Engines use the Lustre tier again. {message}")


def _announcements(last: Condition | None, condition: Condition) -> Iterator[PoolEvent]:
    """An Event when maintenance is scheduled, and when the schedule changes."""
    if condition.reason == Reason.SCHEDULED and (last is None or last.message != condition.message):
        yield PoolEvent("Normal", "MaintenanceScheduled", condition.message)


def _bypassed(
    instance: Instance | None, period: _Period | None, error: str | None, now: datetime
) -> Condition:
    """Engines run without the tier."""
    if error is not None:
        text = sentences("Engines run without the Lustre tier. The end of its maintenance is unknown", error)
    elif instance is None:
        text = "Engines run without the Lustre tier, because its instance no longer exists. See StorageReady."
    elif period is None or now >= period.end:
        text = (
            f"Engines run without the Lustre tier until {_named(instance)} is ACTIVE. It is {instance.state}."
        )
    else:
        when = f"{_named(instance)} {period}{_extreme(instance)}"
        text = f"Engines run without the Lustre tier because of maintenance of {when}."
    return true(MAINTENANCE_SCHEDULED, Reason.BYPASSED, text)


def _used(
    instance: Instance, period: _Period | None, bypasses: bool, has_window: bool, now: datetime
) -> Condition:
    """Engines use the tier. `bypasses`: they leave it for maintenance. `has_window`: the spec sets a window."""
    coming = period if period and now < period.end else None
    if instance.state in _MAINTAINED or (coming and now >= coming.start):
        return _in_progress(instance, coming)
    if coming:
        return _announced(instance, coming, bypasses)
    window = "" if has_window else "The Lustre API reports it only for instances with a maintenance window"
    text = sentences(f"No maintenance of {_named(instance)} is scheduled", window)
    return false(MAINTENANCE_SCHEDULED, Reason.NONE_SCHEDULED, text)


def _in_progress(instance: Instance, period: _Period | None) -> Condition:
    if instance.state == "REPAIRING":
        text = (
            f"Google is repairing {_named(instance)}. Engines keep the Lustre tier, but reads and writes may hang. If "
            "this persists, contact Google Cloud support."
        )
    else:
        when = f" ({period})" if period else ""
        hang = (
            f"Reads and writes may hang for {_usual()}{_extreme(instance)}, and then continue automatically"
        )
        text = (
            f"Maintenance of {_named(instance)} is in progress{when}. Engines keep the Lustre tier. {hang}."
        )
    return true(MAINTENANCE_SCHEDULED, Reason.IN_PROGRESS, text)


def _announced(instance: Instance, period: _Period, bypasses: bool) -> Condition:
    if bypasses:
        since = _text(period.start - _LEAD)
        text = sentences(
            f"Maintenance of {_named(instance)} is scheduled {period}{_extreme(instance)}",
            f"Engines run without the Lustre tier from {since} until the maintenance is over",
        )
    else:
        text = sentences(
            f"Maintenance of {_named(instance)} is scheduled {period}",
            f"Reads and writes hang for {_usual()}{_extreme(instance)}, and then continue automatically",
        )
    return true(MAINTENANCE_SCHEDULED, Reason.SCHEDULED, text)


def _without_instance(asked: bool, error: str | None) -> Condition:
    """The API returned no instance. `asked`: its name is known. `error`: why the API did not return it."""
    if error is not None:
        return unknown(MAINTENANCE_SCHEDULED, Reason.LUSTRE_API_UNAVAILABLE, error)
    if asked:
        return false(MAINTENANCE_SCHEDULED, Reason.NONE_SCHEDULED, "The instance does not exist yet.")
    text = "The instance is not known until the PVC is bound. Set spec.cluster to look it up earlier."
    return unknown(MAINTENANCE_SCHEDULED, Reason.INSTANCE_UNKNOWN, text)


def _named(instance: Instance) -> str:
    return f"instance {instance.name.rpartition('/')[2]}"


def _text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _usual() -> str:
    minutes = table("lustre_maintenance")["usualMinutes"]
    return f"{minutes['least']} to {minutes['most']} minutes"


def _extreme(instance: Instance) -> str:
    """How long maintenance of the largest instances may take; empty for smaller ones."""
    numbers = table("lustre_maintenance")
    most = numbers["extremeAbove"].get(instance.throughput or DYNAMIC)
    if most is None or instance.capacity <= most * GIB:
        return ""
    return f" (up to {numbers['extremeHours']} hours for an instance of this size)"
