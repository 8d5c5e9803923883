"""The Lustre capacity, and how it can be reached from the one that is there."""

from typing import Any

from kvtier.api.quantities import GIB
from kvtier.api.v1alpha1 import KVCachePool, PoolStatus, TierStatus
from kvtier.checks.capacity import check, provisioned
from unit.builders import facts, pool, with_status
from unit.tables import table
from unit.verdicts import assert_verdict

AT_GATE, BELOW_GATE = "v1.35.0-gke.2331000", "v1.35.0-gke.2330999"


def _pool(capacity: str, have: str | None = None, tier: int = 1000) -> KVCachePool:
    lustre = {"capacity": capacity, "throughputPerTiB": tier}
    tiers = [{"name": "lustre", "phase": "Bound", **({"capacity": have} if have else {})}]
    return pool(tiers={"lustre": lustre}, status={"tiers": tiers})


@table(
    "of, version, verdict",
    {
        "a pool without Lustre has no capacity to check": (
            pool(tiers={"lustre": None}),
            AT_GATE,
            ("True", "NotNeeded", ""),
        ),
        "a valid size is valid": (
            _pool("18000Gi"),
            AT_GATE,
            ("True", "Valid", "18000Gi at 1000 MBps per TiB"),
        ),
        "what is there need not grow": (_pool("18000Gi", "18000Gi"), BELOW_GATE, ("True", "Valid", "")),
        "the same size in another unit is no growth": (
            _pool("18000Gi", f"{18000 * 1024}Mi"),
            BELOW_GATE,
            ("True", "Valid", ""),
        ),
        "Lustre never shrinks, and the message has the size to go back to": (
            _pool("9000Gi", "18000Gi"),
            AT_GATE,
            ("False", "WouldShrink", "18000Gi is provisioned, Lustre only grows: set it to 18000Gi"),
        ),
        "growth works from its gate on": (_pool("27000Gi", "18000Gi"), AT_GATE, ("True", "Valid", "")),
        "one build below the gate growth is refused": (
            _pool("27000Gi", "18000Gi"),
            BELOW_GATE,
            (
                "False",
                "ExpansionUnsupported",
                "needs 1.35.0-gke.2331000. Upgrade, or create a new pool at 27000Gi",
            ),
        ),
        "a version that cannot be judged does not refuse growth": (
            _pool("27000Gi", "18000Gi"),
            "v1.35.0",
            ("True", "Valid", ""),
        ),
        "an instance grows up to the threshold of its tier": (
            _pool("1530000Gi", "18000Gi"),
            AT_GATE,
            ("True", "Valid", ""),
        ),
        "it cannot grow beyond it": (
            _pool("1584000Gi", "1530000Gi"),
            AT_GATE,
            ("False", "AboveGrowthLimit", "can only grow up to that: 1584000Gi needs a new pool"),
        ),
        "an instance made above the threshold grows on": (
            _pool("1656000Gi", "1584000Gi"),
            AT_GATE,
            ("True", "Valid", ""),
        ),
        "each tier has its own threshold": (
            _pool("3168000Gi", "3060000Gi", tier=500),
            AT_GATE,
            ("False", "AboveGrowthLimit", "at or below 3060000Gi"),
        ),
    },
)
def test_capacity(of: KVCachePool, version: str, verdict: tuple[str, str, str]) -> None:
    assert_verdict(check(of, facts(version=version)), "CapacityValid", *verdict)


def test_a_size_that_an_older_crd_let_in_is_refused_with_the_nearest_ones() -> None:
    valid = pool()
    lustre = valid.spec.tiers.lustre
    assert lustre is not None
    odd = lustre.model_copy(update={"capacity": type(lustre.capacity)("10000Gi")})
    tiers = valid.spec.tiers.model_copy(update={"lustre": odd})
    spec = valid.spec.model_copy(update={"tiers": tiers})
    condition = check(valid.model_copy(update={"spec": spec}), facts())
    assert_verdict(condition, "CapacityValid", "False", "NotASize", "use 9000Gi or 18000Gi")


@table(
    "tiers, size",
    {
        "nothing before there is a status": ([], None),
        "nothing before the tier has a size": ([TierStatus(name="lustre", phase="Waiting")], None),
        "the tier's size": ([TierStatus(name="lustre", phase="Bound", capacity="9000Gi")], 9000 * GIB),
        "another tier's size does not count": (
            [TierStatus(name="cpu", phase="Configured", capacity="1Gi")],
            None,
        ),
    },
)
def test_what_is_provisioned_stands_in_the_status(tiers: list[Any], size: int | None) -> None:
    assert provisioned(with_status(pool(), PoolStatus(tiers=tiers))) == size
