"""The nodes that checks look at."""

import pytest

from kvtier.api.placement import ZONE
from kvtier.checks.candidates import candidates, names
from unit.builders import facts, node, pool

POOL = pool()


def test_candidates_are_the_nodes_that_engines_could_run_on() -> None:
    fitting, far = node(POOL, "near"), node(POOL, "far", labels={ZONE: "us-east1-b"})
    assert candidates(POOL, facts(far, fitting)) == [fitting]


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, ""), (1, "n0"), (3, "n0, n1, n2"), (4, "n0, n1, n2 and 1 more"), (500, "n0, n1, n2 and 497 more")],
)
def test_a_list_of_names_stays_short(count: int, text: str) -> None:
    assert names([node(POOL, f"n{i}") for i in range(count)]) == text
