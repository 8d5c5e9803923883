"""The Lustre capacity, and how it can be reached from the one that is there."""

from dataclasses import replace
from typing import Any

from kvtier.api.fields import Quantity
from kvtier.checks.capacity import check
from kvtier.context import Context
from kvtier.facts.model import GKECluster, LustreFacts
from unit.builders import context, facts, joined, pool
from unit.instances import NAME, UNSEEN, api, by_hand, dynamic, existing, instance
from unit.tables import table
from unit.verdicts import assert_says

AT_GATE, BELOW_GATE = "v1.35.0-gke.2331000", "v1.35.0-gke.2330999"
BOUND = {"name": "lustre", "phase": "Bound"}


def _has(*tiers: dict[str, str]) -> dict[str, Any]:
    return {"status": {"tiers": list(tiers)}}


def _claim(
    capacity: str, have: str | None = None, version: str = AT_GATE, tier: int = 1000, **seen: Any
) -> Context:
    """A claim that asks for `capacity` and has, by its status, what it has."""
    lustre = {"capacity": capacity, "throughputPerTiB": tier}
    of = pool(tiers={"lustre": lustre}, **_has({**BOUND, "capacity": have} if have else BOUND))
    return context(of, facts=replace(facts(version=version), **seen))


def _of(changes: dict[str, Any], seen: LustreFacts | None = None, have: str | None = None) -> Context:
    """A tier by who makes its instance, below the gate from which the driver can let one grow."""
    of = joined(changes, _has({**BOUND, "capacity": have}) if have else {})
    return context(pool(**of), facts=replace(facts(version=BELOW_GATE), lustre=seen))


@table(
    "look, verdict",
    {
        "a pool without Lustre has no capacity to check": (
            _of({"tiers": {"lustre": None}}),
            "True NotNeeded",
        ),
        "a valid size is valid": (_claim("18000Gi"), "True Valid: 18000Gi at 1000 MBps per TiB"),
        "what is there need not grow": (_claim("18000Gi", "18000Gi", BELOW_GATE), "True Valid"),
        "the same size in another unit is no growth": (
            _claim("18000Gi", f"{18000 * 1024}Mi", BELOW_GATE),
            "True Valid",
        ),
        "Lustre never shrinks, and the message has the size to go back to": (
            _claim("9000Gi", "18000Gi"),
            "False WouldShrink: 18000Gi is provisioned, Lustre only grows: set it to 18000Gi",
        ),
        "growth works from its gate on": (_claim("27000Gi", "18000Gi"), "True Valid"),
        "one build below the gate growth is refused": (
            _claim("27000Gi", "18000Gi", BELOW_GATE),
            "False ExpansionUnsupported: needs 1.35.0-gke.2331000: upgrade, or create a new pool at 27000Gi, or one "
            "with provisioner API",
        ),
        "a version that cannot be judged does not refuse growth": (
            _claim("27000Gi", "18000Gi", "v1.35.0"),
            "True Valid",
        ),
        "the GKE API names the version too": (
            _claim("27000Gi", "18000Gi", "v1.34.0", gke=GKECluster(version="1.34.0-gke.1")),
            "False ExpansionUnsupported",
        ),
        "a claim grows by its status, whatever the Lustre API says": (
            _claim("27000Gi", "18000Gi", BELOW_GATE, lustre=instance(27_000)),
            "False ExpansionUnsupported",
        ),
        "an instance grows up to the threshold of its tier": (_claim("1530000Gi", "18000Gi"), "True Valid"),
        "it cannot grow beyond it": (
            _claim("1584000Gi", "1530000Gi"),
            "False AboveGrowthLimit: can only grow up to that: 1584000Gi needs a new pool",
        ),
        "an instance made above the threshold grows on": (_claim("1656000Gi", "1584000Gi"), "True Valid"),
        "each tier has its own threshold": (
            _claim("3168000Gi", "3060000Gi", tier=500),
            "False AboveGrowthLimit: at or below 3060000Gi",
        ),
        "an instance that kvtier makes is as large as the spec says": (
            _of(api(), LustreFacts()),
            "True Valid: 18000Gi at 1000 MBps per TiB",
        ),
        "it grows without the driver, and below the driver's gate": (
            _of(api(capacity="27000Gi"), instance(18_000)),
            "True Valid: 27000Gi",
        ),
        "it does not shrink, and the API knows better than the status": (
            _of(api(), instance(27_000), have="9000Gi"),
            "False WouldShrink: 27000Gi is provisioned, Lustre only grows: set it to 27000Gi",
        ),
        "what the API does not say, the status remembers": (
            _of(api(), UNSEEN, have="27000Gi"),
            "False WouldShrink: 27000Gi is provisioned",
        ),
        "its growth ends where the step changes": (
            _of(api(capacity="1584000Gi"), instance(1_530_000)),
            "False AboveGrowthLimit: created at or below 1530000Gi can only grow up to that",
        ),
        "above it there is room": (_of(api(capacity="1656000Gi"), instance(1_584_000)), "True Valid"),
        "the Dynamic tier has sizes of its own": (
            _of(dynamic(), LustreFacts()),
            "True Valid: in the Dynamic",
        ),
        "the Dynamic tier grows": (
            _of(dynamic(capacity="944000Gi"), instance(472_000)),
            "True Valid: 944000Gi",
        ),
        "the Dynamic tier does not shrink either": (
            _of(dynamic(), instance(944_000)),
            "False WouldShrink: set it to 944000Gi",
        ),
        "an existing instance is as large as it is": (
            _of(existing(), instance(18_432)),
            "True Existing: the instance has 18432Gi",
        ),
        "an existing instance that is not seen is not judged": (_of(existing(), UNSEEN), "True Existing"),
        "a size given by hand stands where nobody knows better": (
            _of(by_hand()),
            "True Existing: 18000Gi, as given by hand",
        ),
        "the API may confirm it": (_of(by_hand(), instance(18_000)), "True Existing: has 18000Gi"),
        "more than there is cannot be promised": (
            _of(by_hand(capacity="27000Gi"), instance(18_000)),
            f"False LargerThanInstance: is 27000Gi, but {NAME} has 18000Gi: set it to 18000Gi",
        ),
        "less than there is is said, and works": (
            _of(by_hand(capacity="9000Gi"), instance(18_000)),
            f"True SmallerThanInstance: is 9000Gi, {NAME} has 18000Gi: set it to 18000Gi",
        ),
    },
)
def test_capacity(look: Context, verdict: str) -> None:
    assert_says(check(look), "CapacityValid", verdict)


@table(
    "tiers",
    {
        "nothing before there is a status": [],
        "nothing before the tier has a size": [BOUND],
        "nothing that another tier has": [{"name": "cpu", "phase": "Configured", "capacity": "18000Gi"}],
    },
)
def test_what_is_provisioned_stands_in_the_status(tiers: list[dict[str, str]]) -> None:
    smaller = pool(tiers={"lustre": {"capacity": "9000Gi"}}, **_has(*tiers))
    assert_says(check(context(smaller)), "CapacityValid", "True Valid: 9000Gi")


def test_a_size_that_an_older_crd_let_in_is_refused_with_the_nearest_ones() -> None:
    look = context(pool())
    assert look.lustre.spec is not None
    odd = look.lustre.spec.model_copy(update={"capacity": Quantity("10000Gi")})
    condition = check(replace(look, lustre=replace(look.lustre, spec=odd)))
    assert_says(condition, "CapacityValid", "False NotASize: the nearest are 9000Gi and 18000Gi")
