"""CPU tiers against the memory of nodes."""

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
        "without the tier nothing is needed": (pool(tiers={"cpu": None, "lustre": None}), "True NotNeeded"),
        "a tier that leaves a fifth of what engines do not take": (
            _pool("1434Gi"),
            "True Fits: model m8: 1 x 1434Gi of CPU tier and 1 x 34Gi beside it fit into the 1827Gi that GKE leaves to "
            "Pods on a3-highgpu-8g",
        ),
        "a GiB more is too much, and the message has what fits": (
            _pool("1435Gi"),
            "False TooLarge: model m8: 1 x 1435Gi of CPU tier on every node are too much beside 1 x 34Gi for the "
            "engines: GKE leaves to Pods on a3-highgpu-8g 1827Gi, of whose rest tiers may take 80%, so at most 1434Gi "
            "per Pod",
        ),
        "Pods that share a node share its memory": (
            _pool("400Gi", 2, replicas=9),
            "False TooLarge: 4 x 400Gi of CPU tier on every node are too much beside 4 x 34Gi",
        ),
        "the GPUs of a Pod share its tier": (_pool("400Gi", 8), "True Fits: 1 x 400Gi"),
        "of several models, each is looked at": (
            _pool("400Gi", 8, 2, replicas=9),
            "False TooLarge: model m2: 4 x 400Gi",
        ),
        "the scheduler keeps Pods apart that do not fit together, so that GPUs lie idle": (
            _pool("1000Gi", 4, replicas=2),
            "True Fits: 1 x 1000Gi of CPU tier and 1 x 34Gi beside it fit into the 1827Gi that GKE leaves to Pods on "
            "a3-highgpu-8g, but its GPUs would do for 2 Pods, with tiers of at most 703Gi",
        ),
        "which does not matter to a single Pod": (_pool("1000Gi", 4), "True Fits: 1 x 1000Gi of CPU tier"),
        "but those that it lets onto a node have to leave something": (
            _pool("400Gi", 1, replicas=9),
            "False TooLarge: model m1: 4 x 400Gi",
        ),
        "few Pods share a node with the one that an update brings": (
            _pool("400Gi", 1),
            "True Fits: model m1: 2 x 400Gi of CPU tier and 2 x 34Gi beside it fit",
        ),
        "an autoscaler may fill a node": (
            _pool("400Gi", 2, autoscaling={}),
            "False TooLarge: model m2: 4 x 400Gi",
        ),
        "no Pod takes no memory, but has to fit when it comes": (
            _pool("1500Gi", replicas=0),
            "False TooLarge: model m8: 1 x 1500Gi",
        ),
        "memory of the engine counts": (
            _pool("1434Gi", resources={"memory": "64Gi"}),
            "False TooLarge: beside 1 x 66Gi for the engines",
        ),
        "memory of the LMCache server counts": (
            _pool("1434Gi", engine={"backend": "LMCache", "lmcache": {"version": "0.5.6", "memory": "16Gi"}}),
            "False TooLarge: beside 1 x 50Gi for the engines",
        ),
        "an unknown machine type cannot be judged": (
            _pool("100Gi", machine="z9-futuregpu-8g"),
            "Unknown MachineTypeUnknown: the memory of machine type 'z9-futuregpu-8g', and no node of the pool tells "
            "it yet. model m8: a node has to have more than 1 x 100Gi of CPU tier and 1 x 34Gi beside it",
        ),
        "nor existing nodes that are not there": (_pool("100Gi", machine=None), "Unknown MachineTypeUnknown"),
    },
)
def test_cpu_tier(of: KVCachePool, verdict: str) -> None:
    assert_says(check(context(of)), "CPUTierFits", verdict)


@table(
    "capacity, memory, verdict",
    {
        "nodes know better than the table": ("1500Gi", [2000 * GIB], "True Fits: node gpu-1 has"),
        "a smaller node that gets Pods counts": (
            "400Gi",
            [1827 * GIB, 440 * GIB],
            "False TooLarge: node gpu-2 has for Pods 440Gi, of whose rest tiers may take 80%, so at most 324Gi",
        ),
        "one that is too small for any does no harm": (
            "400Gi",
            [1827 * GIB, 400 * GIB],
            "True Fits: the 1827Gi that node gpu-1 has",
        ),
        "of nodes that are all too small, the largest is named": (
            "400Gi",
            [300 * GIB, 400 * GIB],
            "False TooLarge: node gpu-2 has for Pods 400Gi, of whose rest tiers may take 80%, so at most 292Gi",
        ),
        "of nodes of one size, the first is named": ("400Gi", [1827 * GIB] * 2, "True Fits: gpu-1"),
        "a node that does not report yet does not count": ("400Gi", [0, 1827 * GIB], "True Fits: gpu-2"),
        "a node without room leaves nothing": ("1Gi", [GIB], "False TooLarge: at most 0Gi per Pod"),
        "what is not a whole GiB is not counted on": (
            "400Gi",
            [1827 * GIB + 5],
            "True Fits: the 1827Gi that node gpu-1 has for Pods",
        ),
    },
)
def test_cpu_tier_of_nodes(capacity: str, memory: list[int], verdict: str) -> None:
    of = _pool(capacity)
    nodes = [node(of, f"gpu-{i}", memory=size) for i, size in enumerate(memory, start=1)]
    assert_says(check(context(of, facts=facts(*nodes))), "CPUTierFits", verdict)


def test_a_confidential_node_pins_nothing() -> None:
    of = _pool("1Gi")
    condition = check(context(of, facts=facts(node(of, memory=1827 * GIB, labels=MIXED))))
    refused = "False NotPinned: gpu-1: confidential nodes do not let GPUs pin host memory"
    assert_says(condition, "CPUTierFits", refused)


def test_a_version_that_pins_the_tier_as_a_whole_bounds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    old = ENGINES.versions["0.33"].model_copy(update={"version": "0.31", "pinned_tier_gib": 512})
    monkeypatch.setitem(ENGINES.versions, "0.33", old)
    assert_says(check(context(_pool("511Gi"))), "CPUTierFits", "True Fits")
    assert_says(
        check(context(_pool("512Gi"))),
        "CPUTierFits",
        "False NotPinned: model m8: vLLM 0.31 pins the CPU tier as a whole, which fails from 512Gi on: 512Gi is too "
        "large",
    )
