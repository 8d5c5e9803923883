"""Host memory of an engine Pod."""

from typing import Any

from kvtier.api.quantities import GIB
from kvtier.sizing.memory import Memory, memory
from unit.builders import model, pool
from unit.tables import table


@table(
    "changes, sizes",
    {
        "the CPU tier lies in /dev/shm, which counts as memory of the container": (
            {"models": [model(resources={"memory": "32Gi"})]},
            Memory(shm=102 * GIB, total=134 * GIB),
        ),
        "without it only the headroom does": (
            {"tiers": {"cpu": None, "lustre": None}, "models": [model(resources={"memory": "32Gi"})]},
            Memory(shm=2 * GIB, total=34 * GIB),
        ),
        "decimal sizes are exact": (
            {"tiers": {"cpu": {"capacity": "100G"}}, "models": [model(resources={"memory": "1G"})]},
            Memory(shm=100 * 10**9 + 2 * GIB, total=101 * 10**9 + 2 * GIB),
        ),
    },
)
def test_memory(changes: dict[str, Any], sizes: Memory) -> None:
    of = pool(**changes)
    assert memory(of, of.spec.models[0], shm_headroom_gib=2) == sizes
