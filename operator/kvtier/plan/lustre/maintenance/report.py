"""MaintenanceScheduled in words."""

from kvtier.api.conditions import MAINTENANCE_SCHEDULED, Condition, false, true, unknown
from kvtier.api.quantities import GIB
from kvtier.api.v1alpha1 import LustreTier
from kvtier.api.v1alpha1.limits import DYNAMIC
from kvtier.data import table
from kvtier.facts.model import Instance, Window
from kvtier.plan.lustre.maintenance.bypass import LEAD, span
from kvtier.plan.notices import Notice
from kvtier.plan.summary import BYPASSED

SCHEDULED, IN_PROGRESS, NONE = "Scheduled", "InProgress", "NoneScheduled"


def announced(instance: Instance, window: Window, leaves: bool) -> Condition:
    """What comes; `leaves` is whether engines will leave the tier."""
    effect = f"reads and writes hang for {_minutes()}{_extreme(instance)} and go on by themselves"
    if leaves:
        since = _text(span(window)[0] - LEAD)
        effect = f"engines are rolled from {since} on to run without the shared tier, and back after it"
        effect += _extreme(instance)
    return _true(SCHEDULED, f"Google maintains {_named(instance)} {_between(window)}: {effect}")


def going_on(instance: Instance, window: Window | None) -> Condition:
    """What goes on while engines use the tier."""
    when = f" ({_between(window)})" if window else ""
    hang = f"reads and writes may hang for {_minutes()}{_extreme(instance)} and go on by themselves"
    if instance.state == "REPAIRING":
        return _true(
            IN_PROGRESS,
            f"Google repairs {_named(instance)}: engines keep the tier, and reads and writes may hang meanwhile; if it "
            "stays so, ask Google's support",
        )
    return _true(
        IN_PROGRESS, f"maintenance of {_named(instance)} is in progress{when}: engines keep the tier, {hang}"
    )


def left(instance: Instance | None, over: bool, error: str | None) -> Condition:
    """Engines run without the tier; `over` is whether the window has passed."""
    without = "engines run without the shared tier"
    if error is not None:
        return _true(BYPASSED, f"{without}, and whether its maintenance is over cannot be told: {error}")
    if instance is None:
        return _true(BYPASSED, f"{without}, and its instance does not exist any more")
    if instance.window is None or over:
        return _true(
            BYPASSED, f"{without} until {_named(instance)}, which is {instance.state}, is ACTIVE again"
        )
    when = _between(instance.window)
    return _true(
        BYPASSED, f"{without} because of maintenance of {_named(instance)} {when}{_extreme(instance)}"
    )


def none(instance: Instance | None, lustre: LustreTier) -> Condition:
    """Nothing comes, as far as the API tells."""
    if instance is None:
        return false(MAINTENANCE_SCHEDULED, NONE, "there is no instance yet")
    text = f"no maintenance of {_named(instance)} is announced"
    if lustre.maintenance_window is None:
        text += "; the Lustre API announces it only for instances that have a maintenance window"
    return false(MAINTENANCE_SCHEDULED, NONE, text)


def unseen(error: str | None) -> Condition:
    """The API does not tell."""
    if error is not None:
        return unknown(MAINTENANCE_SCHEDULED, "LustreAPIUnavailable", error)
    return unknown(
        MAINTENANCE_SCHEDULED,
        "InstanceUnknown",
        "which instance the tier is is known when its claim is bound, or sooner with spec.cluster",
    )


def notices(before: Condition | None, after: Condition, window: Window | None) -> tuple[Notice, ...]:
    """Events of what has changed since the status was written."""
    was = before.reason if before else ""
    told = [Notice("Normal", "TierBypassed", after.message)] if after.reason == BYPASSED != was else []
    if was == BYPASSED != after.reason:
        told.append(Notice("Normal", "TierResumed", f"engines go back to the shared tier: {after.message}"))
    news = (
        before is None or was != SCHEDULED or (window is not None and _between(window) not in before.message)
    )
    if after.reason == SCHEDULED and news:
        told.append(Notice("Normal", "MaintenanceScheduled", after.message))
    return tuple(told)


def _true(reason: str, message: str) -> Condition:
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
