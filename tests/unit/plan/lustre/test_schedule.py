"""Cron expressions: which time was last, which is next, and which never comes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtier.plan.lustre import copies as schedule
from unit.builders import NOW
from unit.tables import table


@table(
    "expression, now, latest, following",
    {
        "every night": ("0 3 * * *", NOW, "2026-11-29T03:00:00Z", "2026-11-30T03:00:00Z"),
        "now is the latest time": ("0 12 * * *", NOW, NOW, "2026-11-30T12:00:00Z"),
        "a moment before it is not": (
            "0 12 * * *",
            "2026-11-29T11:59:59.9Z",
            "2026-11-28T12:00:00Z",
            "2026-11-29T12:00:00Z",
        ),
        "a fraction after it is": (
            "0 12 * * *",
            "2026-11-29T12:00:00.5Z",
            "2026-11-29T12:00:00Z",
            "2026-11-30T12:00:00Z",
        ),
        "times are in UTC, whatever zone now is told in": (
            "0 3 * * *",
            "2026-11-29T04:30:00+02:00",
            "2026-11-28T03:00:00Z",
            "2026-11-29T03:00:00Z",
        ),
        "summer time changes nothing": (
            "30 2 * * *",
            "2026-03-29T03:00:00Z",
            "2026-03-29T02:30:00Z",
            "2026-03-30T02:30:00Z",
        ),
        "a leap day": ("0 0 29 2 *", NOW, "2024-02-29T00:00:00Z", "2028-02-29T00:00:00Z"),
        "the last day of the month": ("0 0 L * *", NOW, "2026-10-31T00:00:00Z", "2026-11-30T00:00:00Z"),
        "the year turns": ("0 0 1 JAN *", NOW, "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
    },
)
def test_times(expression: str, now: str, latest: str, following: str) -> None:
    assert schedule.problem(expression, now) == ""
    assert schedule.latest(expression, now) == latest
    assert schedule.following(expression, now) == following


def test_a_time_that_has_never_been_may_come() -> None:
    assert schedule.latest("0 0 29 2 MON#5", "1971-01-01T00:00:00Z") is not None
    assert schedule.problem("0 0 * 2 MON#5", NOW) == ""


@pytest.mark.parametrize(
    "expression",
    [
        "0 0 31 2 *",
        "0 0 31 4,6,9,11 *",
        "61 * * * *",
        "* 24 * * *",
        "*/0 * * * *",
        "5-1 * * * *",
        "- - - - -",
    ],
)
def test_what_never_comes_is_told(expression: str) -> None:
    assert schedule.problem(expression, NOW)


@given(st.from_regex(r"[0-9*,/-]{1,6}( [0-9A-Za-z*,/#-]{1,6}){4}", fullmatch=True))
def test_whatever_the_crd_lets_in_is_told_or_has_a_next_time(expression: str) -> None:
    if not schedule.problem(expression, NOW):
        assert schedule.following(expression, NOW) > NOW
        assert (schedule.latest(expression, NOW) or "") <= NOW
