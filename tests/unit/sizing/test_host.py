"""CPU tiers in the memory of a node."""

from hypothesis import given
from hypothesis import strategies as st

from kvtier.api.quantities import GIB
from kvtier.sizing.host import allocatable_memory, cpu_tier_fault, pinning_fault
from unit.tables import table

SAYS = "node gpu-1 has for Pods"


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
