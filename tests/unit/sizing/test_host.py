"""Memory and start-up time of an engine Pod, and the room that a node has for CPU tiers."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kvtier.api.quantities import GIB
from kvtier.api.v1alpha1 import ServedModel
from kvtier.sizing.host import (
    PERIOD_SECONDS,
    PodMemory,
    allocatable_memory,
    cpu_tier_fault,
    pinning_fault,
    pod_memory,
    startup_failures,
    weights_seconds,
)
from unit.builders import model
from unit.tables import table

SAYS = "node gpu-1 has for Pods"


LMCACHE = {"backend": "LMCache", "lmcache": {"version": "0.5.6"}}


@table(
    "fields, cpu_tier, size",
    {
        "the CPU tier lies in /dev/shm, which counts as memory of the container": (
            {"resources": {"memory": "32Gi"}},
            100 * GIB,
            PodMemory(shm=102 * GIB, engine=134 * GIB),
        ),
        "without it only the headroom does": (
            {"resources": {"memory": "32Gi"}},
            0,
            PodMemory(shm=2 * GIB, engine=34 * GIB),
        ),
        "decimal sizes are exact": (
            {"resources": {"memory": "1G"}},
            100 * 10**9,
            PodMemory(shm=100 * 10**9 + 2 * GIB, engine=101 * 10**9 + 2 * GIB),
        ),
        "an LMCache server may come to hold the tier too, but it is reserved once": (
            {"engine": LMCACHE, "resources": {"memory": "32Gi"}},
            100 * GIB,
            PodMemory(shm=102 * GIB, engine=134 * GIB, server=8 * GIB, server_limit=108 * GIB),
        ),
    },
)
def test_pod_memory(fields: dict[str, Any], cpu_tier: int, size: PodMemory) -> None:
    found = pod_memory(ServedModel.model_validate(model(**fields)), cpu_tier, shm_headroom_gib=2)
    assert found == size
    assert found.reserved == size.engine + size.server


@table(
    "cpu_tier, load_seconds, seconds",
    {
        "loading the model takes its time": (0, 1800, 1800),
        "pinning the CPU tier adds a tenth of a second per GiB": (1000 * GIB, 1800, 1900),
        "a part of a period counts as a whole one": (GIB, 1800, 1810),
        "decimal sizes count as what they are": (1000 * 10**9, 0, 100),
    },
)
def test_startup_failures(cpu_tier: int, load_seconds: int, seconds: int) -> None:
    assert startup_failures(load_seconds, cpu_tier, 0.1) * PERIOD_SECONDS == seconds


@table(
    "accelerator, gpus, seconds",
    {
        "one small GPU": ("nvidia-l4", 1, 120),
        "eight large ones": ("nvidia-h100-80gb", 8, 3200),
        "GPUs of a type that nobody has listed": ("nvidia-next", 2, 800),
    },
)
def test_weights_are_at_most_what_the_gpus_of_the_pod_can_hold(
    accelerator: str, gpus: int, seconds: float
) -> None:
    assert weights_seconds(accelerator, gpus) == seconds


def test_gke_keeps_a_share_that_gets_smaller() -> None:
    """1 + 0.8 + 0.8 + 6.72 GiB of the first 128, 2 % of the rest, 100 MiB."""
    kept = 1872 * GIB - (allocatable_memory("a3-highgpu-8g") or 0)
    assert abs(kept - (1 + 0.8 + 0.8 + 6.72 + 0.02 * (1872 - 128)) * GIB - 100 * (1 << 20)) < 2


def test_a_machine_type_that_is_not_in_the_table_is_not_known() -> None:
    assert allocatable_memory("n2-standard-4") is None
    assert allocatable_memory(None) is None


@table(
    "pods, tier, fault",
    {
        "one Pod that fills four fifths of what is left": (1, 800, None),
        "one that takes more": (
            1,
            801,
            "1 x 801Gi of CPU tier on every node are too much beside 1 x 100Gi for the engines: "
            "node gpu-1 has for Pods 1100Gi, of whose rest tiers may take 80%, so at most 800Gi per Pod",
        ),
        "Pods that share a node": (4, 140, None),
        "Pods whose tiers add up": (
            4,
            141,
            "4 x 141Gi of CPU tier on every node are too much beside 4 x 100Gi for the engines: "
            "node gpu-1 has for Pods 1100Gi, of whose rest tiers may take 80%, so at most 140Gi per Pod",
        ),
        "engines that fill the node alone": (
            16,
            1,
            "16 x 1Gi of CPU tier on every node are too much beside 16 x 100Gi for the engines: "
            "node gpu-1 has for Pods 1100Gi, of whose rest tiers may take 80%, so at most 0Gi per Pod",
        ),
    },
)
def test_a_node_with_1100_gib(pods: int, tier: int, fault: str | None) -> None:
    assert cpu_tier_fault(pods, tier * GIB, 100 * GIB, 1100 * GIB, SAYS) == fault


@given(
    pods=st.integers(1, 16),
    tier=st.integers(0, 1 << 42),
    beside=st.integers(0, 1 << 40),
    allocatable=st.integers(0, 1 << 42),
)
def test_what_is_let_through_fits(pods: int, tier: int, beside: int, allocatable: int) -> None:
    if cpu_tier_fault(pods, tier, beside, allocatable, SAYS) is None:
        assert pods * (tier + beside) <= max(allocatable, pods * beside)


@table(
    "tier, limit, confidential, fault",
    {
        "any tier where it is pinned piece by piece": (2000, None, False, None),
        "a tier below the limit": (511, 512, False, None),
        "one at the limit": (
            512,
            512,
            False,
            "vLLM 0.26 pins the CPU tier as a whole, which fails from 512Gi on: "
            "512Gi is too large, take less or a later version",
        ),
        "none on confidential nodes": (
            1,
            None,
            True,
            "confidential nodes do not let GPUs pin host memory, so vLLM does not start with a CPU tier: "
            "use other nodes, or remove tiers.cpu",
        ),
    },
)
def test_pinning(tier: int, limit: int | None, confidential: bool, fault: str | None) -> None:
    assert pinning_fault(tier * GIB, limit, "0.26", confidential) == fault
