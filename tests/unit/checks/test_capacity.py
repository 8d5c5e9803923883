"""The Lustre capacity, and whether the instance can be resized to it."""

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
    """A pool whose PVC requests `capacity`, and whose status has `have`."""
    lustre = {"capacity": capacity, "throughputPerTiB": tier}
    of = pool(tiers={"lustre": lustre}, **_has({**BOUND, "capacity": have} if have else BOUND))
    return context(of, facts=replace(facts(version=version), **seen))


def _of(changes: dict[str, Any], seen: LustreFacts | None = None, have: str | None = None) -> Context:
    """A tier with any provisioner, in a cluster too old for a resize by the driver."""
    of = joined(changes, _has({**BOUND, "capacity": have}) if have else {})
    return context(pool(**of), facts=replace(facts(version=BELOW_GATE), lustre=seen))


@table(
    "look, verdict",
    {
        "a pool without Lustre has no capacity to check": (
            _of({"tiers": {"lustre": None}}),
            "True NotNeeded",
        ),
        "a valid size is valid": (
            _claim("18000Gi"),
            "True Valid: 18000Gi is a valid capacity at 1000 MBps per TiB.",
        ),
        "a PVC of the right size needs no resize": (_claim("18000Gi", "18000Gi", BELOW_GATE), "True Valid"),
        "the same size in another unit is not a resize": (
            _claim("18000Gi", f"{18000 * 1024}Mi", BELOW_GATE),
            "True Valid",
        ),
        "Lustre cannot shrink, and the message contains the size to restore": (
            _claim("9000Gi", "18000Gi"),
            "False WouldShrink: 18000Gi is provisioned, and Lustre cannot shrink. Set lustre.capacity to 18000Gi.",
        ),
        "a resize works from its gate on": (_claim("27000Gi", "18000Gi"), "True Valid"),
        "one build below the gate a resize is refused": (
            _claim("27000Gi", "18000Gi", BELOW_GATE),
            "False ExpansionUnsupported: needs 1.35.0-gke.2331000 to resize a PVC. Upgrade the control plane, or "
            "create "
            "a new pool with 27000Gi or with provisioner API",
        ),
        "a resize is not refused for an unknown version": (
            _claim("27000Gi", "18000Gi", "v1.35.0"),
            "True Valid",
        ),
        "the GKE API also reports the version": (
            _claim("27000Gi", "18000Gi", "v1.34.0", gke=GKECluster(version="1.34.0-gke.1")),
            "False ExpansionUnsupported",
        ),
        "a PVC is resized from the size in the status, not from that of the Lustre API": (
            _claim("27000Gi", "18000Gi", BELOW_GATE, lustre=instance(27_000)),
            "False ExpansionUnsupported",
        ),
        "an instance grows up to the threshold of its tier": (_claim("1530000Gi", "18000Gi"), "True Valid"),
        "an instance cannot grow beyond the threshold": (
            _claim("1584000Gi", "1530000Gi"),
            "False AboveGrowthLimit: or less cannot grow beyond that size. Create a new pool for 1584000Gi.",
        ),
        "an instance that was created above the threshold can grow": (
            _claim("1656000Gi", "1584000Gi"),
            "True Valid",
        ),
        "each tier has its own threshold": (
            _claim("3168000Gi", "3060000Gi", tier=500),
            "False AboveGrowthLimit: An instance created with 3060000Gi or less",
        ),
        "an instance that kvtier creates has the size of the spec": (
            _of(api(), LustreFacts()),
            "True Valid: 18000Gi is a valid capacity at 1000 MBps per TiB.",
        ),
        "it can be resized without the driver, below the gate of the driver": (
            _of(api(capacity="27000Gi"), instance(18_000)),
            "True Valid: 27000Gi",
        ),
        "it cannot shrink, and the API has priority over the status": (
            _of(api(), instance(27_000), have="9000Gi"),
            "False WouldShrink: 27000Gi is provisioned, and Lustre cannot shrink. Set lustre.capacity to 27000Gi.",
        ),
        "without an answer of the API, the status counts": (
            _of(api(), UNSEEN, have="27000Gi"),
            "False WouldShrink: 27000Gi is provisioned",
        ),
        "it cannot grow beyond the threshold at which the step changes": (
            _of(api(capacity="1584000Gi"), instance(1_530_000)),
            "False AboveGrowthLimit: An instance created with 1530000Gi or less cannot grow beyond that size.",
        ),
        "above the threshold it can grow": (
            _of(api(capacity="1656000Gi"), instance(1_584_000)),
            "True Valid",
        ),
        "the Dynamic tier has its own sizes": (
            _of(dynamic(), LustreFacts()),
            "True Valid: in the Dynamic",
        ),
        "the Dynamic tier can grow": (
            _of(dynamic(capacity="944000Gi"), instance(472_000)),
            "True Valid: 944000Gi",
        ),
        "the Dynamic tier cannot shrink either": (
            _of(dynamic(), instance(944_000)),
            "False WouldShrink: Set lustre.capacity to 944000Gi.",
        ),
        "an existing instance has the size that the API reports": (
            _of(existing(), instance(18_432)),
            "True Existing: The instance has 18432Gi.",
        ),
        "an existing instance that could not be read is not refused": (
            _of(existing(), UNSEEN),
            "True Existing",
        ),
        "a size in the spec counts while the API does not report one": (
            _of(by_hand()),
            "True Existing: The capacity in the spec is 18000Gi. The capacity of the instance is unknown.",
        ),
        "the API may confirm the size": (_of(by_hand(), instance(18_000)), "True Existing: has 18000Gi"),
        "a size larger than the instance is refused": (
            _of(by_hand(capacity="27000Gi"), instance(18_000)),
            f"False LargerThanInstance: is 27000Gi, but {NAME} has 18000Gi. Set lustre.capacity to 18000Gi.",
        ),
        "a size smaller than the instance is reported, and works": (
            _of(by_hand(capacity="9000Gi"), instance(18_000)),
            f"True SmallerThanInstance: but {NAME} has 18000Gi. Set lustre.capacity to 18000Gi to use all of it.",
        ),
    },
)
def test_capacity(look: Context, verdict: str) -> None:
    assert_says(check(look), "CapacityValid", verdict)


@table(
    "tiers",
    {
        "nothing without a status": [],
        "nothing while the tier has no size": [BOUND],
        "not the size of another tier": [{"name": "cpu", "phase": "Configured", "capacity": "18000Gi"}],
    },
)
def test_the_provisioned_size_is_in_the_status_of_the_lustre_tier(tiers: list[dict[str, str]]) -> None:
    smaller = pool(tiers={"lustre": {"capacity": "9000Gi"}}, **_has(*tiers))
    assert_says(check(context(smaller)), "CapacityValid", "True Valid: 9000Gi")


def test_an_invalid_size_from_an_older_crd_is_refused_with_the_nearest_valid_sizes() -> None:
    look = context(pool())
    assert look.lustre.spec is not None
    odd = look.lustre.spec.model_copy(update={"capacity": Quantity("10000Gi")})
    condition = check(replace(look, lustre=replace(look.lustre, spec=odd)))
    assert_says(
        condition,
        "CapacityValid",
        "False NotASize: at 1000 MBps per TiB: the nearest are 9000Gi and 18000Gi.",
    )
