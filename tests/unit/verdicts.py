"""Compares conditions with the expectation in a table."""

from kvtier.api.conditions import Condition


def assert_verdict(condition: Condition, type_: str, status: str, reason: str, words: str) -> None:
    """The condition has this type, status and reason, and a message with these words."""
    assert (condition.type, condition.status, condition.reason) == (type_, status, reason), condition.message
    assert words in condition.message


def assert_says(condition: Condition, type_: str, verdict: str) -> None:
    """The same from one text, such as `False ZoneMismatch: add that zone` or, for any message, `True Matched`."""
    head, _, words = verdict.partition(": ")
    status, reason = head.split()
    assert_verdict(condition, type_, status, reason, words)
