"""The Lustre capacity, and how it can be reached from the one that is there."""

from dataclasses import replace
from typing import Any

from kvtier.api.fields import Quantity
from kvtier.api.quantities import GIB
from kvtier.api.v1alpha1 import KVCachePool, PoolStatus, TierStatus
from kvtier.checks.capacity import check, provisioned
from kvtier.facts.model import GKECluster, LustreFacts
from unit.builders import facts, pool, with_status
from unit.instances import NAME, UNSEEN, api, by_hand, dynamic, existing, instance
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
                "needs 1.35.0-gke.2331000: upgrade, or create a new pool at 27000Gi, or one with provisioner API",
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
    odd = lustre.model_copy(update={"capacity": Quantity("10000Gi")})
    tiers = valid.spec.tiers.model_copy(update={"lustre": odd})
    spec = valid.spec.model_copy(update={"tiers": tiers})
    condition = check(valid.model_copy(update={"spec": spec}), facts())
    assert_verdict(condition, "CapacityValid", "False", "NotASize", "the nearest are 9000Gi and 18000Gi")


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
    assert provisioned(with_status(pool(), PoolStatus(tiers=tiers)), facts()) == size


def _status(capacity: str) -> dict[str, Any]:
    return {"tiers": [{"name": "lustre", "phase": "Bound", "capacity": capacity}]}


@table(
    "of, seen, verdict",
    {
        "an instance that kvtier makes is as large as the spec says": (
            api(),
            LustreFacts(),
            ("True", "Valid", "18000Gi at 1000 MBps per TiB"),
        ),
        "it grows without the driver, and below the driver's gate": (
            api(capacity="27000Gi"),
            instance(18_000),
            ("True", "Valid", "27000Gi"),
        ),
        "it does not shrink, and the API knows better than the status": (
            {**api(), "status": _status("9000Gi")},
            instance(27_000),
            ("False", "WouldShrink", "27000Gi is provisioned, Lustre only grows: set it to 27000Gi"),
        ),
        "what the API does not tell, the status remembers": (
            {**api(), "status": _status("27000Gi")},
            UNSEEN,
            ("False", "WouldShrink", "27000Gi is provisioned"),
        ),
        "its growth ends where the step changes": (
            api(capacity="1584000Gi"),
            instance(1_530_000),
            ("False", "AboveGrowthLimit", "created at or below 1530000Gi can only grow up to that"),
        ),
        "above it there is room": (api(capacity="1656000Gi"), instance(1_584_000), ("True", "Valid", "")),
        "the Dynamic tier has sizes of its own": (
            dynamic(),
            LustreFacts(),
            ("True", "Valid", "in the Dynamic"),
        ),
        "the Dynamic tier grows": (
            dynamic(capacity="944000Gi"),
            instance(472_000),
            ("True", "Valid", "944000Gi"),
        ),
        "the Dynamic tier does not shrink either": (
            dynamic(),
            instance(944_000),
            ("False", "WouldShrink", "set it to 944000Gi"),
        ),
        "an existing instance is as large as it is": (
            existing(),
            instance(18_432),
            ("True", "Existing", "the instance has 18432Gi"),
        ),
        "an existing instance that is not seen is not judged": (existing(), UNSEEN, ("True", "Existing", "")),
        "a size given by hand stands where nobody knows better": (
            by_hand(),
            None,
            ("True", "Existing", "18000Gi, as given by hand"),
        ),
        "the API may confirm it": (by_hand(), instance(18_000), ("True", "Existing", "has 18000Gi")),
        "more than there is cannot be promised": (
            by_hand(capacity="27000Gi"),
            instance(18_000),
            ("False", "LargerThanInstance", f"is 27000Gi, but {NAME} has 18000Gi: set it to 18000Gi"),
        ),
        "less than there is is said, and works": (
            by_hand(capacity="9000Gi"),
            instance(18_000),
            ("True", "SmallerThanInstance", f"is 9000Gi, {NAME} has 18000Gi: set it to 18000Gi"),
        ),
    },
)
def test_capacity_by_who_makes_the_instance(
    of: dict[str, Any], seen: LustreFacts | None, verdict: tuple[str, str, str]
) -> None:
    condition = check(pool(**of), replace(facts(version=BELOW_GATE), lustre=seen))
    assert_verdict(condition, "CapacityValid", *verdict)


def test_a_claim_grows_by_its_status_whatever_the_lustre_api_says() -> None:
    growing = _pool("27000Gi", have="18000Gi")
    seen = replace(facts(version=BELOW_GATE), lustre=instance(27_000))
    assert check(growing, seen).reason == "ExpansionUnsupported"


def test_the_gke_api_tells_the_version_for_the_gate_too() -> None:
    seen = facts(version="v1.34.0", gke=GKECluster(version="1.34.0-gke.1"))
    assert check(_pool("27000Gi", "18000Gi"), seen).reason == "ExpansionUnsupported"
