"""Kubernetes Events as News, in either shape: core/v1 as client-go writes it, and events.k8s.io with its series."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from kvtier.facts.model import News
from kvtier.facts.objects import Object

_COMBINED = "(combined from similar events): "
"""How client-go (tools/record/events_cache.go) marks an Event that stands for several messages."""

_NEVER = datetime.min.replace(tzinfo=UTC)


def newest_first(events: Iterable[Object], most: int) -> tuple[News, ...]:
    """At most so many, each message of an object and reason once, with its last and first times."""
    found: dict[tuple[str, str, str], News] = {}
    for event in events:
        one = news(event)
        key = (one.name, one.reason, one.message)
        found[key] = _joined(found[key], one) if key in found else one
    ordered = sorted(found.values(), key=lambda one: (time(one.last), one.name, one.message), reverse=True)
    return tuple(ordered[:most])


def news(event: Object) -> News:
    """One Event. What it lacks is empty; times are RFC 3339 as they stand there."""
    about, series = _about(event), event.get("series") or {}
    first = event.get("firstTimestamp") or event.get("deprecatedFirstTimestamp") or event.get("eventTime")
    last = event.get("lastTimestamp") or event.get("deprecatedLastTimestamp")
    created = (event.get("metadata") or {}).get("creationTimestamp")
    times = [one for one in (series.get("lastObservedTime"), last, event.get("eventTime"), created) if one]
    return News(
        kind=about.get("kind") or "",
        name=about.get("name") or "",
        reason=event.get("reason") or "",
        message=(event.get("message") or event.get("note") or "").removeprefix(_COMBINED),
        type=event.get("type") or "Normal",
        first=first or created or "",
        last=max(times, key=time, default=""),
        count=max(_number(event, "count"), _number(event, "deprecatedCount"), _number(series, "count"), 1),
    )


def concerns(event: Object, kind: str, uid: str = "") -> bool:
    """Whether an Event is about an object of this kind, and this uid if one is given."""
    about = _about(event)
    return about.get("kind") == kind and uid in ("", about.get("uid"))


def time(text: str) -> datetime:
    """An RFC 3339 time; one that cannot be read lies before all others."""
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return _NEVER
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def _about(event: Object) -> dict[str, Any]:
    return event.get("involvedObject") or event.get("regarding") or {}


def _number(of: Object, key: str) -> int:
    return of.get(key) or 0


def _joined(one: News, other: News) -> News:
    newer = max(one, other, key=lambda news: time(news.last))
    firsts = [news.first for news in (one, other) if news.first]
    return replace(newer, first=min(firsts, key=time, default=""), count=one.count + other.count)
