"""Events in both of their shapes, and with everything missing that can be missing."""

from typing import Any

from kvtier.facts.events import newest_first, news
from kvtier.facts.model import Event
from unit.tables import table

ABOUT = {"kind": "Pod", "name": "chat-1", "uid": "pod-uid"}
SAID = {"reason": "FailedMount", "message": "no", "type": "Warning"}
EARLY, LATE = "2026-11-29T11:00:00Z", "2026-11-29T11:30:00Z"


@table(
    "event, told",
    {
        "client-go's shape": (
            {"involvedObject": ABOUT, **SAID, "firstTimestamp": EARLY, "lastTimestamp": LATE, "count": 7},
            Event("Pod", "chat-1", "FailedMount", "no", "Warning", EARLY, LATE, 7),
        ),
        "the scheduler's shape, read through core/v1": (
            {
                "involvedObject": ABOUT,
                **SAID,
                "eventTime": "2026-11-29T11:00:00.000001Z",
                "firstTimestamp": None,
                "lastTimestamp": None,
                "series": {"count": 4, "lastObservedTime": "2026-11-29T11:30:00.000002Z"},
            },
            Event(
                "Pod",
                "chat-1",
                "FailedMount",
                "no",
                "Warning",
                "2026-11-29T11:00:00.000001Z",
                "2026-11-29T11:30:00.000002Z",
                4,
            ),
        ),
        "the shape of events.k8s.io itself": (
            {
                "regarding": ABOUT,
                "reason": "FailedMount",
                "note": "no",
                "type": "Warning",
                "deprecatedFirstTimestamp": EARLY,
                "deprecatedLastTimestamp": LATE,
                "deprecatedCount": 2,
            },
            Event("Pod", "chat-1", "FailedMount", "no", "Warning", EARLY, LATE, 2),
        ),
        "an Event that happened once": (
            {"involvedObject": ABOUT, **SAID, "eventTime": EARLY, "series": None},
            Event("Pod", "chat-1", "FailedMount", "no", "Warning", EARLY, EARLY),
        ),
        "an Event without any time but that of its object": (
            {"involvedObject": ABOUT, **SAID, "metadata": {"creationTimestamp": EARLY}},
            Event("Pod", "chat-1", "FailedMount", "no", "Warning", EARLY, EARLY),
        ),
        "an Event that says nothing": (
            {"involvedObject": None, "metadata": None, "message": None, "count": None},
            Event("", "", "", ""),
        ),
        "several messages in one": (
            {"involvedObject": ABOUT, **SAID, "message": "(combined from similar events): no"},
            Event("Pod", "chat-1", "FailedMount", "no", "Warning"),
        ),
    },
)
def test_an_event_is_read_in(event: dict[str, Any], told: Event) -> None:
    assert news(event) == told


def _event(message: str, last: str | None, first: str | None = None, **changes: Any) -> dict[str, Any]:
    times = {"lastTimestamp": last, "firstTimestamp": first}
    return {"involvedObject": ABOUT, **SAID, "message": message, **times, **changes}


def test_the_newest_comes_first_and_the_oldest_are_left_out() -> None:
    events = [_event("b", LATE), _event("c", None), _event("a", EARLY), _event("d", "2026-11-29T11:30:00.5Z")]
    assert [one.message for one in newest_first(events, 3)] == ["d", "b", "a"]


def test_a_message_that_came_in_several_events_is_one() -> None:
    events = [_event("no", EARLY, EARLY, count=3), _event("no", LATE, LATE), _event("no", None)]
    assert newest_first(events, 9) == (
        Event("Pod", "chat-1", "FailedMount", "no", "Warning", EARLY, LATE, 5),
    )


def test_a_time_that_cannot_be_read_is_the_oldest() -> None:
    assert [one.message for one in newest_first([_event("x", "yesterday"), _event("y", EARLY)], 9)] == [
        "y",
        "x",
    ]


def test_the_order_in_which_events_were_listed_does_not_count() -> None:
    events = [_event("a", LATE), _event("b", LATE), _event("c", EARLY)]
    assert newest_first(events, 9) == newest_first(events[::-1], 9)
