"""Schedules of exports: what the API takes, the planner can read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from kvtier.api.v1alpha1.tiers import CloudStorageTier
from kvtier.plan.lustre.copies import following, problem
from unit.builders import NOW
from unit.tables import table


def _tier(schedule: str) -> CloudStorageTier:
    return CloudStorageTier.model_validate({"uri": "gs://bucket/chat/", "exportSchedule": schedule})


def _field(low: int, high: int, names: str = "") -> st.SearchStrategy[str]:
    """One field of a cron expression: values, ranges and steps."""
    value = st.integers(low, high)
    several = st.tuples(value, value).map(lambda pair: f"{min(pair)}-{max(pair)}")
    some = st.one_of(
        st.just("*"), value.map(str), several, *([st.sampled_from(names.split())] if names else [])
    )
    stepped = st.tuples(some, st.integers(1, 59)).map(lambda pair: f"{pair[0]}/{pair[1]}")
    return st.lists(st.one_of(some, stepped), min_size=1, max_size=3).map(",".join)


FIELDS = (
    _field(0, 59),
    _field(0, 23),
    _field(1, 28),
    _field(1, 12, "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC"),
    _field(0, 7, "SUN MON TUE WED THU FRI SAT"),
)


@given(st.tuples(*FIELDS).map(" ".join).filter(lambda text: len(text) <= 64))
def test_a_schedule_that_is_taken_can_be_read(schedule: str) -> None:
    assert _tier(schedule).export_schedule == schedule
    assert problem(schedule, NOW) == ""
    assert following(schedule, NOW) > NOW


@table(
    "schedule",
    {
        "with a minute that no hour has": "60 3 * * *",
        "with an hour that no day has": "0 24 * * *",
        "with a day that no month has": "0 3 32 * *",
        "with a month that no year has": "0 3 * 13 *",
        "with a weekday that no week has": "0 3 * * 8",
        "of four fields": "0 3 * *",
        "of six fields": "0 0 3 * * *",
        "by a nickname": "@daily",
        "with a step of nothing": "*/0 * * * *",
        "in words": "every night",
        "with a line break": "0 3 * * *\n",
        "that is empty": "",
    },
)
def test_refused_is_a_schedule(schedule: str) -> None:
    with pytest.raises(ValidationError, match="exportSchedule must be a cron expression"):
        _tier(schedule)
