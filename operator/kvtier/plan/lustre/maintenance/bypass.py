"""When engines leave the shared tier because of maintenance, and when they come back: one roll each way."""

from datetime import datetime, timedelta

from kvtier.facts.model import Instance, Window

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
