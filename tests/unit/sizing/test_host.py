"""Memory and start-up time of an engine Pod, and the CPU tiers that fit on a node."""

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

WHERE = "node gpu-1"


LMCACHE = {"backend": "LMCache", "lmcache": {"version": "0.5.6"}}


@table(
    "fields, cpu_tier, size",
    {
        "the CPU tier is in /dev/shm, which counts as memory of the container": (
            {"resources": {"memory": "32Gi"}},
            100 * GIB,
            PodMemory(shm=102 * GIB, engine=134 * GIB),
        ),
        "without it, only the headroom counts": (
            {"resources": {"memory": "32Gi"}},
            0,
            PodMemory(shm=2 * GIB, engine=34 * GIB),
        ),
        "decimal sizes are exact": (
            {"resources": {"memory": "1G"}},
            100 * 10**9,
            PodMemory(shm=100 * 10**9 + 2 * GIB, engine=101 * 10**9 + 2 * GIB),
        ),
        "an LMCache server may also be charged for the tier, but the Pod requests it once": (
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
        "the time to load the model": (0, 1800, 1800),
        "pinning the CPU tier adds a tenth of a second per GiB": (1000 * GIB, 1800, 1900),
        "a part of a period counts as a whole period": (GIB, 1800, 1810),
        "decimal sizes are exact": (1000 * 10**9, 0, 100),
    },
)
def test_startup_failures(cpu_tier: int, load_seconds: int, seconds: int) -> None:
    assert startup_failures(load_seconds, cpu_tier, 0.1) * PERIOD_SECONDS == seconds


@table(
    "accelerator, gpus, seconds",
    {
        "one small GPU": ("nvidia-l4", 1, 120),
        "eight large ones": ("nvidia-h100-80gb", 8, 3200),
        "GPUs of an unknown type": ("nvidia-next", 2, 800),
    },
)
def test_weights_are_at_most_as_large_as_the_memory_of_the_gpus(
    accelerator: str, gpus: int, seconds: float
) -> None:
    assert weights_seconds(accelerator, gpus) == seconds


def test_gke_reserves_a_share_that_decreases_with_size() -> None:
    """1 + 0.8 + 0.8 + 6.72 GiB of the first 128, 2 % of the rest, 100 MiB."""
    kept = 1872 * GIB - (allocatable_memory("a3-highgpu-8g") or 0)
    assert abs(kept - (1 + 0.8 + 0.8 + 6.72 + 0.02 * (1872 - 128)) * GIB - 100 * (1 << 20)) < 2


def test_a_machine_type_that_is_not_in_the_table_is_unknown() -> None:
    assert allocatable_memory("n2-standard-4") is None
    assert allocatable_memory(None) is None


@table(
    "pods, tier, fault",
    {
        "one Pod with 80% of the rest": (1, 800, None),
        "one Pod with more": (
            1,
            801,
            "CPU tiers need 1 x 801Gi, but node gpu-1 allows 800Gi: 80% of (1100Gi - 1 x 100Gi for engines). "
            "Reduce tiers.cpu.capacity to 800Gi or less.",
        ),
        "Pods that share a node": (4, 140, None),
        "Pods whose tiers together are too large": (
            4,
            141,
            "CPU tiers need 4 x 141Gi, but node gpu-1 allows 560Gi: 80% of (1100Gi - 4 x 100Gi for engines). "
            "Reduce tiers.cpu.capacity to 140Gi or less.",
        ),
        "engines that fill the node without tiers": (
            16,
            1,
            "CPU tiers need 16 x 1Gi, but node gpu-1 allows 0Gi: 80% of (1100Gi - 16 x 100Gi for engines). "
            "Use nodes with more memory.",
        ),
    },
)
def test_a_node_with_1100_gib(pods: int, tier: int, fault: str | None) -> None:
    assert cpu_tier_fault(pods, tier * GIB, 100 * GIB, 1100 * GIB, WHERE) == fault


@given(
    pods=st.integers(1, 16),
    tier=st.integers(0, 1 << 42),
    beside=st.integers(0, 1 << 40),
    allocatable=st.integers(0, 1 << 42),
)
def test_an_accepted_tier_fits(pods: int, tier: int, beside: int, allocatable: int) -> None:
    if cpu_tier_fault(pods, tier, beside, allocatable, WHERE) is None:
        assert pods * (tier + beside) <= max(allocatable, pods * beside)


@table(
    "tier, limit, confidential, fault",
    {
        "any tier that is pinned in pieces": (2000, None, False, None),
        "a tier below the limit": (511, 512, False, None),
        "a tier at the limit": (
            512,
            512,
            False,
            "vLLM 0.26 cannot pin a CPU tier of 512Gi or more, and tiers.cpu.capacity is 512Gi. "
            "Reduce it, or use a later version.",
        ),
        "no tier on confidential nodes": (
            1,
            None,
            True,
            "confidential nodes do not let GPUs pin host memory, so vLLM does not start with a CPU tier. "
            "Use other nodes, or remove tiers.cpu.",
        ),
    },
)
def test_pinning(tier: int, limit: int | None, confidential: bool, fault: str | None) -> None:
    assert pinning_fault(tier * GIB, limit, "0.26", confidential) == fault
