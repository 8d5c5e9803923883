"""Times as Kubernetes writes them: RFC 3339."""

import math
from datetime import UTC, datetime, timedelta

_NEVER = datetime.min.replace(tzinfo=UTC)


def parse(text: str | None) -> datetime:
    """The time; one that is missing or cannot be read, which kvtier has not written, lies before all others."""
    try:
        read = datetime.fromisoformat(text or "")
    except ValueError:
        return _NEVER
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def elapsed(since: str | None, now: str) -> float:
    """Seconds between two times; infinite where the first cannot be read."""
    began = parse(since)
    return math.inf if began == _NEVER else (parse(now) - began).total_seconds()


def after(time: str, wait: timedelta) -> datetime:
    """The moment that lies `wait` after a time."""
    return parse(time) + wait


def text(moment: datetime) -> str:
    """A moment as Kubernetes writes it, in whole seconds of UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
