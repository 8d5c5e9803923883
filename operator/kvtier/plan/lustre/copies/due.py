"""Which time of the export schedule is to be seen to."""

from datetime import datetime, timedelta

from kvtier.api.conditions import STORAGE_READY, TIER_WRITABLE
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.plan.lustre.copies import schedule
from kvtier.plan.lustre.operations import last

_AHEAD = timedelta(days=1)
"""A last export further ahead than this was made while the clock was wrong, and counts for nothing."""


def slot(pool: KVCachePool, expression: str, now: str) -> str | None:
    """The latest time of the schedule, if it is not older than what was seen to; None if there is none.

    Of several that were missed only the latest counts. The first one is after the tier became usable.
    """
    latest = schedule.latest(expression, now)
    if latest is None:
        return None
    known = last(pool, "Export")
    seen_to = _time(known.subject) if known else None
    if seen_to and seen_to <= datetime.fromisoformat(now) + _AHEAD:
        return latest if datetime.fromisoformat(latest) >= seen_to else None
    since = _usable_since(pool, now)
    return latest if since < datetime.fromisoformat(latest) or since > datetime.fromisoformat(now) else None


def _usable_since(pool: KVCachePool, now: str) -> datetime:
    times = {c.type: c.last_transition_time for c in pool.status.conditions if c.status == "True"}
    return datetime.fromisoformat(times.get(TIER_WRITABLE) or times.get(STORAGE_READY) or now)


def _time(subject: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(subject)
    except ValueError:
        return None
    return found if found.tzinfo else None
