"""Maintenance of the instance: what Google has scheduled, and whether engines leave the shared tier for it.

Engines that bypass it are rolled once before it, and once back after it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from kvtier.api.conditions import MAINTENANCE_SCHEDULED, Condition, false, find, true, unknown
from kvtier.api.quantities import GIB
from kvtier.api.reasons import Reason
from kvtier.api.times import parse
from kvtier.context import Context
from kvtier.data import table
from kvtier.data.lustre_limits import DYNAMIC
from kvtier.facts.model import Instance, Window
from kvtier.plan.events import PoolEvent
from kvtier.plan.lustre.instance import USABLE
from kvtier.plan.model import Part

_LEAD = timedelta(minutes=30)
"""What rolling the engines may take: they load their weights again. Later in the window it is not worth it."""

_LENGTH = timedelta(hours=1)
"""Of a window without an end: docs.cloud.google.com/managed-lustre/docs/maintenance."""

_MAINTAINED = ("UPGRADING", "REPAIRING")


@dataclass(frozen=True)
class Maintenance:
    """MaintenanceScheduled, and Events when maintenance is announced and when engines leave or return.

    `bypass`: engines should run without the shared tier now.
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
    """What comes or is in progress, and where engines are meanwhile.

    Case 1: no shared tier -> nothing to say.
    Case 2: it is not known which instance it is -> Unknown.
    Case 3: the window is near, and engines should bypass it -> they leave the tier.
    Case 4: they have left -> they stay away until the maintenance is over, and while the API cannot be asked.
    Case 5: else they use the tier: what comes, what is in progress, or nothing.
    """
    spec, lustre, now = context.lustre.spec, context.lustre, parse(context.now)
    if spec is None:
        return Maintenance()
    # This condition is the only memory of whether engines have left the tier.
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
    """Whether engines that bypass maintenance run without the tier now. `away`: they do so already."""
    if away and _lasts(instance, period, now):
        return True
    return period is not None and period.start - _LEAD <= now < max(period.start, period.end - _LEAD)


def _lasts(instance: Instance | None, period: _Period | None, now: datetime) -> bool:
    """Whether engines that have left stay away: until the window has passed, or is off, and the instance is well.

    A window that moves by less than the lead, or a clock that is put back a little, brings nobody back.
    """
    if instance is None or instance.state not in USABLE:
        return True
    return period is not None and period.start - 2 * _LEAD <= now < period.end


def _next_moment(period: _Period | None, now: datetime) -> float | None:
    """Seconds until engines leave, the maintenance begins or ends; None where nothing is to come."""
    if period is None:
        return None
    waits = [(moment - now).total_seconds() for moment in (period.start - _LEAD, *period)]
    return min((wait for wait in waits if wait > 0), default=None)


def _rolls(away: bool, bypass: bool, message: str) -> Iterator[PoolEvent]:
    """When engines leave the tier, and when they return."""
    if bypass and not away:
        yield PoolEvent("Normal", "TierBypassed", message)
    if away and not bypass:
        yield PoolEvent("Normal", "TierResumed", f"engines go back to the shared tier: {message}")


def _announcements(last: Condition | None, condition: Condition) -> Iterator[PoolEvent]:
    """An announcement is an Event when it is new, and when it changes."""
    if condition.reason == Reason.SCHEDULED and (last is None or last.message != condition.message):
        yield PoolEvent("Normal", "MaintenanceScheduled", condition.message)


def _bypassed(
    instance: Instance | None, period: _Period | None, error: str | None, now: datetime
) -> Condition:
    """Engines run without the tier."""
    if error is not None:
        why = f", and whether its maintenance is over cannot be told: {error}"
    elif instance is None:
        why = ", and its instance does not exist any more"
    elif period is None or now >= period.end:
        why = f" until {_named(instance)}, which is {instance.state}, is ACTIVE again"
    else:
        why = f" because of maintenance of {_named(instance)} {period}{_extreme(instance)}"
    return true(MAINTENANCE_SCHEDULED, Reason.BYPASSED, f"engines run without the shared tier{why}")


def _used(
    instance: Instance, period: _Period | None, bypasses: bool, has_window: bool, now: datetime
) -> Condition:
    """Engines use the tier. `bypasses`: they will leave it; `has_window`: the pool asks for a maintenance window."""
    coming = period if period and now < period.end else None
    if instance.state in _MAINTAINED or (coming and now >= coming.start):
        return _in_progress(instance, coming)
    if coming:
        return _announced(instance, coming, bypasses)
    text = f"no maintenance of {_named(instance)} is announced"
    if not has_window:
        text += "; the Lustre API announces it only for instances that have a maintenance window"
    return false(MAINTENANCE_SCHEDULED, Reason.NONE_SCHEDULED, text)


def _in_progress(instance: Instance, period: _Period | None) -> Condition:
    if instance.state == "REPAIRING":
        text = (
            f"Google repairs {_named(instance)}: engines keep the tier, and reads and writes may hang meanwhile; if it "
            "stays so, ask Google's support"
        )
    else:
        when = f" ({period})" if period else ""
        hang = f"reads and writes may hang for {_usual()}{_extreme(instance)} and go on by themselves"
        text = f"maintenance of {_named(instance)} is in progress{when}: engines keep the tier, {hang}"
    return true(MAINTENANCE_SCHEDULED, Reason.IN_PROGRESS, text)


def _announced(instance: Instance, period: _Period, bypasses: bool) -> Condition:
    if bypasses:
        since = _text(period.start - _LEAD)
        effect = f"engines are rolled from {since} on to run without the shared tier, and back after it"
        effect += _extreme(instance)
    else:
        effect = f"reads and writes hang for {_usual()}{_extreme(instance)} and go on by themselves"
    text = f"Google maintains {_named(instance)} {period}: {effect}"
    return true(MAINTENANCE_SCHEDULED, Reason.SCHEDULED, text)


def _without_instance(asked: bool, error: str | None) -> Condition:
    """`asked`: it is known which instance the tier is, `error`: why the API says nothing of it."""
    if error is not None:
        return unknown(MAINTENANCE_SCHEDULED, Reason.LUSTRE_API_UNAVAILABLE, error)
    if asked:
        return false(MAINTENANCE_SCHEDULED, Reason.NONE_SCHEDULED, "there is no instance yet")
    text = "which instance the tier is is known when its claim is bound, or sooner with spec.cluster"
    return unknown(MAINTENANCE_SCHEDULED, Reason.INSTANCE_UNKNOWN, text)


def _named(instance: Instance) -> str:
    return f"instance {instance.name.rpartition('/')[2]}"


def _text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _usual() -> str:
    minutes = table("lustre_maintenance")["usualMinutes"]
    return f"{minutes['least']} to {minutes['most']} minutes"


def _extreme(instance: Instance) -> str:
    """Of the largest instances, which may be down for longer."""
    numbers = table("lustre_maintenance")
    most = numbers["extremeAbove"].get(instance.throughput or DYNAMIC)
    if most is None or instance.capacity <= most * GIB:
        return ""
    return f" (at this size perhaps for up to {numbers['extremeHours']} hours)"
