"""Transition times of conditions."""

from kvtier.api.conditions import Condition, false, stamp, true, unknown
from kvtier.api.reasons import Reason
from unit.tables import table

OLD, NEW = "2026-11-29T10:00:00Z", "2026-11-29T12:00:00Z"


def _at(condition: Condition, time: str | None) -> Condition:
    return condition.model_copy(update={"last_transition_time": time, "observed_generation": 1})


@table(
    "old, new, time",
    {
        "a new condition has changed now": ([], true("Ready", Reason.ALL_READY), NEW),
        "a condition of the same status keeps its time": (
            [_at(true("Ready", Reason.ALL_READY), OLD)],
            true("Ready", Reason.ALL_READY),
            OLD,
        ),
        "another reason or message keeps the time": (
            [_at(false("Ready", Reason.CREATING, "one"), OLD)],
            false("Ready", Reason.PROVISIONING, "two"),
            OLD,
        ),
        "another status moves the time": (
            [_at(true("Ready", Reason.ASSUMED), OLD)],
            false("Ready", Reason.ASSUMED, ""),
            NEW,
        ),
        "Unknown is a different status than False": (
            [_at(false("Ready", Reason.ASSUMED, ""), OLD)],
            unknown("Ready", Reason.ASSUMED, ""),
            NEW,
        ),
        "the time of another type does not count": (
            [_at(true("StorageReady", Reason.ASSUMED), OLD)],
            true("Ready", Reason.ASSUMED),
            NEW,
        ),
        "a condition that had no time gets one": (
            [_at(true("Ready", Reason.ASSUMED), None)],
            true("Ready", Reason.ASSUMED),
            NEW,
        ),
    },
)
def test_a_transition_time_moves_only_with_the_status(
    old: list[Condition], new: Condition, time: str
) -> None:
    (stamped,) = stamp([new], old, generation=7, now=NEW)
    assert stamped == new.model_copy(update={"observed_generation": 7, "last_transition_time": time})


def test_a_condition_that_is_no_longer_reported_is_removed() -> None:
    assert stamp([], [_at(true("Ready", Reason.ASSUMED), OLD)], 1, NEW) == []
