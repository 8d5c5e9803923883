"""CPU tiers and the memory of nodes."""

from typing import Any

import pytest

from kvtier.api.quantities import GIB
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.checks.cpu_tier import check
from kvtier.data.engines import ENGINES
from unit.builders import context, facts, model, node, pool
from unit.tables import table
from unit.verdicts import assert_says

MIXED = {"cloud.google.com/gke-confidential-nodes-instance-type": "TDX"}


def _pool(capacity: str, *gpus: int, machine: str | None = "a3-highgpu-8g", **changes: Any) -> KVCachePool:
    models = [model(name=f"m{size}", tensorParallelSize=size, **changes) for size in gpus or (8,)]
    nodes = {"machineType": machine, **({} if machine else {"provisioner": "Existing"})}
    return pool(tiers={"cpu": {"capacity": capacity}}, nodePool=nodes, models=models)


@table(
    "of, verdict",
    {
        "without the tier no memory is needed": (pool(tiers={"cpu": None, "lustre": None}), "True NotNeeded"),
        "a tier of 80% of the memory that engines leave": (
            _pool("1434Gi"),
            "True Fits: Model m8: 1 x 1434Gi for CPU tiers and 1 x 34Gi for engines fit into the 1827Gi for Pods on "
            "a3-highgpu-8g.",
        ),
        "one more GiB is too large, and the message contains the limit": (
            _pool("1435Gi"),
            "False TooLarge: Model m8 does not fit: CPU tiers need 1 x 1435Gi, but a3-highgpu-8g allows 1434Gi: 80% of "
            "(1827Gi - 1 x 34Gi for engines). Reduce tiers.cpu.capacity to 1434Gi or less.",
        ),
        "the tiers of Pods on one node are added up": (
            _pool("400Gi", 2, replicas=9),
            "False TooLarge: CPU tiers need 4 x 400Gi, but a3-highgpu-8g allows 1352Gi: "
            "80% of (1827Gi - 4 x 34Gi for engines).",
        ),
        "the GPUs of a Pod share its tier": (_pool("400Gi", 8), "True Fits: 1 x 400Gi"),
        "each of several models is checked": (
            _pool("400Gi", 8, 2, replicas=9),
            "False TooLarge: Model m2 does not fit: CPU tiers need 4 x 400Gi",
        ),
        "GPUs stay idle if the scheduler cannot place two Pods on a node": (
            _pool("1000Gi", 4, replicas=2),
            "True Fits: 1 x 1000Gi for CPU tiers and 1 x 34Gi for engines fit into the 1827Gi for Pods on "
            "a3-highgpu-8g. Its GPUs could host 2 Pods with CPU tiers of 703Gi or less.",
        ),
        "idle GPUs are not reported for a single Pod": (_pool("1000Gi", 4), "True Fits: 1 x 1000Gi for CPU"),
        "Pods that the scheduler places on one node must leave a fifth": (
            _pool("400Gi", 1, replicas=9),
            "False TooLarge: Model m1 does not fit: CPU tiers need 4 x 400Gi",
        ),
        "an update may add one Pod to a node": (
            _pool("400Gi", 1),
            "True Fits: Model m1: 2 x 400Gi for CPU tiers and 2 x 34Gi for engines fit",
        ),
        "an autoscaler may fill a node": (
            _pool("400Gi", 2, autoscaling={}),
            "False TooLarge: Model m2 does not fit: CPU tiers need 4 x 400Gi",
        ),
        "without replicas, the first Pod must still fit": (
            _pool("1500Gi", replicas=0),
            "False TooLarge: Model m8 does not fit: CPU tiers need 1 x 1500Gi",
        ),
        "memory of the engine counts": (
            _pool("1434Gi", resources={"memory": "64Gi"}),
            "False TooLarge: 1 x 66Gi for engines",
        ),
        "memory of the LMCache server counts": (
            _pool("1434Gi", engine={"backend": "LMCache", "lmcache": {"version": "0.5.6", "memory": "16Gi"}}),
            "False TooLarge: 1 x 50Gi for engines",
        ),
        "the memory of an unknown machine type is unknown": (
            _pool("100Gi", machine="z9-futuregpu-8g"),
            "Unknown MachineTypeUnknown: The memory of machine type z9-futuregpu-8g is unknown, and no node of the "
            "pool reports it yet. Model m8: each node needs more than 1 x 100Gi for CPU tiers and 1 x 34Gi for "
            "engines.",
        ),
        "so is that of existing nodes that do not exist yet": (
            _pool("100Gi", machine=None),
            "Unknown MachineTypeUnknown: The memory of the nodes (nodePool.machineType is not set) is unknown",
        ),
    },
)
def test_cpu_tier(of: KVCachePool, verdict: str) -> None:
    assert_says(check(context(of)), "CPUTierFits", verdict)


@table(
    "capacity, memory, verdict",
    {
        "nodes have priority over the table": ("1500Gi", [2000 * GIB], "True Fits: on node gpu-1."),
        "a smaller node that gets Pods counts": (
            "400Gi",
            [1827 * GIB, 440 * GIB],
            "False TooLarge: but node gpu-2 allows 324Gi: 80% of (440Gi - 1 x 34Gi for engines). Reduce "
            "tiers.cpu.capacity to 324Gi or less",
        ),
        "a node that is too small for any Pod is ignored": (
            "400Gi",
            [1827 * GIB, 400 * GIB],
            "True Fits: the 1827Gi for Pods on node gpu-1.",
        ),
        "if all nodes are too small, the largest is named": (
            "400Gi",
            [300 * GIB, 400 * GIB],
            "False TooLarge: but node gpu-2 allows 292Gi: 80% of (400Gi - 1 x 34Gi for engines). Reduce "
            "tiers.cpu.capacity to 292Gi or less",
        ),
        "of nodes of the same size, the first is named": ("400Gi", [1827 * GIB] * 2, "True Fits: gpu-1"),
        "a node that does not report yet does not count": ("400Gi", [0, 1827 * GIB], "True Fits: gpu-2"),
        "a node without memory for any tier": (
            "1Gi",
            [GIB],
            "False TooLarge: node gpu-1 allows 0Gi: 80% of (1Gi - 1 x 34Gi for engines). Use nodes with more",
        ),
        "memory is rounded down to whole GiB": (
            "400Gi",
            [1827 * GIB + 5],
            "True Fits: the 1827Gi for Pods on node gpu-1.",
        ),
    },
)
def test_cpu_tier_of_nodes(capacity: str, memory: list[int], verdict: str) -> None:
    of = _pool(capacity)
    nodes = [node(of, f"gpu-{i}", memory=size) for i, size in enumerate(memory, start=1)]
    assert_says(check(context(of, facts=facts(*nodes))), "CPUTierFits", verdict)


def test_gpus_of_a_confidential_node_cannot_pin_memory() -> None:
    of = _pool("1Gi")
    condition = check(context(of, facts=facts(node(of, memory=1827 * GIB, labels=MIXED))))
    refused = "False NotPinned: Nodes gpu-1 cannot use the CPU tier: confidential nodes do not let GPUs pin host memory"
    assert_says(condition, "CPUTierFits", refused)


def test_the_tier_is_limited_for_a_version_that_pins_it_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    old = ENGINES.versions["0.33"].model_copy(update={"version": "0.31", "pinned_tier_gib": 512})
    monkeypatch.setitem(ENGINES.versions, "0.33", old)
    assert_says(check(context(_pool("511Gi"))), "CPUTierFits", "True Fits")
    assert_says(
        check(context(_pool("512Gi"))),
        "CPUTierFits",
        "False NotPinned: Model m8 cannot use the CPU tier: vLLM 0.31 cannot pin a CPU tier of 512Gi or more, and "
        "tiers.cpu.capacity is 512Gi.",
    )
