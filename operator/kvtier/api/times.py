"""Times in the format of Kubernetes: RFC 3339."""

import math
from datetime import UTC, datetime

_NEVER, _LAST = datetime(2, 1, 1, tzinfo=UTC), datetime(9998, 12, 31, tzinfo=UTC)
"""The first and the last time. Both leave a year for sums and time zones: beyond that, Python raises an exception."""


def parse(text: str | None) -> datetime:
    """Parse a time, in UTC. A time that is missing or unreadable, so not from kvtier, is earlier than all others."""
    try:
        read = datetime.fromisoformat(text or "")
    except ValueError:
        return _NEVER
    known = read if read.tzinfo else read.replace(tzinfo=UTC)
    return min(max(known, _NEVER), _LAST).astimezone(UTC)


def elapsed(since: str | None, now: str) -> float:
    """Seconds between two times; infinite if the first is missing or unreadable."""
    began = parse(since)
    return math.inf if began == _NEVER else (parse(now) - began).total_seconds()


def text(moment: datetime) -> str:
    """A moment in the format of Kubernetes: UTC, in whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
