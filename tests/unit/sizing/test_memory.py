"""Host memory of an engine Pod."""

from typing import Any

from kvtier.api.quantities import GIB
from kvtier.sizing.host import Memory, memory
from unit.builders import model, pool
from unit.tables import table

LMCACHE = {"backend": "LMCache", "lmcache": {"version": "0.5.6"}}


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
        "an LMCache server may come to hold the tier too, but it is reserved once": (
            {"models": [model(engine=LMCACHE, resources={"memory": "32Gi"})]},
            Memory(shm=102 * GIB, total=134 * GIB, server=8 * GIB, server_limit=108 * GIB),
        ),
    },
)
def test_memory(changes: dict[str, Any], sizes: Memory) -> None:
    of = pool(**changes)
    assert memory(of, of.spec.models[0], shm_headroom_gib=2) == sizes


def test_a_pod_reserves_what_its_containers_do() -> None:
    assert Memory(shm=2, total=34, server=8, server_limit=108).pod == 42
