"""Times in the format of Kubernetes: RFC 3339."""

import math
from datetime import UTC, datetime, timedelta

_NEVER = datetime.min.replace(tzinfo=UTC)


def parse(text: str | None) -> datetime:
    """Parse a time. A time that is missing or unreadable, so not from kvtier, is earlier than all others."""
    try:
        read = datetime.fromisoformat(text or "")
    except ValueError:
        return _NEVER
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def elapsed(since: str | None, now: str) -> float:
    """Seconds between two times; infinite if the first is missing or unreadable."""
    began = parse(since)
    return math.inf if began == _NEVER else (parse(now) - began).total_seconds()


def after(time: str, wait: timedelta) -> datetime:
    """The moment `wait` after a time."""
    return parse(time) + wait


def text(moment: datetime) -> str:
    """A moment in the format of Kubernetes: UTC, in whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
