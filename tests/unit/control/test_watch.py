"""How kopf is set up: it must never end the process because of a request."""

from collections.abc import Iterable
from itertools import islice

from kvtier.control.watch import settings


def test_a_request_is_tried_for_ever_and_every_request_anew() -> None:
    backoffs = settings().networking.error_backoffs
    assert isinstance(backoffs, Iterable)
    for _ in range(2):
        waits = list(islice(backoffs, 1000))
        assert (len(waits), waits[0], waits[-1]) == (1000, 1.0, 20.0)
