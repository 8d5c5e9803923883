"""The nodes that checks look at."""

import pytest

from kvtier.api.placement import ZONE
from kvtier.checks.candidates import candidates, names, pods_per_node
from unit.builders import facts, model, node, pool
from unit.tables import table

POOL = pool()


def test_candidates_are_the_nodes_that_engines_could_run_on() -> None:
    fitting, far = node(POOL, "near"), node(POOL, "far", labels={ZONE: "us-east1-b"})
    assert candidates(POOL, facts(far, fitting)) == [fitting]


@table(
    "gpus, pods",
    {
        "a Pod with all GPUs is alone": (8, 1),
        "others share a node": (2, 4),
        "GPUs that are left over make no Pod": (3, 2),
    },
)
def test_pods_per_node(gpus: int, pods: int) -> None:
    of = pool(models=[model(tensorParallelSize=gpus)])
    assert pods_per_node(of, of.spec.models[0]) == pods


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, ""), (1, "n0"), (3, "n0, n1, n2"), (4, "n0, n1, n2 and 1 more"), (500, "n0, n1, n2 and 497 more")],
)
def test_a_list_of_names_stays_short(count: int, text: str) -> None:
    assert names([node(POOL, f"n{i}") for i in range(count)]) == text
