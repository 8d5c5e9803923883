"""The arithmetic and the output of the benchmarks. No test checks a time."""

import json
from io import StringIO

import pytest
from rich.console import Console

from bench import __main__ as command
from bench import requests
from bench.rows import GOALS, Row, broken, document, table
from testbed.control_plane.audit import Request
from testbed.operator_process import USER


def _request(verb: str, resource: str, second: float, user: str = USER, took: float = 0.25) -> Request:
    received, answered = (f"2026-01-01T00:00:{value:09.6f}Z" for value in (second, second + took))
    return Request(user, verb, resource, "", "ns", "name", "/uri", "agent", 200, received, answered)


LOG = [
    _request("create", "kvcachepools", 1.0, user="admin"),
    _request("get", "deployments", 2.0),
    _request("patch", "deployments", 3.0),
    _request("update", "leases", 4.0),
    _request("patch", "kvcachepools", 5.0),
    _request("patch", "services", 6.0, user="admin"),
]


def test_only_writes_of_the_operator_count_and_lease_renewals_are_separate() -> None:
    assert [one.resource for one in requests.writes(LOG)] == ["deployments", "kvcachepools"]
    assert [one.resource for one in requests.lease_writes(LOG)] == ["leases"]
    assert [one.resource for one in requests.child_writes(LOG)] == ["deployments"]


def test_the_time_is_from_the_first_received_request_to_the_last_answer() -> None:
    assert requests.seconds(requests.creations(LOG), requests.child_writes(LOG)) == 2.25
    assert requests.seconds(requests.creations(LOG), requests.writes(LOG)) == 4.25


@pytest.mark.parametrize(("baseline", "ratio"), [(None, None), (4.0, 0.5)])
def test_a_row_has_a_ratio_if_it_has_a_baseline(baseline: float | None, ratio: float | None) -> None:
    (written,) = json.loads(document([Row("some", 2.0, "s", baseline)]))
    assert written == {"name": "some", "value": 2.0, "unit": "s", "baseline": baseline, "ratio": ratio}


def test_a_missed_time_is_only_shown_but_a_wrong_count_fails() -> None:
    rows = [
        Row("restart_1000", 99.0, "s"),
        Row("apply_one_pool", 1.0, "s", 0.5),
        Row("restart_writes", 1, "count"),
        Row("idle_writes", 0, "count"),
    ]
    assert broken(rows) == ["restart_writes"]
    assert [GOALS[row.name].met(row) for row in rows] == [False, False, False, True]


def test_the_table_shows_the_goal_next_to_the_value() -> None:
    console = Console(file=StringIO(), width=110)
    console.print(table([Row("restart_1000", 2.5, "s"), Row("create_1000", 1000.4, "s")]))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "2.5" in shown
    assert "<= 5 met" in shown
    assert "1000 " in shown


def test_an_unknown_name_is_refused_before_anything_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["no_such_thing"]) == 2
    assert "restart_1000" in capsys.readouterr().err


def test_every_goal_belongs_to_a_row() -> None:
    assert set(GOALS) <= command.NAMES
